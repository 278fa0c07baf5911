/** A target of consensus updates in memory: what a hub keeps of clients and commitments, and what it takes. */
import type { CheckJob, CheckRow } from "../../src/core/checks/check_row.ts";
import type { BroadcastResult, Refusal, SignedSubmission } from "../../src/core/chains/submission.ts";
import type {
  ConsensusClientView,
  ConsensusTarget,
  HubBlock,
  UpdateOutcome,
  Updates,
} from "../../src/core/chains/consensus_target.ts";
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { hash256 } from "../../src/core/encoding/scale.ts";
import {
  type ConsensusClientId,
  type ConsensusStateId,
  type IntermediateState,
  parseStateMachine,
  type StateCommitment,
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdKey,
  toConsensusClientId,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";

/** An id from its short text, e.g. `EVM-1/ETH0`. */
export function idOf(text: string): StateMachineId {
  const [machine = "", id = ""] = text.split("/");
  return { stateMachine: parseStateMachine(machine), consensusStateId: toConsensusStateId(id) };
}

/** Proof bytes that say which height they bring. */
export function proofOf(height: bigint): Uint8Array {
  return new TextEncoder().encode(String(height));
}

/** What a light client makes of an update. @throws {Error} with a `code` when it refuses. */
export type UpdateRules = (
  proof: Uint8Array,
  client: { readonly id: ConsensusStateId; readonly state: Uint8Array },
  target: MemoryTarget,
) => { readonly state: Uint8Array; readonly commitments: readonly IntermediateState[] };

/** What the target says to an update. */
export type Verdict =
  /** Taken; the height that it stored, `undefined` when the target knew as much before. */
  | { readonly kind: "accepted"; readonly stored: bigint | undefined }
  | { readonly kind: "refused"; readonly code: string };

/** Rules for proofs that say which height they bring, see {@link proofOf}. */
export const heightRules: UpdateRules = (proof, { id, state }, target) => {
  const under = target.commitmentsOf.get(id);
  const height = BigInt(new TextDecoder().decode(proof));
  return { state, commitments: under === undefined ? [] : [{ height: { id: under, height }, commitment }] };
};

const commitment: StateCommitment = {
  timestampSec: 0n,
  overlayRoot: undefined,
  stateRoot: hash256.dec(new Uint8Array(32)),
};

/**
 * The hub in memory, as a target of updates: it holds clients, raw storage and commitments, and takes what the rules
 * of its clients take. Every answer can be scripted.
 */
export class MemoryTarget implements ConsensusTarget {
  readonly id: StateMachineId;
  readonly reads: this = this;
  readonly updates: this = this;
  readonly sender: this = this;
  readonly outcomes: this = this;
  readonly clients = new Map<ConsensusStateId, ConsensusClientView>();
  /** What clients trust at the final block, where that lags behind. */
  readonly finalStates = new Map<ConsensusStateId, Uint8Array>();
  /** Raw values by hex of the key. */
  readonly storage = new Map<string, Uint8Array>();
  readonly #rules: UpdateRules;
  readonly #readNowSec: () => bigint;
  #setNowSec: bigint | undefined;
  readonly #commitments = new Map<
    string,
    { readonly commitment: StateCommitment; readonly storedSec: bigint }
  >();
  readonly #latest = new Map<string, bigint>();
  readonly #prepared = new Map<
    string,
    { readonly id: ConsensusStateId; readonly proofs: readonly Uint8Array[] }
  >();
  #made = 0;
  /** Under which each client's heights are stored, by {@link heightRules}. */
  readonly commitmentsOf = new Map<ConsensusStateId, StateMachineId>();
  /** Heights of the last proofs of every extrinsic that was sent, in order. */
  readonly sent: bigint[] = [];
  /** Replaces the answers, one after the other; then the usual ones. */
  readonly refusals: (Refusal | undefined)[] = [];
  readonly broadcasts: BroadcastResult[] = [];
  readonly plannedOutcomes: UpdateOutcome[] = [];
  /** Thrown by every method while it is set. */
  fault: Error | undefined;
  /** Added to the clock of the machine, seconds. */
  aheadSec = 0n;
  findings: readonly CheckRow[] = [];
  isClosed = false;
  onTry: (() => void) | undefined;

  constructor({ clock, rules = heightRules, id = "KUSAMA-4009/PAS0" }: {
    readonly clock?: Clock;
    readonly rules?: UpdateRules;
    /** As short text. */
    readonly id?: string;
  } = {}) {
    this.id = idOf(id);
    this.#rules = rules;
    this.#readNowSec = (): bigint => BigInt(Math.floor((clock?.now() ?? 0) / 1_000)) + this.aheadSec;
  }

  /** Its clock, Unix seconds: that of the machine until it is set. */
  get nowSec(): bigint {
    return this.#setNowSec ?? this.#readNowSec();
  }

  set nowSec(value: bigint) {
    this.#setNowSec = value;
  }

  /** Creates a client. */
  addClient(id: ConsensusStateId, clientId: ConsensusClientId, state: Uint8Array): void {
    this.clients.set(id, { clientId, state, updatedSec: 0n, unbondingSec: 2n ** 64n - 1n, isFrozen: false });
  }

  /** Sets what a client trusts, and creates the client if there is none. */
  setState(id: ConsensusStateId, state: Uint8Array): void {
    const known = this.clients.get(id);
    if (known === undefined) this.addClient(id, toConsensusClientId("BEAC"), state);
    else this.clients.set(id, { ...known, state });
  }

  /** Sets or removes a stored value. */
  put(key: Uint8Array, value: Uint8Array | undefined): void {
    if (value === undefined) this.storage.delete(toHex(key));
    else this.storage.set(toHex(key), value);
  }

  /** Stores a commitment, unless the target knows as much. */
  commit({ height, commitment }: IntermediateState): bigint | undefined {
    const latest = this.latestOf(height.id);
    if (latest !== undefined && latest >= height.height) return undefined;
    this.#commitments.set(heightKey(height), { commitment, storedSec: this.nowSec });
    this.#latest.set(stateMachineIdKey(height.id), height.height);
    return height.height;
  }

  /** Another relayer's update. */
  store(id: StateMachineId, height: bigint): void {
    this.commit({ height: { id, height }, commitment });
  }

  /** Forgets a commitment, as the hub does with old ones. */
  forget(height: StateMachineHeight): void {
    this.#commitments.delete(heightKey(height));
  }

  /** Newest height of a chain that was stored. */
  latestOf(id: StateMachineId): bigint | undefined {
    return this.#latest.get(stateMachineIdKey(id));
  }

  /** Another block is the best one, at which an older height was the newest; `undefined`: none was stored. */
  rewind({ id, height }: { readonly id: StateMachineId; readonly height: bigint | undefined }): void {
    if (height === undefined) this.#latest.delete(stateMachineIdKey(id));
    else this.#latest.set(stateMachineIdKey(id), height);
  }

  /** State root of a stored commitment. */
  stateRoot(height: StateMachineHeight): Hash256 | undefined {
    return this.#commitments.get(heightKey(height))?.commitment.stateRoot;
  }

  /** Takes updates of a client as one extrinsic; the heights that were stored. @throws what the rules throw. */
  accept(id: ConsensusStateId, proofs: readonly Uint8Array[]): readonly StateMachineHeight[] {
    const known = this.clients.get(id);
    let state = known?.state ?? new Uint8Array();
    const commitments = proofs.flatMap((proof) => {
      const verified = this.#rules(proof, { id, state }, this);
      state = verified.state;
      return verified.commitments;
    });
    if (known !== undefined) this.clients.set(id, { ...known, state });
    return commitments.filter((one) => this.commit(one) !== undefined).map(({ height }) => height);
  }

  /** What the runtime makes of a consensus message. */
  submit(id: ConsensusStateId, proof: Uint8Array): Verdict {
    if (!this.clients.has(id)) throw new Error(`The hub has no client ${id}`);
    try {
      return { kind: "accepted", stored: this.accept(id, [proof]).at(-1)?.height };
    } catch (error) {
      if (error instanceof Error && "code" in error) return { kind: "refused", code: String(error.code) };
      throw error;
    }
  }

  #answer<T>(value: T): Promise<T> {
    return this.fault === undefined ? Promise.resolve(value) : Promise.reject(this.fault);
  }

  planChecks(): readonly CheckJob[] {
    return [];
  }

  check(): Promise<readonly CheckRow[]> {
    return this.#answer(this.findings);
  }

  fetchClient(id: ConsensusStateId, block?: HubBlock): Promise<ConsensusClientView | undefined> {
    const client = this.clients.get(id);
    const finalState = block === "final" ? this.finalStates.get(id) : undefined;
    return this.#answer(client && { ...client, state: finalState ?? client.state });
  }

  fetchLatestHeight(of: StateMachineId): Promise<bigint | undefined> {
    return this.#answer(this.latestOf(of));
  }

  fetchCommitment(of: StateMachineHeight): Promise<StateCommitment | undefined> {
    return this.#answer(this.#commitments.get(heightKey(of))?.commitment);
  }

  fetchUpdateTime(of: StateMachineHeight): Promise<bigint | undefined> {
    return this.#answer(this.#commitments.get(heightKey(of))?.storedSec);
  }

  fetchNowSec(): Promise<bigint> {
    return this.#answer(this.nowSec);
  }

  fetchStorage(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#answer(keys.map((key) => this.storage.get(toHex(key))));
  }

  dryRunUpdates(_updates: Updates): Promise<Refusal | undefined> {
    this.onTry?.();
    return this.#answer(this.refusals.shift());
  }

  prepareUpdates({ id, proofs }: Updates): Promise<SignedSubmission> {
    const hash = hash256.dec(new Uint8Array(32).fill(++this.#made));
    this.#prepared.set(hash, { id, proofs });
    const none = { account: undefined, nonce: undefined, gasPriceWei: undefined, gasLimit: undefined };
    const raw = new Uint8Array();
    return this.#answer({ hash, chain: this.id.stateMachine, raw, ...none, madeAtHeight: 1n });
  }

  broadcast({ hash }: SignedSubmission): Promise<BroadcastResult> {
    const last = this.#prepared.get(hash)?.proofs.at(-1);
    this.sent.push(BigInt(new TextDecoder().decode(last)));
    return this.#answer(this.broadcasts.shift() ?? { kind: "sent" });
  }

  fetchOutcome({ hash }: SignedSubmission): Promise<UpdateOutcome> {
    const scripted = this.plannedOutcomes.shift();
    if (scripted !== undefined || this.fault !== undefined) {
      return this.#answer(scripted ?? { kind: "pending" });
    }
    const prepared = this.#prepared.get(hash);
    const advanced = prepared === undefined ? [] : this.accept(prepared.id, prepared.proofs).slice(-1);
    return this.#answer({ ...included(true), advanced });
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

function heightKey({ id, height }: StateMachineHeight): string {
  return `${stateMachineIdKey(id)}/${height}`;
}

/** An extrinsic in block 7. */
export function included(
  succeeded: boolean,
  refusal?: Refusal,
): Extract<UpdateOutcome, { kind: "included" }> {
  const block = { height: 7n, hash: hash256.dec(new Uint8Array(32).fill(7)) };
  return { kind: "included", block, isFinal: false, succeeded, handled: [], refusal };
}
