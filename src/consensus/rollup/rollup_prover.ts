/**
 * Prover shared by both kinds of rollups: the hub's state is read first, and decides what is searched for on the L1.
 * The kinds are behind {@link RollupKind}. Start reading at {@link RollupProver.next}.
 */
import type { CheckFinding } from "../../core/chains/check_finding.ts";
import type { ConsensusClientView } from "../../core/chains/consensus_target.ts";
import { rollupClientName } from "./spec/known_rollups.ts";
import {
  commitmentIdOf,
  initialRollupCommitment,
  ROLLUP_CHALLENGE_SEC,
  ROLLUP_UNBONDING_SEC,
  type RollupClientState,
} from "./spec/rollup_client.ts";
import { RollupUpdateError } from "./spec/rollup_update_error.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  type StateMachine,
  type StateMachineId,
  stateMachineIdKey,
} from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import { findUnusableReason, type UnusableReason } from "../client_usability.ts";
import type { TrustedBlock } from "../evm_reader.ts";
import {
  type ConsensusProver,
  type InitialConsensusState,
  ProverFault,
  type ProverFinding,
} from "../prover.ts";
import type { ClaimFinding } from "./claim_dry_run.ts";
import { checkEndpoints } from "./endpoint_check.ts";
import type { RollupDeps, RollupOptions } from "./rollup_options.ts";
import type { EventCode } from "../../core/telemetry/events.ts";
import { proverEvents } from "../poll_fault.ts";

/** Current state of the hub's clients of a rollup and its L1. */
export interface RollupView<State extends RollupClientState> {
  readonly state: State;
  /** Newest L1 block that the hub knows: claims are proved in its state. */
  readonly l1: TrustedBlock;
  /** Newest height of the rollup on the hub; `undefined`: none. */
  readonly hubHeight: bigint | undefined;
}

/** Differences between the kinds of rollups. */
export interface RollupKind<State extends RollupClientState> {
  readonly clientId: ConsensusClientId;
  /** @throws {RollupUpdateError} `undecodable_state` */
  decodeState(stored: Uint8Array): State;
  /** Finds the newest claim that can be proved at the view's L1 block. */
  findClaim(view: RollupView<State>, signal: AbortSignal): Promise<ClaimFinding>;
  /** Compares the contracts that the hub stores of a rollup with the configured ones. */
  checkContracts(id: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /** Encodes the initial state of a client in SCALE. */
  encodeInitialState(
    at: {
      readonly height: bigint;
      readonly stateMachineId: StateMachineId;
      readonly l1StateMachineId: StateMachineId;
    },
  ): Uint8Array;
}

/** Default poll interval (polytope-labs/hyperbridge: tesseract/consensus/{op-host,arb-host}/src/lib.rs). */
const DEFAULT_INTERVAL_MS = 300_000;

/** Proves a rollup to the hub by claims on its L1. */
export class RollupProver<State extends RollupClientState> implements ConsensusProver {
  readonly chain: StateMachine;
  readonly commitmentId: StateMachineId;
  readonly l1: StateMachineId;
  readonly intervalMs: number;
  readonly #deps: RollupDeps;
  readonly #options: RollupOptions;
  readonly #kind: RollupKind<State>;
  /** `undefined` until the hub was read. */
  #id: ConsensusStateId | undefined;

  constructor(deps: RollupDeps, options: RollupOptions, kind: RollupKind<State>) {
    this.chain = options.stateMachine;
    this.commitmentId = {
      stateMachine: options.stateMachine,
      consensusStateId: options.l1.consensusStateId,
    };
    this.l1 = options.l1;
    this.intervalMs = options.intervalMs ?? DEFAULT_INTERVAL_MS;
    this.#deps = deps;
    this.#options = options;
    this.#kind = kind;
  }

  /** Configured id until the hub was read. */
  get consensusStateId(): ConsensusStateId {
    return this.#id ?? this.#options.consensusStateId;
  }

