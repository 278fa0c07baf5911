/** Refusals of updates by the hub's clients of rollups: each client has a code per rule. */
import { type Codec, decodeStrict, ScaleError } from "../../../core/encoding/scale.ts";
import { EvmProofError } from "../../../core/merkle/evm_proof.ts";

/** An update that the hub would refuse, or a state that it could not read. */
export class RollupUpdateError<Code extends string = string> extends Error {
  override readonly name = "RollupUpdateError";

  constructor(readonly code: Code, options?: ErrorOptions) {
    super(`Rollup update refused: ${code}`, options);
  }
}

/** Runs `read` on a proof. @throws {RollupUpdateError} with `code` when the proof is inconclusive. */
export function fromL1Proof<T>(code: `${string}_proof`, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof EvmProofError) throw new RollupUpdateError(code, { cause });
    throw cause;
  }
}

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {RollupUpdateError}
 * `undecodable_update`
 */
export function decodeRollupUpdate<T>(codec: Codec<T>, bytes: Uint8Array): T {
  try {
    return decodeStrict(codec, bytes, "rollup update");
  } catch (cause) {
    if (cause instanceof ScaleError) throw new RollupUpdateError("undecodable_update", { cause });
    throw cause;
  }
}
