/**
 * JSON-RPC 2.0 as a Substrate node speaks it: requests, errors, and numbers of any size.
 */

/** An answer that is an error. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
  }
}

/** Codes of the protocol itself. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  oversizedRequest: -32007,
  oversizedResponse: -32008,
} as const;

/** A well-formed request. `id` is undefined for notifications. */
export interface RpcRequest {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Makes the error for parameters that do not fit. */
export function invalidParams(what: string): RpcError {
  return new RpcError(rpcCodes.invalidParams, "Invalid params", what);
}

/**
 * Parses JSON; whole numbers beyond 2^53 become `bigint`.
 * @throws {SyntaxError}
 */
export function parseRequestJson(text: string): unknown {
  // The third argument holds the source text of numbers (ECMAScript, JSON.parse source text access).
  const reviver = (_key: string, value: unknown, ...[context]: { source?: string }[]): unknown => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || !Number.isInteger(value)) return value;
    return context?.source !== undefined && /^-?[0-9]+$/.test(context.source)
      ? BigInt(context.source)
      : value;
  };
  return JSON.parse(text, reviver);
}

/** JSON text in which `bigint` is a number of any size. */
export function stringifyJson(value: unknown): string {
  switch (typeof value) {
    case "bigint":
      return value.toString();
    case "object":
      break;
    default:
      return JSON.stringify(value) ?? "null";
  }
  if (value === null) return "null";
  if (value instanceof Uint8Array) return `[${value.join(",")}]`;
  if (Array.isArray(value)) return `[${value.map(stringifyJson).join(",")}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${stringifyJson(member)}`).join(",")}}`;
}

/** The request in a parsed JSON value, or undefined when it is none. */
export function readRequest(value: unknown): RpcRequest | undefined {
  if (typeof value !== "object" || value === null || !("method" in value)) return undefined;
  if (!("jsonrpc" in value) || value.jsonrpc !== "2.0" || typeof value.method !== "string") return undefined;
  const params = "params" in value ? value.params : [];
  if (params !== undefined && params !== null && !Array.isArray(params)) return undefined;
  return { id: "id" in value ? value.id : undefined, method: value.method, params: params ?? [] };
}

/** Text of a successful answer. */
export function resultText(id: unknown, result: unknown): string {
  return stringifyJson({ jsonrpc: "2.0", id, result: result === undefined ? null : result });
}

/** Text of an answer that is an error. */
export function errorText(id: unknown, error: RpcError): string {
  const body = { code: error.code, message: error.message, data: error.data };
  return stringifyJson({ jsonrpc: "2.0", id: id === undefined ? null : id, error: body });
}

/** Text of a subscription's message. */
export function notificationText(method: string, subscription: string, result: unknown): string {
  return stringifyJson({ jsonrpc: "2.0", method, params: { subscription, result } });
}
