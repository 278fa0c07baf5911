/**
 * Proves the finality of a beacon chain to the hub's sync committee client. Start reading at {@link
 * SyncCommitteeProver.next}: the light client strategy first, the block state strategy where nodes serve no light
 * clients.
 */
import { about, type CheckRow } from "../../../core/checks/check_row.ts";
import type { TargetReads, TargetUpdates } from "../../../core/chains/consensus_target.ts";
import type { EndpointUrl } from "../../../core/config/redact.ts";
import { decodeBeaconConsensusState } from "./spec/verify_update.ts";
import { type BeaconNetwork, isGloasAt, isStartOfGloas } from "./spec/beacon_network.ts";
import {
  type BeaconConsensusState,
  canCarry,
  type StateUpdate,
  stateUpdateCodecs,
  type UpdateLayout,
  updateLayouts,
} from "./spec/update.ts";
import { describeUnfollowedFork, findUnfollowedFork } from "./spec/fork_schedule.ts";
import { checkChainIds, type EvmReader } from "../../evm_reader.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { Fetch } from "../../../core/rpc/http_exchange.ts";
import type { RpcObserver } from "../../../core/rpc/observed_endpoint.ts";
import type { Clock, Randomness } from "../../../core/runtime/clock.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { PersistedText } from "../../persisted_text.ts";
import { RestEndpoint } from "../../rest/rest_endpoint.ts";
import { TargetClient } from "../../target_client.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  ProverFault,
  type ProverFinding,
  type ProverOptions,
} from "../../prover.ts";
import { BeaconEndpointSet, proverFaultOf } from "./beacon_endpoint_set.ts";
import { fetchInitialBeaconState } from "./initial_state.ts";
import { LightClientStrategy } from "./light_client_strategy.ts";
import type { BeaconContext, TrustedBeaconState, UpdateAttempt } from "./update_attempt.ts";
import { PayloadProofs } from "./payload_sources.ts";
import { attemptByBlocks } from "./block_state_strategy.ts";
import { checkBeaconNodes, type ServedRoutes } from "./beacon_checks.ts";
import { proverFaultRow } from "../../poll_loop.ts";

/** Dependencies of the prover. */
export interface SyncCommitteeProverDeps {
  readonly hub: {
    readonly reads: Pick<TargetReads, "fetchClient" | "fetchLatestHeight" | "fetchNowSec">;
    readonly updates: Pick<TargetUpdates, "dryRunUpdates">;
  };
  /** Nodes of the execution chain. The prover does not close them. */
  readonly execution: EvmReader;
  /** For the beacon nodes. */
  readonly fetch: Fetch;
  /** Notified of every request to a beacon node; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  /** Persistent storage of historical summaries; absent: none. */
  readonly summariesText?: PersistedText | undefined;
}

/** Configured options of the chain. */
export interface SyncCommitteeProverOptions extends ProverOptions {
  /** See `beaconNetworkOf(chainId)`; chains without one have no prover. */
  readonly network: BeaconNetwork;
  /** Base URLs of beacon nodes in order of preference, at least one (`beacon_http_urls`). */
  readonly beaconUrls: readonly EndpointUrl[];
}

/** Polls of one finalized state that no node serves before a fault is reported: new states take a moment. */
const MAX_UNSERVED_POLLS = 3;

/** Time between two warnings about the same fork, ms. */
const FORK_WARNING_MS = 24 * 3_600_000;

/** Forks of the states in an update: `into_gloas` is attested in Gloas and finalizes a block of before. */
type ForkSpan = "earlier" | "into_gloas" | "gloas";

function spanOf(network: BeaconNetwork, { attestedHeader, finalizedHeader }: StateUpdate): ForkSpan {
  if (!isGloasAt(network, attestedHeader.slot)) return "earlier";
  return isGloasAt(network, finalizedHeader.slot) ? "gloas" : "into_gloas";
}

/** The hub's state, also in its stored form. */
interface StoredState extends TrustedBeaconState {
  readonly bytes: Uint8Array;
}

/** Proves a chain of type `evm`. */
export class SyncCommitteeProver extends BaseProver<SyncCommitteeProverOptions> implements ConsensusProver {
  readonly #client: TargetClient<BeaconConsensusState>;
  readonly #deps: SyncCommitteeProverDeps;
  readonly #context: BeaconContext;
  readonly #light: LightClientStrategy;
  /** Layout of updates that the hub's runtime is taken to read, and the span of the last one that it accepted. */
  #layout: { readonly name: UpdateLayout; readonly accepted?: ForkSpan } = { name: "flat" };
  /** Finalized epoch of the trusted state for which an update was last encoded. */
  #encodedEpoch: bigint | undefined;
  /** What stands of a fork that cannot be followed, by the node that was asked last. */
  #forkWarning: string | undefined;
  /** By name of a fork: when the next warning is due. Nodes may differ in what they know. */
  readonly #warnings = new Map<string, number>();
  /** Consecutive polls without served data, with the hub's epoch at that time. */
  #unserved = { epoch: -1n, polls: 0 };

