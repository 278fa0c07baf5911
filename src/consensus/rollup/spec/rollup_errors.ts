/** Refusals of updates by the hub's clients of rollups, and contradictions between data of an L1 and of a rollup's node. */
import { ClientError, decodeClientData } from "../../spec/client_error.ts";
import type { Hex } from "../../../core/encoding/bytes.ts";
import type { Codec } from "../../../core/encoding/scale.ts";
import type { RawLog } from "../../../core/evm/host_events.ts";
import { EvmProofError } from "../../../core/merkle/evm_proof.ts";
import {
  type AbiParameter,
  concatHex,
  decodeAbiParameters,
  type DecodeAbiParametersReturnType,
  encodeAbiParameters,
} from "viem";

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

/** Layout of an event whose indexed arguments are all single words. */
interface EventLayout<P extends readonly AbiParameter[]> {
  readonly topic0: Hex;
  /** All arguments in order, the indexed ones first. */
  readonly parameters: P;
  readonly indexedCount: number;
}

/**
 * Decodes the arguments of a log; undefined for another contract or event. @param contract lower case. @throws
 * {RollupDataError} `malformed_event`
 */
export function readEvent<const P extends readonly AbiParameter[]>(
  log: RawLog,
  contract: Hex,
  layout: EventLayout<P>,
): DecodeAbiParametersReturnType<P> | undefined {
  const [topic0, ...indexed] = log.topics;
  if (log.address.toLowerCase() !== contract || topic0?.toLowerCase() !== layout.topic0) return undefined;
  const matchesLayout = indexed.length === layout.indexedCount &&
    indexed.every((topic) => topic.length === 66);
  if (!matchesLayout) throw new RollupDataError("malformed_event");
  return decodeAbiStrict(layout.parameters, concatHex([...indexed, log.data]), "malformed_event");
}

/**
 * Decodes ABI parameters; `encoded` must be canonical, without trailing bytes or dirty padding. @throws
 * {RollupDataError} with `code`
 */
export function decodeAbiStrict<const P extends readonly AbiParameter[]>(
  parameters: P,
  encoded: Hex,
  code: Extract<RollupDataErrorCode, "malformed_event" | "malformed_result">,
): DecodeAbiParametersReturnType<P> {
  let values: DecodeAbiParametersReturnType<P>;
  let again: Hex;
  try {
    values = decodeAbiParameters(parameters, encoded);
    again = encodeAbiParameters<readonly AbiParameter[]>(parameters, [...values]);
  } catch (cause) {
    throw new RollupDataError(code, { cause });
  }
  if (again !== encoded.toLowerCase()) throw new RollupDataError(code);
  return values;
}
