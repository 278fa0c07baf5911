/**
 * Interface between the transports (HTTP, sockets) and their callers: one JSON-RPC call and its answer.
 */
import type { Hex } from "../encoding/bytes.ts";
import type { RpcFault, RpcFaultCode } from "./fault.ts";
import { isJsonObject, type Json } from "./json.ts";

/** One JSON-RPC call. Parameters must be JSON: no bigints. */
export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Encoded request: one call, or an array of all. */
export interface WireRequest {
  readonly text: string;
  readonly calls: readonly RpcCall[];
  /** Id of the first call; the others follow. */
  readonly firstId: number;
}

/** Encodes requests, each call with an id of its own. */
export class WireRequests {
  #lastId = 0;

  /** Encodes these calls as one request. */
  write(calls: readonly RpcCall[]): WireRequest {
    const firstId = this.#lastId + 1;
    this.#lastId += calls.length;
    const wire = calls.map(({ method, params }, index) => ({
      jsonrpc: "2.0",
      id: firstId + index,
      method,
      params,
    }));
    return { text: JSON.stringify(wire.length === 1 ? wire[0] : wire), calls, firstId };
  }
}

/** Result or fault of one {@link RpcCall} of a batch. */
export type RpcAnswer =
  | { readonly kind: "result"; readonly result: Json }
  | { readonly kind: "fault"; readonly fault: RpcFault };

/** The error object of a JSON-RPC answer. */
export interface NodeError {
  readonly code: number | undefined;
  readonly message: string;
  readonly data: Json | undefined;
}

/** The error of a JSON-RPC answer, read leniently; `undefined` when there is none. */
export function readNodeError(error: Json | undefined): NodeError | undefined {
  if (error === undefined || error === null) return undefined;
  if (!isJsonObject(error)) return { code: undefined, message: String(error), data: undefined };
  return {
    code: typeof error.code === "number" ? error.code : undefined,
    message: typeof error.message === "string" ? error.message : "",
    data: error.data,
  };
}

/** Maps a node's error to a fault code. One implementation per node family. */
export type TranslateError = (error: NodeError, method: string) => {
  readonly code: RpcFaultCode;
  /** Revert or error data, where the node sent some. */
  readonly data: Hex | undefined;
};

/** Options of one call. */
export interface CallConditions {
  readonly signal: AbortSignal;
  /** Maximum wait for the whole answer, milliseconds; the endpoint's default if absent. */
  readonly timeoutMs?: number | undefined;
}

/** One address that answers JSON-RPC. */
export interface RpcEndpoint {
  /** Host and port; safe to log. */
  readonly host: string;
  /**
   * Sends all calls in one request and returns the answers in the order of the calls.
   * @throws {RpcFault} when the request as a whole has no usable answer. A fault whose `where.method` is
   * {@link BATCH_METHOD} means that this endpoint does not support batches.
   */
  send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]>;
}

/** Method name in faults about a batch as a whole. */
export const BATCH_METHOD = "batch";

/** Separator between the methods of a batch in {@link formatMethods}. */
export const METHOD_SEPARATOR = "+";

/** Name of a set of calls in faults: each method once. */
export function formatMethods(calls: readonly RpcCall[]): string {
  return [...new Set(calls.map((call) => call.method))].join(METHOD_SEPARATOR);
}
