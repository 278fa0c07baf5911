/**
 * Prover shared by both kinds of rollups: the hub's state is read first, and decides what is searched for on the L1.
 * The kinds are behind {@link RollupKind}. Start reading at {@link RollupProver.next}.
 */
import { type CheckRow, findingRow } from "../../core/checks/check_row.ts";
import type { ConsensusClientView } from "../../core/chains/consensus_target.ts";
import {
  commitmentIdOf,
  findRollupClient,
  ROLLUP_UNBONDING_SEC,
  type RollupClientState,
} from "./spec/rollup_client.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  type StateMachineId,
  stateMachineIdKey,
} from "../../core/ismp/state_machine.ts";
import { checkChainIds } from "../evm_reader.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import { requireUsable, TargetClient } from "../target_client.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  ProverFault,
  type ProverFinding,
  usualPeriods,
} from "../prover.ts";
import { evmCommitment } from "../spec/header_commitment.ts";
import { proverFaultRow } from "../poll_loop.ts";
import type { ClaimFinding, RollupDeps, RollupOptions, RollupView } from "./claims.ts";
import type { FindingCode } from "../../core/checks/findings.ts";

/** State of a client with the way in which claims are made: `unknown` where that is newer than this program. */
type TypedState = RollupClientState & { readonly consensusType: string | undefined };

/** Differences between the kinds of rollups. */
export interface RollupKind<State extends TypedState> {
  readonly clientId: ConsensusClientId;
  /** What is proved of a client whose consensus type is unknown; plural. */
  readonly noun: string;
  /** @throws {RollupUpdateError} `undecodable_state` */
  decodeState(stored: Uint8Array): State;
  /** Finds the newest claim that can be proved at the view's L1 block. */
  findClaim(view: RollupView<State>, signal: AbortSignal): Promise<ClaimFinding>;
  /** Compares what the hub stores of a rollup with the configuration and the L1. */
  checkContracts(state: State, signal: AbortSignal): Promise<readonly CheckRow[]>;
  /** Encodes the initial state of a client in SCALE. */
  encodeInitialState(at: RollupClientState): Uint8Array;
}

