/** How the state of contracts is proved: by Ethereum's trie, or by another one below an EVM. */
import type { Hex } from "../../encoding/bytes.ts";
import type { ProvenBlock } from "../proofs.ts";

/** Verified proof. */
export interface StateProof {
  /** Content of a `Proof` about the chain. */
  readonly bytes: Uint8Array;
  /** Reads the number in a proven slot by the hex of its key; 0 when the slot is empty. */
  readonly readNumber: (key: Hex) => bigint;
}

/** Proves state of contracts at one block. */
export interface SlotProver {
  /** RPC method that returns the proofs, for faults. */
  readonly method: string;
  /**
   * Fetches a proof from the root of a block to all keys, and verifies it as the hub will. An endpoint whose proof does
   * not verify is reported.
   * @param wanted.stateRoot as the hub stores it; `undefined`: the endpoint's own header is trusted
   * @throws {UnprovableKeyError}
   */
  prove(
    wanted: ProvenBlock & { readonly keys: readonly Uint8Array[] },
    signal: AbortSignal,
  ): Promise<StateProof>;
}
