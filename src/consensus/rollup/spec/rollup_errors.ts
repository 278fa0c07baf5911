/** Refusals of updates by the hub's clients of rollups, and contradictions between data of an L1 and of a rollup's node. */
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

/** Relation that does not hold. */
export type RollupDataErrorCode =
  /** A log has the topic of the event but does not match its ABI. */
  | "malformed_event"
  /** The result of a contract call does not match its ABI. */
  | "malformed_result"
  /** The block is not the one that the claim is about. */
  | "wrong_block"
  /** The claim does not follow from the rollup's own block. */
  | "false_claim";

/** Contradictory data: a false claim, or a faulty or dishonest node. */
export class RollupDataError extends Error {
  override readonly name = "RollupDataError";

  constructor(readonly code: RollupDataErrorCode, options?: ErrorOptions) {
    super(`Rollup data refused: ${code}`, options);
  }
}
