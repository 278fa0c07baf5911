/**
 * What can be chosen about a simulated relay chain, and what it offers to tests and to the devnet.
 */
import type { PayloadEntry } from "../../src/core/beefy/commitment.ts";

/** Heads of parachains: SCALE headers by para id. */
export type ParachainHeads = ReadonlyMap<number, Uint8Array>;

/** Options of `startRelayChain`. */
export interface RelaySimulatorOptions {
  /** Members of every set, 1 to 1000; default 4. */
  readonly validators?: number;
  /** Milliseconds between blocks, or `manual` for `RelayChainNode.produceBlock`; default 1000. */
  readonly blockTimeMs?: number | "manual";
  /** A session ends every so many blocks; default 0: only by `RelayChainNode.rotate`. */
  readonly sessionBlocks?: number;
  /** Blocks between the best and the newest final one; default 2. */
  readonly finalityLag?: number;
  /** The mountain range has one leaf for every block after this one; default 3. */
  readonly beefyActivationBlock?: number;
  /** Besides blocks that change the set, every so many keep their GRANDPA justification; default 8. */
  readonly grandpaPeriod?: number;
  /** Besides the first block of a session, every so many have a BEEFY justification; default 1. */
  readonly beefyPeriod?: number;
  /** What the payload of BEEFY commitments holds beside the root of the mountain range, which comes first; default nothing. */
  readonly beefyPayload?: readonly PayloadEntry[];
  /** Indexes of members whose BEEFY key is no point of the curve: they never sign; default none. */
  readonly brokenBeefyKeys?: readonly number[];
  /** Blocks whose state the node still has; default all. */
  readonly keepStates?: number;
  /** Blocks whose precommits are on several blocks; default none. */
  readonly splitVotes?: (block: number) => boolean;
  /** Newest heads of real parachains, asked for each block. */
  readonly heads?: () => ParachainHeads;
  /** Parachains that are made up, with a new head in every block; default 1000, 1002 and 4100. */
  readonly dummyParachains?: readonly number[];
  /**
   * Parachains that are not in `Paras.Parachains` though they have heads, as the live hubs; default all that
   * {@link heads} gives.
   */
  readonly onDemand?: readonly number[];
  /** Parachains that are made up as well and in no list, as on-demand ones that nobody named; default none. */
  readonly unlistedParachains?: readonly number[];
  /**
   * Heads behind the leaves of the mountain range: `listed` and on-demand ones, or `all`, as newer runtimes have it;
   * default `listed`.
   */
  readonly leafHeads?: "listed" | "all";
  /** Methods that the node does not offer, e.g. `state_queryStorage` where unsafe ones are not. */
  readonly missingMethods?: readonly string[];
  /** False: the node answers that its BEEFY is not ready yet; see `RelayChainNode.beefyReady`. Default true. */
  readonly beefyReady?: boolean;
  /** Unix milliseconds; default the machine's clock. */
  readonly now?: () => number;
}

/** The options of a chain, with the defaults where none were given. */
export type RelayChainSettings = RelaySimulatorOptions & typeof defaults;

const defaults: Required<Omit<RelaySimulatorOptions, "onDemand">> = {
  validators: 4,
  blockTimeMs: 1000,
  sessionBlocks: 0,
  finalityLag: 2,
  beefyActivationBlock: 3,
  grandpaPeriod: 8,
  beefyPeriod: 1,
  beefyPayload: [],
  brokenBeefyKeys: [],
  keepStates: Infinity,
  splitVotes: () => false,
  heads: () => new Map(),
  dummyParachains: [1000, 1002, 4100],
  unlistedParachains: [],
  leafHeads: "listed",
  missingMethods: [],
  beefyReady: true,
  now: Date.now,
};

/** Fills in what was not given. */
export function relaySettings(options: RelaySimulatorOptions): RelayChainSettings {
  return { ...defaults, ...options };
}

/** A session: the validators from one change of the set to the next. */
export interface RelaySession {
  /** Counts from 0. */
  readonly index: number;
  readonly grandpaSetId: bigint;
  readonly beefySetId: bigint;
  /** Its first block, whose header announced the set. */
  readonly firstBlock: number;
}
