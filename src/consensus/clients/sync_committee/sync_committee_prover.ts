/**
 * Proves the finality of a beacon chain to the hub's sync committee client. Start reading at {@link
 * SyncCommitteeProver.next}: the light client strategy first, the block state strategy where nodes serve no light
 * clients.
 */
import type { CheckFinding } from "../../../core/chains/check_finding.ts";
import type {
  ConsensusClientView,
  TargetReads,
  TargetUpdates,
} from "../../../core/chains/consensus_target.ts";
import type { EndpointUrl } from "../../../core/config/redact.ts";
import { decodeBeaconConsensusState } from "./spec/beacon_client.ts";
import type { BeaconNetwork } from "./spec/beacon_network.ts";
import type { BeaconConsensusState } from "./spec/consensus_state.ts";
import { SyncCommitteeError } from "./spec/sync_committee_error.ts";
import type { UpdateLayout } from "./spec/update.ts";
import {
  type ConsensusStateId,
  evmStateMachine,
  type StateMachine,
  type StateMachineId,
} from "../../../core/ismp/state_machine.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { Fetch } from "../../../core/rpc/http.ts";
import type { RpcObserver } from "../../../core/rpc/observed_endpoint.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { Randomness } from "../../../core/runtime/randomness.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { PersistedText } from "../../persisted_text.ts";
import { RestEndpoint } from "../../rest/rest_endpoint.ts";
import { RestEndpointSet } from "../../rest/rest_endpoint_set.ts";
import { findUnusableReason } from "../../client_usability.ts";
import {
  type ConsensusProver,
  type InitialConsensusState,
  ProverFault,
  type ProverFinding,
  type ProverOptions,
} from "../../prover.ts";
import { BeaconEndpointSet, proverFaultOf } from "./beacon_endpoint_set.ts";
import { fetchInitialBeaconState } from "./initial_state.ts";
import { LayoutChoice } from "./layout_choice.ts";
import { LightClientStrategy } from "./light_client_strategy.ts";
import type { BeaconContext, TrustedBeaconState, UpdateAttempt } from "./update_attempt.ts";
import { PayloadBranches } from "./payload_sources.ts";
import { BlockStateStrategy } from "./block_state_strategy.ts";
import { SummariesMemory } from "./summaries_memory.ts";
import { checkBeaconNodes, checkExecutionNodes } from "./start_check.ts";
import { proverEvents } from "../../poll_fault.ts";

/** Dependencies of the prover. */
export interface SyncCommitteeProverDeps {
  readonly hub: {
    readonly reads: Pick<TargetReads, "fetchClient" | "fetchLatestHeight" | "fetchNowSec">;
    readonly updates: Pick<TargetUpdates, "dryRunUpdates">;
  };
  /** Nodes of the execution chain. The prover does not close them. */
  readonly execution: RpcEndpointSet;
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
export interface SyncCommitteeProverOptions extends Omit<ProverOptions, "stateMachine"> {
  /** See `beaconNetworkOf(chainId)`; chains without one have no prover. */
  readonly network: BeaconNetwork;
  /** Base URLs of beacon nodes in order of preference, at least one (`beacon_http_urls`). */
  readonly beaconUrls: readonly EndpointUrl[];
  /** Update layout of the hub's runtime. Absent: detected by a dry run. */
  readonly layout?: UpdateLayout;
}

/** Polls of one finalized state that no node serves before a fault is reported: new states take a moment. */
const MAX_UNSERVED_POLLS = 3;

/** Creates the prover of a chain of type `evm`. @throws {RangeError} without beacon URLs. */
export function createSyncCommitteeProver(
  deps: SyncCommitteeProverDeps,
  options: SyncCommitteeProverOptions,
): ConsensusProver {
  return new SyncCommitteeProver(deps, options);
}

/** The hub's state, also in its stored form. */
interface StoredState extends TrustedBeaconState {
  readonly bytes: Uint8Array;
}

class SyncCommitteeProver implements ConsensusProver {
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  readonly commitmentId: StateMachineId;
  readonly intervalMs: number;
  readonly #deps: SyncCommitteeProverDeps;
  readonly #context: BeaconContext;
  readonly #light: LightClientStrategy;
  readonly #blockState: BlockStateStrategy;
  readonly #layout: LayoutChoice;
  /** Consecutive polls without served data, with the hub's epoch at that time. */
  #unserved = { epoch: -1n, polls: 0 };

  constructor(deps: SyncCommitteeProverDeps, options: SyncCommitteeProverOptions) {
    const { network, consensusStateId } = options;
    this.chain = evmStateMachine(network.chainId);
    this.consensusStateId = consensusStateId;
    this.commitmentId = { stateMachine: this.chain, consensusStateId };
    this.intervalMs = options.intervalMs;
    this.#deps = deps;
    const nodes = options.beaconUrls.map((url) =>
      new RestEndpoint(deps, { url: url.reveal(), chain: this.chain })
    );
    const endpoints = new BeaconEndpointSet(
      this.chain,
      new RestEndpointSet(deps, { chain: this.chain, endpoints: nodes }),
      deps.log,
    );
    const { log, summariesText: text } = deps;
    const file = text && { text, log, network: network.genesisValidatorsRoot };
    const branches = new PayloadBranches({
      endpoints,
      execution: deps.execution,
      network,
      summaries: new SummariesMemory(file),
    });
    this.#context = { network, consensusStateId, endpoints, branches, clock: deps.clock };
    this.#light = new LightClientStrategy(this.#context);
    this.#blockState = new BlockStateStrategy(this.#context);
    this.#layout = new LayoutChoice(deps, consensusStateId, options.layout);
  }

