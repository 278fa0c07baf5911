/**
 * Serialises signatures for the hub that use `Relayer.Nonce[(address, chain)]`: withdrawals, and claims for a
 * beneficiary. One at a time per pair, from reading the nonce to the journal entry; a second would use the same nonce.
 */
import { toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { Limit } from "../../core/runtime/limit.ts";

/** Owner of a nonce: address and chain. */
export interface NonceOwner {
  readonly address: Uint8Array;
  readonly chain: StateMachine;
}

/** One queue per nonce, shared by the workers. */
export class NonceTurns {
  readonly #turns = new Map<string, Limit>();

  /** Runs `work` once no other worker uses the nonce. */
  run<T>(owner: NonceOwner, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const key = `${toHex(owner.address)} ${owner.chain}`;
    const turn = this.#turns.get(key) ?? new Limit(1);
    this.#turns.set(key, turn);
    return turn.run(work, signal);
  }
}
