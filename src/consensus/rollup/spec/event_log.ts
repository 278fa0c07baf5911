/**
 * Strict decoding of logs and call results of L1 contracts.
 */
import {
  type AbiParameter,
  concatHex,
  decodeAbiParameters,
  type DecodeAbiParametersReturnType,
  encodeAbiParameters,
} from "viem";
import type { Hex } from "../../../core/encoding/bytes.ts";
import type { RawLog } from "../../../core/evm/host_events.ts";
import { RollupDataError, type RollupDataErrorCode } from "./rollup_errors.ts";

/** Layout of an event whose indexed arguments are all single words. */
export interface EventLayout<P extends readonly AbiParameter[]> {
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