  async check(signal: AbortSignal): Promise<readonly CheckFinding[]> {
    const [beacon, execution, hub] = await Promise.all([
      checkBeaconNodes(this.#context, signal),
      checkExecutionNodes(this.#context, this.#deps.execution, signal),
      this.checkHub(signal),
    ]);
    return [...hub, ...beacon, ...execution];
  }

  async checkHub(signal: AbortSignal): Promise<readonly CheckFinding[]> {
    try {
      await this.#fetchTrusted(signal);
      return [];
    } catch (fault) {
      if (!(fault instanceof ProverFault)) throw fault;
      return [{ severity: "warning", event: proverEvents[fault.code], text: fault.message }];
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
    this.#deps.log.debug("light_client_data_missing", {
      chain: this.chain,
    });
    return await this.#blockState.attempt(trusted, signal);
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
      case "wait": {
        const { reason, againInMs } = attempt;
        return { kind: "nothing", reason, ...(againInMs === undefined ? {} : { againInMs }) };
      }
      case "unserved":
        return { kind: "nothing", reason: "no beacon node serves what is needed" };
      case "update": {
        const { update, verified, sources, hasMore } = attempt;
        const epoch = trusted.state.lightClientState.latestFinalizedEpoch;
        const { height } = verified.commitment.height;
        const isHigher = trusted.height === undefined || height > trusted.height;
        const committee = update.syncCommitteeUpdate === undefined
          ? ""
          : `, committee of period ${verified.consensusState.lightClientState.statePeriod + 1n}`;
        return {
          kind: "updates",
          proofs: [await this.#layout.encode(update, epoch, signal)],
          madeOn: trusted.bytes,
          height: isHigher ? height : undefined,
          summary: `finalized slot ${update.finalizedHeader.slot}${committee} (by ${sources.join(", ")})`,
          hasMore,
        };
      }
    }
  }

  /** Fetches the hub's state. @throws {ProverFault} `hub_state` */
  async #fetchTrusted(signal: AbortSignal): Promise<StoredState> {
    const { hub } = this.#deps;
    const view = await hub.reads.fetchClient(this.consensusStateId, "best", signal);
    if (view === undefined) {
      throw this.#hubFault(
        `the hub has no client ${this.consensusStateId}; governance creates it (log-consensus-state)`,
      );
    }
    const state = await this.#readClient(view, signal);
    const height = await hub.reads.fetchLatestHeight(this.commitmentId, signal);
    return { state, height, bytes: view.state };
  }

  async #readClient(view: ConsensusClientView, signal: AbortSignal): Promise<BeaconConsensusState> {
    const { network } = this.#context;
    if (view.clientId !== network.clientId) {
      throw this.#hubFault(`client ${this.consensusStateId} of the hub is a ${view.clientId}`);
    }
    await this.#requireUsable(view, signal);
    const state = this.#decode(view.state);
    if (state.chainId !== network.chainId) {
      throw this.#hubFault(`client ${this.consensusStateId} of the hub follows chain ${state.chainId}`);
    }
    return state;
  }

  #decode(bytes: Uint8Array): BeaconConsensusState {
    try {
      return decodeBeaconConsensusState(bytes);
    } catch (cause) {
      if (!(cause instanceof SyncCommitteeError)) throw cause;
      throw this.#hubFault(`the state of client ${this.consensusStateId} is unreadable`, { cause });
    }
  }

  /** Checks usability by the hub's own clock, which is read only when ours indicates an expiry. */
  async #requireUsable(view: ConsensusClientView, signal: AbortSignal): Promise<void> {
    const { clock, hub } = this.#deps;
    const where = `client ${this.consensusStateId} of the hub`;
    const byOurs = findUnusableReason(where, view, BigInt(Math.floor(clock.now() / 1000)));
    const unusable = byOurs?.code === "expired"
      ? findUnusableReason(where, view, await hub.reads.fetchNowSec(signal))
      : byOurs;
    if (unusable !== undefined) throw this.#hubFault(unusable.detail, { code: unusable.code });
  }

  #hubFault(
    detail: string,
    { code = "hub_state", ...options }: ErrorOptions & { readonly code?: ProverFault["code"] } = {},
  ): ProverFault {
    return new ProverFault(code, { chain: this.chain, detail }, options);
  }

  async fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    try {
      return await fetchInitialBeaconState(this.#context, this.#deps.execution, signal);
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      throw proverFaultOf(this.chain, fault);
    }
  }

  /** Closes nothing: the execution endpoints belong to the program; REST keeps no connection open. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