  async check(signal: AbortSignal): Promise<readonly CheckFinding[]> {
    const findings: CheckFinding[] = [...await checkEndpoints(this.#deps, this.#options, signal)];
    const { name, view } = await this.#findClient(signal);
    if (name === "unknown") return [...findings, fatal("client_missing", this.#unknownIdText())];
    if (name === "replaced") {
      findings.push(warning(
        "client_id_mismatch",
        `${this.chain}: the hub's client is ${this.consensusStateId}, not the configured ` +
          `${this.#options.consensusStateId}: consensus_state_id of a rollup names its own client`,
      ));
    }
    if (view === undefined) {
      findings.push(warning(
        "client_missing",
        `${this.chain}: the hub has no consensus client ${this.consensusStateId} yet; ` +
          "governance creates it with the output of log-consensus-state",
      ));
      return findings;
    }
    try {
      const state = this.#readState(view);
      findings.push(...await this.#kind.checkContracts(state.stateMachineId, signal));
    } catch (fault) {
      if (!(fault instanceof ProverFault)) throw fault;
      findings.push(fatal(proverEvents[fault.code], fault.message));
    }
    const unusable = await this.#findUnusableReason(view, signal);
    if (unusable !== undefined) {
      findings.push(warning(proverEvents[unusable.code], `${this.chain}: ${unusable.detail}`));
    }
    return findings;
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const { name, view } = await this.#findClient(signal);
    if (name === "unknown") {
      throw new ProverFault("hub_state", { chain: this.chain, detail: this.#unknownIdText() });
    }
    if (view === undefined) return nothing(`the hub has no consensus client ${this.consensusStateId}`);
    const unusable = await this.#findUnusableReason(view, signal);
    if (unusable !== undefined) {
      throw new ProverFault(unusable.code, { chain: this.chain, detail: unusable.detail });
    }
    const state = this.#readState(view);
    const l1Id = state.l1StateMachineId;
    const [l1Height, hubHeight] = await Promise.all([
      this.#deps.hub.reads.fetchLatestHeight(l1Id, signal),
      this.#deps.hub.reads.fetchLatestHeight(commitmentIdOf(state), signal),
    ]);
    if (l1Height === undefined) return nothing(`the hub knows no block of ${stateMachineIdKey(l1Id)} yet`);
    const commitment = await this.#deps.hub.reads.fetchCommitment({ id: l1Id, height: l1Height }, signal);
    if (commitment === undefined) {
      return nothing(`the hub does not hold block ${l1Height} of ${stateMachineIdKey(l1Id)} any more`);
    }
    const l1 = { height: l1Height, stateRoot: commitment.stateRoot };
    return await this.#find({ state, l1, hubHeight }, view.state, signal);
  }

  async #find(
    view: RollupView<State>,
    madeOn: Uint8Array,
    signal: AbortSignal,
  ): Promise<ProverFinding> {
    try {
      const found = await this.#kind.findClaim(view, signal);
      if (found.kind === "nothing") return found;
      const { proof, height, summary } = found;
      return { kind: "updates", proofs: [proof], madeOn, height, summary, hasMore: false };
    } catch (fault) {
      throw fault instanceof RpcFault ? this.#named(fault) : fault;
    }
  }

  async fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    const { stateMachine: chain, l1, consensusStateId } = this.#options;
    const { name, isFree } = await this.#findClient(signal);
    // A client that does not exist yet may have any id but the L1's.
    if (isFree && consensusStateId !== l1.consensusStateId) this.#id = consensusStateId;
    else if (name === "unknown") {
      throw new ProverFault("hub_state", { chain, detail: this.#unknownIdText() });
    }
    const id = { stateMachine: chain, consensusStateId: this.consensusStateId };
    const newest = await this.#deps.l2.fetchHeader("latest", signal);
    if (newest === undefined) {
      throw new ProverFault("not_served", { chain, detail: "no endpoint has a newest block" });
    }
    const { header } = newest;
    const { height, commitment } = initialRollupCommitment(id, header);
    return {
      clientId: this.#kind.clientId,
      state: this.#kind.encodeInitialState({
        height: header.number,
        stateMachineId: id,
        l1StateMachineId: l1,
      }),
      unbondingSec: ROLLUP_UNBONDING_SEC,
      challengePeriods: new Map([[chain, ROLLUP_CHALLENGE_SEC]]),
      commitments: [{ id, at: { commitment, height: height.height } }],
    };
  }

  /** Closes nothing: the endpoints belong to their creator. */
  async close(): Promise<void> {}

  /** Finds the rollup's client on the hub, with the id under which it was found. */
  async #findClient(signal: AbortSignal): Promise<{
    readonly name: "configured" | "replaced" | "unknown";
    readonly view: ConsensusClientView | undefined;
    /** The hub has no client of the configured name. */
    readonly isFree: boolean;
  }> {
    const { stateMachine, consensusStateId, l1 } = this.#options;
    const configured = await this.#deps.hub.reads.fetchClient(consensusStateId, "best", signal);
    const rollup = { stateMachine, consensusStateId };
    const name = rollupClientName(rollup, l1.consensusStateId, configured?.clientId);
    const isFree = configured === undefined;
    if (name.kind === "unknown") return { name: name.kind, view: undefined, isFree };
    this.#id = name.id;
    if (name.id === consensusStateId) return { name: "configured", view: configured, isFree };
    return {
      name: "replaced",
      view: await this.#deps.hub.reads.fetchClient(name.id, "best", signal),
      isFree,
    };
  }

  async #findUnusableReason(
    view: ConsensusClientView,
    signal: AbortSignal,
  ): Promise<UnusableReason | undefined> {
    const where = `client ${this.consensusStateId} of the hub`;
    return findUnusableReason(where, view, await this.#deps.hub.reads.fetchNowSec(signal));
  }

  /** @throws {ProverFault} `hub_state` */
  #readState(view: ConsensusClientView): State {
    const refuse = (detail: string, options?: ErrorOptions): ProverFault =>
      new ProverFault("hub_state", {
        chain: this.chain,
        detail: `client ${this.consensusStateId}: ${detail}`,
      }, options);
    if (view.clientId !== this.#kind.clientId) {
      throw refuse(`it is a ${view.clientId} client, and this type of chain needs ${this.#kind.clientId}`);
    }
    let state: State;
    try {
      state = this.#kind.decodeState(view.state);
    } catch (cause) {
      if (cause instanceof RollupUpdateError) {
        throw refuse("its state cannot be read", { cause });
      }
      throw cause;
    }
    if (state.stateMachineId.stateMachine !== this.chain) {
      throw refuse(`it is the client of ${state.stateMachineId.stateMachine}`);
    }
    const [l1, configured] = [state.l1StateMachineId, this.#options.l1].map(stateMachineIdKey);
    if (l1 !== configured) throw refuse(`its L1 is ${l1}, and ${configured} is configured`);
    return state;
  }

  #unknownIdText(): string {
    return `consensus_state_id ${this.#options.consensusStateId} names no rollup client of the hub, ` +
      `and none is known for ${this.chain}: set it to the id of the chain's own client`;
  }

  /** Converts faults of wrong or unsuitable endpoints to faults of the prover. */
  #named(fault: RpcFault): Error {
    const { chain, endpointHost } = fault.where;
    const reader = [this.#deps.l1, this.#deps.l2].find((each) => each.chain === chain);
    if (reader === undefined) return fault;
    switch (fault.code) {
      case "malformed":
      case "oversized":
      case "wrong_chain":
        return new ProverFault("bad_data", {
          chain: reader.chain,
          endpoint: endpointHost,
          detail: fault.detail ?? fault.code,
        }, {
          cause: fault,
        });
      case "pruned":
      case "missing_method": {
        const detail =
          `${fault.where.method} is refused (${fault.code}): blocks that the hub knows are up to half an ` +
          "hour old, so an endpoint is needed that keeps their state and serves eth_getProof";
        return new ProverFault("not_served", { chain: reader.chain, endpoint: endpointHost, detail }, {
          cause: fault,
        });
      }
      default:
        return fault;
    }
  }
}

function nothing(reason: string): ProverFinding {
  return { kind: "nothing", reason };
}

function fatal(event: EventCode, text: string): CheckFinding {
  return { severity: "fatal", event, text };
}

function warning(event: EventCode, text: string): CheckFinding {
  return { severity: "warning", event, text };
}
