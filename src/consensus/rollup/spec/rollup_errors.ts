/** Refusals of updates by the hub's clients of rollups, and contradictions between data of an L1 and of a rollup's node. */
import { ClientError, decodeClientData } from "../../spec/client_error.ts";
import { type Codec } from "../../../core/encoding/scale.ts";
import { EvmProofError } from "../../../core/merkle/evm_proof.ts";

/** An update that the hub would refuse, or a state that it could not read. */
export class RollupUpdateError<Code extends string = string> extends ClientError<Code> {
  override readonly name = "RollupUpdateError";
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
  return decodeClientData(codec, bytes, (options) => new RollupUpdateError("undecodable_update", options));
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
export class RollupDataError extends ClientError<RollupDataErrorCode> {
  override readonly name = "RollupDataError";
}
