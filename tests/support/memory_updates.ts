/** A hub and provers of chains in memory, for tests of what happens between them. Every answer can be scripted. */
import type { CheckFinding } from "../../src/core/chains/check_finding.ts";
import type { BroadcastResult, Refusal, SignedSubmission } from "../../src/core/chains/submission.ts";
import type {
  ConsensusClientView,
  ConsensusTarget,
  UpdateOutcome,
  Updates,
} from "../../src/core/chains/consensus_target.ts";
import { hash256 } from "../../src/core/encoding/scale.ts";
import type { StateCommitment } from "../../src/core/ismp/state_commitment.ts";
import {
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdKey,
  toConsensusClientId,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import { reactionTo, RpcFault, type RpcFaultCode } from "../../src/core/rpc/fault.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import type { ConsensusProver, InitialConsensusState, ProverFinding } from "../../src/consensus/prover.ts";

/** An id from its short text, e.g. `EVM-1/ETH0`. */
export function idOf(text: string): StateMachineId {
  const [machine = "", id = ""] = text.split("/");
  return { stateMachine: parseStateMachine(machine), consensusStateId: toConsensusStateId(id) };
}

/** A fault of an endpoint. */
export function faultOf(code: RpcFaultCode, chain = "EVM-1"): RpcFault {
  return new RpcFault(code, reactionTo(code), { chain, endpointHost: "node.example.org", method: "any" });
}

/** Proof bytes that the hub in memory takes: they say which height they bring. */
export function proofOf(height: bigint): Uint8Array {
  return new TextEncoder().encode(String(height));
}

interface Stored {
  height: bigint;
  updatedSec: bigint;
}

/** Takes every update, in the block after the next poll, unless told otherwise. */
export class MemoryUpdatesHub implements ConsensusTarget {
  readonly id = idOf("KUSAMA-4009/PAS0");
  readonly #clock: Clock;
  readonly #stored = new Map<string, Stored>();
  readonly #prepared = new Map<string, { readonly id: ConsensusStateId; readonly height: bigint }>();
  #made = 0;
  /** Under which each client's heights are stored. */
  readonly commitmentsOf = new Map<ConsensusStateId, StateMachineId>();
  /** What clients trust; absent ones do not exist. */
  readonly states = new Map<ConsensusStateId, Uint8Array>();
  /** Heights of the proofs of every extrinsic that was sent, in order. */
  readonly sent: bigint[] = [];
  /** Replaces the answers, one after the other; then the usual ones. */
  readonly refusals: (Refusal | undefined)[] = [];
  readonly broadcasts: BroadcastResult[] = [];
  readonly plannedOutcomes: UpdateOutcome[] = [];
  /** Thrown by every method while it is set. */
  fault: Error | undefined;
  /** Added to the clock of the machine, seconds. */
  aheadSec = 0n;
  findings: readonly CheckFinding[] = [];
  isClosed = false;
  onTry: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get reads(): this {
    return this;
  }

  get updates(): this {
    return this;
  }

  get sender(): this {
    return this;
  }

  get outcomes(): this {
    return this;
  }

  /** Somebody's update. */
  store(id: StateMachineId, height: bigint): void {
    this.#stored.set(stateMachineIdKey(id), { height, updatedSec: this.#nowSec() });
  }

  #nowSec(): bigint {
    return BigInt(Math.floor(this.#clock.now() / 1_000)) + this.aheadSec;
  }

  #answer<T>(value: T): Promise<T> {
    return this.fault === undefined ? Promise.resolve(value) : Promise.reject(this.fault);
  }

  check(): Promise<readonly CheckFinding[]> {
    return this.#answer(this.findings);
  }

  fetchClient(id: ConsensusStateId): Promise<ConsensusClientView | undefined> {
    const state = this.states.get(id);
    const clientId = toConsensusClientId("BEAC");
    return this.#answer(state && { clientId, state, updatedSec: 0n, unbondingSec: 1n, isFrozen: false });
  }

  fetchLatestHeight(of: StateMachineId): Promise<bigint | undefined> {
    return this.#answer(this.#stored.get(stateMachineIdKey(of))?.height);
  }

  fetchCommitment(): Promise<StateCommitment | undefined> {
    return this.#answer(undefined);
  }

  fetchUpdateTime(of: StateMachineHeight): Promise<bigint | undefined> {
    const stored = this.#stored.get(stateMachineIdKey(of.id));
    return this.#answer(stored?.height === of.height ? stored.updatedSec : undefined);
  }

  fetchNowSec(): Promise<bigint> {
    return this.#answer(this.#nowSec());
  }

  fetchStorage(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#answer(keys.map(() => undefined));
  }

  dryRunUpdates(): Promise<Refusal | undefined> {
    this.onTry?.();
    return this.#answer(this.refusals.shift());
  }

  prepareUpdates({ id, proofs }: Updates): Promise<SignedSubmission> {
    const hash = hash256.dec(new Uint8Array(32).fill(++this.#made));
    const height = BigInt(new TextDecoder().decode(proofs.at(-1)));
    this.#prepared.set(hash, { id, height });
    const none = { account: undefined, nonce: undefined, gasPriceWei: undefined, gasLimit: undefined };
    const raw = new Uint8Array();
    return this.#answer({ hash, chain: this.id.stateMachine, raw, ...none, madeAtHeight: 1n });
  }

  broadcast({ hash }: SignedSubmission): Promise<BroadcastResult> {
    this.sent.push(this.#prepared.get(hash)?.height ?? 0n);
    return this.#answer(this.broadcasts.shift() ?? { kind: "sent" });
  }

  fetchUpdateOutcome({ hash }: SignedSubmission): Promise<UpdateOutcome> {
    const scripted = this.plannedOutcomes.shift();
    if (scripted !== undefined || this.fault !== undefined) {
      return this.#answer(scripted ?? { kind: "pending" });
    }
    const prepared = this.#prepared.get(hash);
    const id = prepared && this.commitmentsOf.get(prepared.id);
    const advanced: StateMachineHeight[] = [];
    if (prepared !== undefined && id !== undefined) {
      const known = this.#stored.get(stateMachineIdKey(id))?.height ?? 0n;
      if (prepared.height > known) {
        this.store(id, prepared.height);
        advanced.push({ id, height: prepared.height });
      }
    }
    return this.#answer({ ...included(true), advanced });
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

/** An extrinsic in block 7. */
export function included(
  succeeded: boolean,
  refusal?: Refusal,
): Extract<UpdateOutcome, { kind: "included" }> {
  const block = { height: 7n, hash: hash256.dec(new Uint8Array(32).fill(7)) };
  return { kind: "included", block, isFinal: false, succeeded, handled: [], refusal };
}

/** What clients trust in the beginning. */
export const firstState: Uint8Array = Uint8Array.of(1);

/** An update to `height`. */
export function updateTo(height: bigint, hasMore = false): ProverFinding {
  const proofs = [proofOf(height)];
  return { kind: "updates", proofs, madeOn: firstState, height, summary: `block ${height}`, hasMore };
}

/** A prover whose findings are given by a function. */
export class ScriptedProver implements ConsensusProver {
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  readonly commitmentId: StateMachineId;
  readonly l1?: StateMachineId;
  readonly intervalMs: number;
  /** Times of the looks, ms. */
  readonly looks: number[] = [];
  readonly #clock: Clock;
  /** What a look brings; may throw. */
  find: (look: number, signal: AbortSignal) => ProverFinding | Promise<ProverFinding>;
  findings: readonly CheckFinding[] = [];
  /** Thrown by `check` while it is set. */
  checkFault: Error | undefined;
  isClosed = false;

  constructor(
    clock: Clock,
    options: {
      readonly id: string;
      readonly storedUnder?: string;
      readonly intervalMs?: number;
      readonly l1?: StateMachineId;
    },
  ) {
    this.#clock = clock;
    const { stateMachine, consensusStateId } = idOf(options.id);
    if (options.l1 !== undefined) this.l1 = options.l1;
    this.chain = stateMachine;
    this.consensusStateId = consensusStateId;
    const under = options.storedUnder === undefined
      ? consensusStateId
      : toConsensusStateId(options.storedUnder);
    this.commitmentId = { stateMachine, consensusStateId: under };
    this.intervalMs = options.intervalMs ?? 300_000;
    this.find = () => ({ kind: "nothing", reason: "nothing is new" });
  }

  check(): Promise<readonly CheckFinding[]> {
    return this.checkFault === undefined ? Promise.resolve(this.findings) : Promise.reject(this.checkFault);
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    this.looks.push(this.#clock.now());
    return await this.find(this.looks.length, signal);
  }

  fetchInitialState(): Promise<InitialConsensusState> {
    return Promise.resolve({
      clientId: toConsensusClientId("BEAC"),
      state: new Uint8Array([1, 2, 255]),
      unbondingSec: 5_832_000n,
      challengePeriods: new Map([[this.chain, 300n]]),
      commitments: [{
        id: this.commitmentId,
        at: {
          height: 12n,
          commitment: {
            timestampSec: 1_700_000_000n,
            overlayRoot: undefined,
            stateRoot: hash256.dec(new Uint8Array(32).fill(0xab)),
          },
        },
      }],
    });
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}