  /** @throws {RangeError} without beacon URLs. */
  constructor(deps: SyncCommitteeProverDeps, options: SyncCommitteeProverOptions) {
    super(options);
    const { network, consensusStateId } = options;
    this.#deps = deps;
    const { clientId } = network;
    this.#client = new TargetClient(deps.hub, options, { clientId, decode: decodeBeaconConsensusState });
    const nodes = options.beaconUrls.map((url) =>
      new RestEndpoint(deps, { url: url.reveal(), chain: this.chain })
    );
    const { clock, log, summariesText: text } = deps;
    const endpoints = new BeaconEndpointSet({ ...deps, network }, this.chain, nodes);
    const proofs = new PayloadProofs({
      endpoints,
      execution: deps.execution,
      ...text && { summaries: { text, log, network: network.genesisValidatorsRoot } },
    });
    const noteHead = (network: BeaconNetwork, slot: bigint): void => this.#noteHead(network, slot);
    this.#context = { network, consensusStateId, endpoints, proofs, clock, noteHead };
    this.#light = new LightClientStrategy(this.#context);
  }

  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const [beacon, execution, hub] = await Promise.all([
      this.#checkBeaconNodes(signal),
      checkChainIds(this.#deps.execution, { chain: this.chain, key: "rpc_urls" }, signal),
      this.checkHub(signal),
    ]);
    return [...hub, ...beacon, ...execution];
  }

  #checkBeaconNodes(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { network, endpoints } = this.#context;
    const note = ({ network: scheduled, slot }: ServedRoutes): void => {
      if (scheduled !== undefined) this.#noteHead(scheduled, slot);
    };
    const options = { chain: this.chain, network, nodes: endpoints.endpoints, note };
    return checkBeaconNodes(this.#deps.clock, options, signal);
  }

  async checkHub(signal: AbortSignal): Promise<readonly CheckRow[]> {
    try {
      await this.#fetchTrusted(signal);
      const found = this.#forkWarning;
      return found === undefined ? [] : [about(this.chain).warning("fork_not_followed", found)];
    } catch (fault) {
      if (!(fault instanceof ProverFault)) throw fault;
      // The row of the light client tells these.
      if (fault.code === "frozen" || fault.code === "expired") return [];
      return [proverFaultRow(this.chain, fault)];
    }
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const trusted = await this.#fetchTrusted(signal);
    const epoch = trusted.state.lightClientState.latestFinalizedEpoch;
    try {
      const attempt = await this.#attempt(trusted, signal);
      this.#unserved = { epoch, polls: 0 };
      return await this.#findingOf(trusted, attempt, signal);
    } catch (fault) {
      if (!(fault instanceof RpcFault) || fault.where.chain !== this.chain) throw fault;
      return this.#findingOfFault(epoch, fault);
    }
  }

