/**
 * Prover shared by both kinds of rollups: the hub's state is read first, and decides what is searched for on the L1.
 * The kinds are behind {@link RollupKind}. Start reading at {@link RollupProver.next}.
 */
import { about, type CheckRow } from "../../core/checks/check_row.ts";
import type { FindingCode } from "../../core/checks/findings.ts";
import type { ConsensusClientView } from "../../core/chains/consensus_target.ts";
import type { Address } from "../../core/evm/address.ts";
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
import { TargetClient } from "../target_client.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  ProverFault,
  type ProverFinding,
  type ProverOptions,
  usualPeriods,
} from "../prover.ts";
import { evmCommitment } from "../spec/header_commitment.ts";
import { proverFaultRow } from "../poll_loop.ts";
import type { ClaimFinding, RollupDeps, RollupView } from "./claims.ts";

/** Configured options of any rollup. */
export interface RollupOptions extends ProverOptions {
  /**
   * As configured. Where it is the L1's id or names no rollup client of the hub, the id that is known for the chain is
   * used: read `ConsensusProver.consensusStateId` again after `check`, `next` or `fetchInitialState`.
   */
  readonly consensusStateId: ConsensusStateId;
  /** `l1_state_machine` and `l1_consensus_state_id`. */
  readonly l1: StateMachineId;
}

/** State of a client with the way in which claims are made: `unknown` where that is newer than this program. */
type TypedState = RollupClientState & { readonly consensusType: string | undefined };

/** A contract of the L1 in which claims are made. The hub's own address takes precedence. */
export interface ClaimContract {
  /** Key of the configuration. */
  readonly key: string;
  readonly configured: Address | undefined;
  readonly stored: Address | undefined;
}

/** State of a client, and what the hub stores about its claims. */
export interface RollupOnHub<State, Stored> {
  readonly state: State;
  readonly stored: Stored;
}

/** Differences between the kinds of rollups. */
export interface RollupKind<State extends TypedState, Stored> {
  readonly clientId: ConsensusClientId;
  /** What is proved of a client whose consensus type is unknown; plural. */
  readonly noun: string;
  /** The contracts of which the hub needs one. */
  readonly contractNoun: string;
  /** @throws {RollupUpdateError} `undecodable_state` */
  decodeState(stored: Uint8Array): State;
  /** Encodes the initial state of a client in SCALE. */
  encodeInitialState(at: RollupClientState): Uint8Array;
  /** Fetches what the hub stores about claims. @throws {ProverFault} `hub_state` */
  fetchStored(id: StateMachineId, signal: AbortSignal): Promise<Stored>;
  contractsOf(stored: Stored): readonly ClaimContract[];
  /** Finds the newest claim that can be proved at the view's L1 block; none without a contract. */
  findClaim(
    onHub: RollupOnHub<State, Stored>,
    view: RollupView,
    signal: AbortSignal,
  ): Promise<ClaimFinding> | undefined;
  /** Compares what else the hub stores with the configuration; absent: there is nothing. @returns warnings */
  checkStored?(stored: Stored): readonly (readonly [FindingCode, string])[];
}