/** Proves a rollup to the hub by claims on its L1. Sends no request before its first method is called. */
export class RollupProver<State extends TypedState> extends BaseProver<RollupOptions>
  implements ConsensusProver {
  readonly #deps: RollupDeps;
  readonly #kind: RollupKind<State>;
  /** `undefined` until the hub was read. */
  #id: ConsensusStateId | undefined;

  /** @param kindOf creates the kind, with a log that names the chain. */
  constructor(
    deps: RollupDeps,
    options: RollupOptions,
    kindOf: (deps: RollupDeps) => RollupKind<State>,
  ) {
    super(options);
    this.#deps = { ...deps, log: deps.log.with({ chain: this.chain }) };
    this.#kind = kindOf(this.#deps);
  }

  /** The L1 as the hub knows it. */
  get l1(): StateMachineId {
    return this.options.l1;
  }

  override get commitmentId(): StateMachineId {
    return { stateMachine: this.chain, consensusStateId: this.l1.consensusStateId };
  }

  /** Configured id until the hub was read. */
  override get consensusStateId(): ConsensusStateId {
    return this.#id ?? this.options.consensusStateId;
  }

  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    return [...await this.#checkEndpoints(signal), ...await this.checkHub(signal)];
  }

  async checkHub(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const row = (event: FindingCode, result: CheckRow["result"], found: string): CheckRow =>
      findingRow(this.chain, event, { result, found });
    const view = await this.#findClient(signal);
    if (this.#id === undefined) return [row("client_missing", "failed", this.#unknownIdText())];
    const { consensusStateId } = this.options;
    const rows: CheckRow[] = [];
    if (this.#id !== consensusStateId) {
      const found = `the hub's client is ${this.#id}, not the configured ${consensusStateId}: ` +
        "consensus_state_id of a rollup names its own client";
      rows.push(row("client_id_mismatch", "warning", found));
    }
    if (view === undefined) return rows;
    try {
      const state = this.#readState(view);
      rows.push(...await this.#kind.checkContracts(state, signal));
      if (state.consensusType === "unknown") {
        const found = `client ${this.#id} of the hub is of a consensus type that this version does not ` +
          `know: ${this.#kind.noun} are proved; update causeway-consensus if there are none`;
        rows.push(row("rollup_settings_unknown", "warning", found));
      }
    } catch (fault) {
      if (!(fault instanceof ProverFault)) throw fault;
      rows.push({ ...proverFaultRow(this.chain, fault), result: "failed" });
    }
    return rows;
  }

  /** Compares the chain id of every endpoint of the L1 and of the rollup with the configuration. */
  async #checkEndpoints(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { l1, l2 } = this.#deps;
    const found = await Promise.all([
      checkChainIds(l1, { chain: this.chain, key: "beacon_rpc_url" }, signal),
      checkChainIds(l2, { chain: this.chain, key: "rpc_urls" }, signal),
    ]);
    return found.flat();
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const view = await this.#findClient(signal);
    if (this.#id === undefined) throw this.fault("hub_state", this.#unknownIdText());
    if (view === undefined) return { kind: "nothing", reason: `the hub has no consensus client ${this.#id}` };
    const nowSec = await this.#deps.hub.reads.fetchNowSec(signal);
    requireUsable({ stateMachine: this.chain, consensusStateId: this.#id }, "the hub", {
      client: view,
      nowSec,
    });
    const state = this.#readState(view);
    const l1Id = state.l1StateMachineId;
    const [l1Height, hubHeight] = await Promise.all([
      this.#deps.hub.reads.fetchLatestHeight(l1Id, signal),
      this.#deps.hub.reads.fetchLatestHeight(commitmentIdOf(state), signal),
    ]);
    const name = stateMachineIdKey(l1Id);
    if (l1Height === undefined) return { kind: "nothing", reason: `the hub knows no block of ${name} yet` };
    const commitment = await this.#deps.hub.reads.fetchCommitment({ id: l1Id, height: l1Height }, signal);
    if (commitment === undefined) {
      return { kind: "nothing", reason: `the hub does not hold block ${l1Height} of ${name} any more` };
    }
    const l1 = { height: l1Height, ...commitment };
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
    const { stateMachine, l1, consensusStateId } = this.options;
    const configured = await this.#deps.hub.reads.fetchClient(consensusStateId, "best", signal);
    await this.#findClient(signal);
    // A client that does not exist yet may have any id but the L1's.
    if (configured === undefined && consensusStateId !== l1.consensusStateId) this.#id = consensusStateId;
    if (this.#id === undefined) throw this.fault("hub_state", this.#unknownIdText());
    const id = { stateMachine, consensusStateId: this.#id };
    const newest = await this.#deps.l2.fetchHeader("latest", signal);
    if (newest === undefined) throw this.fault("not_served", "no endpoint has a newest block");
    const { header } = newest;
    return {
      clientId: this.#kind.clientId,
      state: this.#kind.encodeInitialState({
        finalizedHeight: header.number,
        stateMachineId: id,
        l1StateMachineId: l1,
      }),
      ...usualPeriods(stateMachine),
      unbondingSec: ROLLUP_UNBONDING_SEC,
      // Under the client's own id; all later ones are stored as commitmentIdOf() does.
      commitments: [evmCommitment(id, header)],
    };
  }

  /** Finds the id of the rollup's client, and the client on the hub; `undefined`: the hub has none. */
  async #findClient(signal: AbortSignal): Promise<ConsensusClientView | undefined> {
    const { reads } = this.#deps.hub;
    const { consensusStateId, l1 } = this.options;
    const configured = await reads.fetchClient(consensusStateId, "best", signal);
    this.#id = findRollupClient(this.options, l1.consensusStateId, configured?.clientId);
    if (this.#id === undefined || this.#id === consensusStateId) return configured;
    return await reads.fetchClient(this.#id, "best", signal);
  }

  /** @throws {ProverFault} `hub_state` */
  #readState(view: ConsensusClientView): State {
    const { clientId, decodeState: decode } = this.#kind;
    const id = { stateMachine: this.chain, consensusStateId: this.consensusStateId };
    const state = new TargetClient(this.#deps.hub, id, { clientId, decode }).read(view);
    const refuse = (detail: string): ProverFault =>
      this.fault("hub_state", `client ${id.consensusStateId}: ${detail}`);
    if (state.stateMachineId.stateMachine !== this.chain) {
      throw refuse(`it is the client of ${state.stateMachineId.stateMachine}`);
    }
    const [l1, configured] = [state.l1StateMachineId, this.options.l1].map(stateMachineIdKey);
    if (l1 !== configured) throw refuse(`its L1 is ${l1}, and ${configured} is configured`);
    return state;
  }

  #unknownIdText(): string {
    return `consensus_state_id ${this.options.consensusStateId} names no rollup client of the hub, ` +
      `and none is known for ${this.chain}: set it to the id of the chain's own client`;
  }

  /** Converts faults of wrong or unsuitable endpoints to faults of the prover. */
  #named(fault: RpcFault): Error {
    const { chain, endpointHost } = fault.where;
    const reader = [this.#deps.l1, this.#deps.l2].find((each) => each.chain === chain);
    if (reader === undefined) return fault;
    const named = (code: "bad_data" | "not_served", detail: string): ProverFault =>
      new ProverFault(code, { chain: reader.chain, endpoint: endpointHost, detail }, { cause: fault });
    switch (fault.code) {
      case "malformed":
      case "oversized":
      case "wrong_chain":
        return named("bad_data", fault.detail ?? fault.code);
      case "pruned":
      case "missing_method":
        return named(
          "not_served",
          `${fault.where.method} is refused (${fault.code}): blocks that the hub knows are up to half an ` +
            "hour old, so an endpoint is needed that keeps their state and serves eth_getProof",
        );
      default:
        return fault;
    }
  }
}
