/**
 * Signatures for the hub that count in `Relayer.Nonce[(address, chain)]`: withdrawals, and claims for a beneficiary.
 * One at a time per pair, from reading the nonce to the journal entry; a second would carry the same nonce.
 */
import { toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { Limit } from "../../core/runtime/limit.ts";

/** Whose nonce, for which chain. */
export interface NonceOwner {
  readonly address: Uint8Array;
  readonly chain: StateMachine;
}

/** Turns of the workers, one queue per nonce. */
export class NonceTurns {
  readonly #turns = new Map<string, Limit>();

  /** Runs `work` when nobody else uses the nonce. */
  run<T>(owner: NonceOwner, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const key = `${toHex(owner.address)} ${owner.chain}`;
    const turn = this.#turns.get(key) ?? new Limit(1);
    this.#turns.set(key, turn);
    return turn.run(work, signal);
  }
}
