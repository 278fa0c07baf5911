/** A {@link MemoryTarget} with one client, whose state tests read and write as values instead of bytes. */
import type { ConsensusClientView, Updates } from "../../src/core/chains/consensus_target.ts";
import type { Refusal } from "../../src/core/chains/submission.ts";
import type {
  ConsensusClientId,
  ConsensusStateId,
  StateMachineId,
} from "../../src/core/ismp/state_machine.ts";
import { MemoryTarget, type UpdateRules } from "./memory_target.ts";

/** What makes one kind of client differ from another. */
export interface ClientKind<State> {
  readonly id: ConsensusStateId;
  readonly clientId: ConsensusClientId;
  readonly unbondingSec: bigint;
  /** Chain under which its heights are stored. */
  readonly chain: StateMachineId;
  readonly codec: { readonly enc: (state: State) => Uint8Array; readonly dec: (bytes: Uint8Array) => State };
  readonly rules: UpdateRules;
  /** Whether the target's runtime can read a proof; absent: it reads all. */
  readonly isReadable?: (proof: Uint8Array) => boolean;
}

/** A target with one client. */
export class ClientTarget<State> extends MemoryTarget {
  /** Proofs of dry runs, in order. */
  readonly tried: Uint8Array[] = [];
  readonly #kind: ClientKind<State>;

  constructor(kind: ClientKind<State>) {
    super({ rules: kind.rules });
    this.#kind = kind;
  }

  /** Creates the client, with a state in bytes. */
  start(state: Uint8Array): void {
    const { clientId, unbondingSec } = this.#kind;
    this.view = { clientId, state, updatedSec: this.nowSec, unbondingSec, isFrozen: false };
  }

  /** The client; `undefined`: there is none. */
  get view(): ConsensusClientView | undefined {
    return this.clients.get(this.#kind.id);
  }

  set view(view: ConsensusClientView | undefined) {
    if (view === undefined) this.clients.delete(this.#kind.id);
    else this.clients.set(this.#kind.id, view);
  }

  get #client(): ConsensusClientView {
    if (this.view === undefined) throw new Error("The target has no client");
    return this.view;
  }

  /** Changes the client as governance does. */
  change(fields: Partial<ConsensusClientView>): void {
    this.view = { ...this.#client, ...fields };
  }

  get updatedSec(): bigint {
    return this.#client.updatedSec;
  }

  get state(): State {
    return this.#kind.codec.dec(this.#client.state);
  }

  set state(state: State) {
    this.change({ state: this.#kind.codec.enc(state) });
  }

  /** The state at the target's final block, where that lags behind. */
  set finalState(state: State | undefined) {
    if (state === undefined) this.finalStates.delete(this.#kind.id);
    else this.finalStates.set(this.#kind.id, this.#kind.codec.enc(state));
  }

  /** Newest height that it stored. */
  get height(): bigint | undefined {
    return this.latestOf(this.#kind.chain);
  }

  set height(height: bigint | undefined) {
    this.rewind({ id: this.#kind.chain, height });
  }

  /** Takes updates as one extrinsic. @throws what the rules throw. */
  take(proofs: readonly Uint8Array[]): void {
    this.accept(this.#kind.id, proofs);
    this.change({ updatedSec: this.nowSec });
  }

  override dryRunUpdates(updates: Updates): Promise<Refusal | undefined> {
    const { isReadable = (): boolean => true } = this.#kind;
    this.tried.push(...updates.proofs);
    return updates.proofs.every(isReadable)
      ? super.dryRunUpdates(updates)
      : Promise.resolve({ code: "unspecified", detail: "BadProof" });
  }
}
