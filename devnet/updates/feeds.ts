/** What compiled consensus relayers do on a devnet: which processes there are, and which directions each serves. */
import { ConsensusProcess, type ConsensusProcessOptions } from "../programs/consensus_relayer.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import type { Hub } from "../hub/hub.ts";
import type { Direction, UpdateFeed } from "./oracle.ts";
import { Patience, pause, WaitFault } from "../waiting.ts";
import type { DevnetSubstrateChain } from "../chains/substrate_chains.ts";
import type { ProvenChain } from "../chains/proven_chains.ts";
import type { ConsensusChanges } from "../programs/consensus_config.ts";
import type { DevnetOptions } from "../devnet_options.ts";
import { grandpaClientId } from "../hub/pallets/consensus_clients.ts";

/** The ends of a direction. */
interface FeedEnds {
  readonly direction: Direction;
  /** Chain that receives the proofs. */
  readonly receiver: Pick<Hub, "finalized">;
  /** Height of the sender that the receiver knows, 0 for none. */
  last(): bigint;
  /** The newest height of the sender. */
  newest(): bigint | Promise<bigint>;
  /** Advances the sender step by step until that height can be proved. */
  makeFinal?(wanted: bigint): Promise<void>;
}

/** Blocks of the receiver after which what was in its pool is in a block. */
const QUIET_BLOCKS = 2;
const POLL_EVERY_MS = 50;
/** Between two polls of {@link ProgramFeed.step}: the sender may be advanced each time. */
const STEP_EVERY_MS = 200;

/** A direction with the program that serves it. */
class ProgramFeed implements UpdateFeed {
  readonly #ends: FeedEnds;
  readonly #process: ConsensusProcess;
  #isPaused = true;

  /** @param process holding up one that several directions share holds up all of them. */
  constructor(ends: FeedEnds, process: ConsensusProcess) {
    this.#ends = ends;
    this.#process = process;
  }

  get direction(): Direction {
    return this.#ends.direction;
  }

  get last(): bigint {
    return this.#ends.last();
  }

  start(): void {
    this.resume();
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    const { receiver } = this.#ends;
    await this.#process.hold();
    const from = receiver.finalized.number;
    while (receiver.finalized.number < from + QUIET_BLOCKS) await pause(POLL_EVERY_MS);
  }

  resume(): void {
    this.#isPaused = false;
    void this.#process.run();
  }

  /** Waits until the receiver knows the sender's newest block; paused before, paused afterwards. */
  async step(): Promise<bigint> {
    const wasPaused = this.#isPaused;
    const { direction, newest, makeFinal } = this.#ends;
    const wanted = await newest();
    const patience = new Patience();
    await this.#process.run();
    while (this.last < wanted) {
      if (patience.isOver) {
        throw new WaitFault(`${direction.to} has block ${wanted} of ${direction.from}`, patience);
      }
      await makeFinal?.(wanted);
      await pause(STEP_EVERY_MS);
    }
    if (wasPaused) await this.pause();
    return this.last;
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }
}

/** The direction from the hub to a chain. */
function followerEnds(hub: Hub, { node, stateMachine }: DevnetSubstrateChain): FeedEnds {
  return {
    direction: { from: hub.identity.stateMachine, to: stateMachine },
    receiver: node,
    last: () => node.latestHeight(hub.identity) ?? 0n,
    newest: () => BigInt(hub.finalized.number),
  };
}

/** The direction from a chain to the hub. */
function provenEnds(hub: Hub, chain: ProvenChain): FeedEnds {
  const { stateMachine, consensusStateId } = chain;
  return {
    direction: { from: stateMachine, to: hub.identity.stateMachine },
    receiver: hub,
    last: () => hub.latestHeight({ stateMachine, consensusStateId }) ?? 0n,
    newest: () => newestOf(chain),
    makeFinal: (wanted) => makeFinal(chain, wanted),
  };
}

async function newestOf({ node }: Pick<ProvenChain, "node">): Promise<bigint> {
  return BigInt(String(await resultHttp(node.rpcUrl, "eth_blockNumber")));
}

/** Advances a chain until a block is final: with a block per transaction nobody else makes the blocks on top. */
export async function makeFinal(
  { beacon, node }: Pick<ProvenChain, "beacon" | "node">,
  wanted: bigint,
): Promise<void> {
  if (beacon !== undefined) await beacon.finalize(Number(wanted));
  else if (await newestOf({ node }) < wanted + 4n) await resultHttp(node.rpcUrl, "anvil_mine", ["0x4"]);
}

/** Whether the devnet itself leaves to relayers every chain that they can keep current of the hub. */
export function isLeftToOthers({ hubFeed = "devnet" }: DevnetOptions): boolean {
  return hubFeed !== "devnet";
}

/** Chains that the consensus relayer can keep current of the hub. */
export function grandpaFollowers(chains: readonly DevnetSubstrateChain[]): readonly DevnetSubstrateChain[] {
  return chains.filter(({ hubClientId }) => hubClientId === grandpaClientId);
}

/** What consensus relayers do: a feed for each EVM chain, and for each Substrate chain that they keep current of the hub. */
export function feedsOf(
  { feeds, hubFeed, consensusRelayer }: DevnetOptions,
  { hub, endpoints, substrateChains, onFault }:
    & Pick<ConsensusProcessOptions, "endpoints" | "onFault">
    & { readonly hub: Hub; readonly substrateChains: readonly DevnetSubstrateChain[] },
): readonly UpdateFeed[] {
  const { signer, ...settings } = consensusRelayer ?? {};
  const open = (changes: ConsensusChanges): ConsensusProcess =>
    new ConsensusProcess({
      ...settings,
      endpoints,
      changes: { ...changes, ...signer && { signer } },
      onFault,
    });
  const servesFollowers = hubFeed === "program";
  const followers = servesFollowers ? grandpaFollowers(substrateChains) : [];
  const only = followers.map(({ stateMachine }) => stateMachine);
  const grandpa = followers.length > 0 ? open({ hubType: "grandpa", only }) : undefined;
  const shared = feeds === "together" ? open({ enablesHubConsensus: servesFollowers }) : undefined;
  return [
    ...feeds === "none" || feeds === "planted"
      ? []
      : endpoints.chains.map(({ proven }) =>
        new ProgramFeed(provenEnds(hub, proven), shared ?? open({ only: [proven.stateMachine] }))
      ),
    ...grandpa === undefined
      ? []
      : followers.map((chain) => new ProgramFeed(followerEnds(hub, chain), grandpa)),
  ];
}