  async #attempt(trusted: TrustedBeaconState, signal: AbortSignal): Promise<UpdateAttempt> {
    const light = await this.#light.attempt(trusted, signal);
    if (light.kind !== "unserved") return light;
    this.#deps.log.debug("endpoint_limited.light_client_data", {
      chain: this.chain,
    });
    return await attemptByBlocks(this.#context, trusted, signal);
  }

  /** Waits for a state that was just finalized, which nodes often serve only after a moment. */
  #findingOfFault(epoch: bigint, fault: RpcFault): ProverFinding {
    const reported = proverFaultOf(this.chain, fault);
    if (!(reported instanceof ProverFault) || reported.code !== "not_served") throw reported;
    const polls = this.#unserved.epoch === epoch ? this.#unserved.polls + 1 : 1;
    this.#unserved = { epoch, polls };
    if (polls > MAX_UNSERVED_POLLS) throw reported;
    const againInMs = 2 * this.#context.network.slotSec * 1000;
    return { kind: "nothing", reason: `not served yet: ${reported.detail}`, againInMs };
  }

  async #findingOf(
    trusted: StoredState,
    attempt: UpdateAttempt,
    signal: AbortSignal,
  ): Promise<ProverFinding> {
    switch (attempt.kind) {
      case "nothing":
        return attempt;
      case "unserved":
        return { kind: "nothing", reason: "no beacon node serves what is needed" };
      case "update": {
        const { network, update, verified, sources, hasMore } = attempt;
        const epoch = trusted.state.lightClientState.latestFinalizedEpoch;
        const { height } = verified.commitment.height;
        const isHigher = trusted.height === undefined || height > trusted.height;
        const committee = update.syncCommitteeUpdate === undefined
          ? ""
          : `, committee of period ${verified.consensusState.lightClientState.statePeriod + 1n}`;
        const span = spanOf(network, update);
        const encoded = await this.#encode({ update, span }, epoch, signal);
        const refusal = encoded === undefined ? this.#findingOfRefusal(network, update, span) : undefined;
        if (refusal !== undefined) return refusal;
        return {
          kind: "updates",
          proofs: [encoded ?? stateUpdateCodecs[this.#layout.name].enc(update)],
          madeOn: trusted.bytes,
          height: isHigher ? height : undefined,
          summary: `finalized slot ${update.finalizedHeader.slot}${committee} (by ${sources.join(", ")})`,
          hasMore,
        };
      }
    }
  }

  /**
   * Encodes an update that our verifier accepts, in the layout that the hub's runtime reads: it is dry run until one is
   * accepted, and again when the hub did not take the previous update. Source: docs/protocol/evm-consensus.md section
   * 5.11. @param trustedEpoch of the hub's state: the same one twice means that the hub did not take the previous
   * update. @returns `undefined` when the hub refuses the update in every layout.
   */
  async #encode(
    { update, span }: { readonly update: StateUpdate; readonly span: ForkSpan },
    trustedEpoch: bigint,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const known = this.#layout;
    const isRepeated = this.#encodedEpoch === trustedEpoch;
    this.#encodedEpoch = trustedEpoch;
    const carrying = updateLayouts.filter((layout) => canCarry(layout, update.executionPayload))
      .sort((a, b) => Number(b === known.name) - Number(a === known.name));
    // A layout that served before a fork may still lack what comes after it.
    if (known.accepted === span && !isRepeated && carrying[0] === known.name) {
      return stateUpdateCodecs[known.name].enc(update);
    }
    for (const name of carrying) {
      const bytes = stateUpdateCodecs[name].enc(update);
      const isAccepted = await this.#accepts(bytes, signal);
      if (isAccepted === undefined) return bytes;
      if (!isAccepted) continue;
      if (name !== known.name) this.#deps.log.info("runtime_changed.update_layout", { layout: name });
      this.#layout = { name, accepted: span };
      return bytes;
    }
    return undefined;
  }

  /** Dry runs an update; `undefined`: the hub is unavailable, which counts as accepting it for now. */
  async #accepts(bytes: Uint8Array, signal: AbortSignal): Promise<boolean | undefined> {
    const id = this.consensusStateId;
    try {
      return await this.#deps.hub.updates.dryRunUpdates({ id, proofs: [bytes] }, signal) === undefined;
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      this.#deps.log.debug("read_failed.dry_run", { error: fault });
      return undefined;
    }
  }

  /**
   * Judges an update that the hub refuses in every layout. The first finalized checkpoint of Gloas still commits to a
   * block of before, whose header has fewer items than hubs take: the next one follows after an epoch. @returns
   * `undefined` for an update of before Gloas, whose refusal has another reason. @throws {ProverFault}
   * `fork_not_followed`
   */
  #findingOfRefusal(network: BeaconNetwork, update: StateUpdate, span: ForkSpan): ProverFinding | undefined {
    const { slot } = update.finalizedHeader;
    if (span === "earlier") return undefined;
    if (isStartOfGloas(network, slot)) {
      const reason =
        `the hub refuses the first finalized slot ${slot} of Gloas, whose execution block is of before`;
      return { kind: "nothing", reason };
    }
    const detail =
      `the hub refuses finalized slot ${slot} and its proof of Gloas in every layout of updates: nothing ` +
      "can be proved until its runtime follows the fork";
    throw this.fault("fork_not_followed", detail);
  }

  /** Warns of a fork that cannot be followed, daily. */
  #noteHead(network: BeaconNetwork, slot: bigint): void {
    const { clock, log } = this.#deps;
    const { name, accepted } = this.#layout;
    const fork = findUnfollowedFork(network, slot, accepted === undefined ? undefined : name);
    this.#forkWarning = fork && `${this.chain}: ${describeUnfollowedFork(fork)}`;
    if (fork === undefined || clock.now() < (this.#warnings.get(fork.fork.name) ?? 0)) return;
    this.#warnings.set(fork.fork.name, clock.now() + FORK_WARNING_MS);
    log.warn("client_unusable.fork_not_followed", { explanation: this.#forkWarning });
  }

  /** Fetches the hub's state. @throws {ProverFault} `hub_state`, `frozen`, `expired` */
  async #fetchTrusted(signal: AbortSignal): Promise<StoredState> {
    const { state, bytes } = await this.#client.fetch(signal);
    if (state.chainId !== this.#context.network.chainId) {
      throw this.#client.fault(`client ${this.consensusStateId} of the hub follows chain ${state.chainId}`);
    }
    const height = await this.#deps.hub.reads.fetchLatestHeight(this.commitmentId, signal);
    return { state, height, bytes };
  }

  async fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    try {
      return await fetchInitialBeaconState(this.#context, this.#deps.execution, signal);
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      throw proverFaultOf(this.chain, fault);
    }
  }
}