/** Proves a rollup to the hub by claims on its L1. Sends no request before its first method is called. */
export class RollupProver<State extends TypedState, Stored> extends BaseProver<RollupOptions>
  implements ConsensusProver {
  readonly #deps: RollupDeps;
  readonly #kind: RollupKind<State, Stored>;
  /** `undefined` until the hub was read. */
  #id: ConsensusStateId | undefined;

  /** @param kindOf creates the kind, with a log that names the chain. */
  constructor(
    deps: RollupDeps,
    options: RollupOptions,
    kindOf: (deps: RollupDeps) => RollupKind<State, Stored>,
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
    const { l1, l2 } = this.#deps;
    const rows = await Promise.all([
      checkChainIds(l1, { chain: this.chain, key: "beacon_rpc_url" }, signal),
      checkChainIds(l2, { chain: this.chain, key: "rpc_urls" }, signal),
    ]);
    return [...rows.flat(), ...await this.checkHub(signal)];
  }

  async checkHub(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const view = await this.#findClient(signal);
    if (this.#id === undefined) return [about(this.chain).failed("client_missing", this.#unknownIdText())];
    const { consensusStateId } = this.options;
    const rows: CheckRow[] = [];
    if (this.#id !== consensusStateId) {
      const found = `the hub's client is ${this.#id}, not the configured ${consensusStateId}: ` +
        "consensus_state_id of a rollup names its own client";
      rows.push(about(this.chain).warning("client_id_mismatch", found));
    }
    if (view === undefined) return rows;
    try {
      const state = this.#target.read(view);
      this.#requireChains(state);
      rows.push(...await this.#checkStored(state, signal));
      if (state.consensusType === "unknown") {
        const found = `client ${this.#id} of the hub is of a consensus type that this version does not ` +
          `know: ${this.#kind.noun} are proved; update causeway-consensus if there are none`;
        rows.push(about(this.chain).warning("rollup_settings_unknown", found));
      }
    } catch (fault) {
      if (!(fault instanceof ProverFault)) throw fault;
      rows.push({ ...proverFaultRow(this.chain, fault), result: "failed" });
    }
    return rows;
  }

  /** Compares what the hub stores of a rollup with the configuration. */
  async #checkStored(state: State, signal: AbortSignal): Promise<readonly CheckRow[]> {
    const id = state.stateMachineId;
    const stored = await this.#kind.fetchStored(id, signal);
    const contracts = this.#kind.contractsOf(stored);
    const name = stateMachineIdKey(id);
    if (contracts.every((each) => each.stored === undefined)) {
      const found = `${name}: the hub holds no ${this.#kind.contractNoun}: it ignores all updates until ` +
        "governance sets one";
      return [about(this.chain).warning("rollup_contract_missing", found)];
    }
    const rows = contracts.flatMap(({ key, configured, stored: onHub }) => {
      if (configured === undefined || onHub === undefined || configured === onHub) return [];
      const found = `${name}: ${key} is ${configured}, and the hub holds ${onHub} and refuses proofs of ` +
        `any other contract: correct ${key}, or remove it so that the hub's is used`;
      return [about(this.chain).failed("rollup_contract_mismatch", found)];
    });
    const others = this.#kind.checkStored?.(stored) ?? [];
    return [...rows, ...others.map(([code, text]) => about(this.chain).warning(code, `${name}: ${text}`))];
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const { reads } = this.#deps.hub;
    const client = await this.#findClient(signal);
    if (this.#id === undefined) throw this.fault("hub_state", this.#unknownIdText());
    const { state, bytes: madeOn } = this.#target.use(client, await reads.fetchNowSec(signal));
    this.#requireChains(state);
    const id = state.l1StateMachineId;
    const [height, hubHeight] = await Promise.all([
      reads.fetchLatestHeight(id, signal),
      reads.fetchLatestHeight(commitmentIdOf(state), signal),
    ]);
    const name = stateMachineIdKey(id);
    if (height === undefined) return { kind: "nothing", reason: `the hub knows no block of ${name} yet` };
    const commitment = await reads.fetchCommitment({ id, height }, signal);
    if (commitment === undefined) {
      return { kind: "nothing", reason: `the hub does not hold block ${height} of ${name} any more` };
    }
    const view = { block: { height, stateRoot: commitment.stateRoot }, hubHeight };
    const found = await this.#findClaim(state, view, signal);
    if (found.kind === "nothing") return found;
    const { proof, summary } = found;
    return { kind: "updates", proofs: [proof], madeOn, height: found.height, summary, hasMore: false };
  }

  async #findClaim(state: State, view: RollupView, signal: AbortSignal): Promise<ClaimFinding> {
    const id = state.stateMachineId;
    const stored = await this.#kind.fetchStored(id, signal);
    const found = await this.#kind.findClaim({ state, stored }, view, signal);
    if (found !== undefined) return found;
    // The hub would accept any update and ignore it.
    const reason = `the hub holds no ${this.#kind.contractNoun} for ${stateMachineIdKey(id)}`;
    return { kind: "nothing", reason };
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

  get #target(): TargetClient<State> {
    const { clientId, decodeState: decode } = this.#kind;
    const id = { stateMachine: this.chain, consensusStateId: this.consensusStateId };
    return new TargetClient(this.#deps.hub, id, { clientId, decode });
  }

  /** @throws {ProverFault} `hub_state` */
  #requireChains({ stateMachineId, l1StateMachineId }: State): void {
    const refuse = (detail: string): ProverFault =>
      this.fault("hub_state", `client ${this.consensusStateId}: ${detail}`);
    if (stateMachineId.stateMachine !== this.chain) {
      throw refuse(`it is the client of ${stateMachineId.stateMachine}`);
    }
    const [l1, configured] = [l1StateMachineId, this.options.l1].map(stateMachineIdKey);
    if (l1 !== configured) throw refuse(`its L1 is ${l1}, and ${configured} is configured`);
  }

  #unknownIdText(): string {
    return `consensus_state_id ${this.options.consensusStateId} names no rollup client of the hub, ` +
      `and none is known for ${this.chain}: set it to the id of the chain's own client`;
  }
}
