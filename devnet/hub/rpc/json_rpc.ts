/**
 * JSON-RPC 2.0 as a Substrate node speaks it: requests, errors, and numbers of any size.
 */
import * as z from "zod";
import { fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import { parseJson } from "../../../src/core/rpc/json.ts";
import { converted } from "../verifiers/refusals.ts";
import { ChainError, type SimulatedBlock } from "../block_history.ts";
import type { ServedNode } from "../blocks.ts";

/** A call as a {@link FaultHook} sees it. */
export interface IncomingCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What to do instead of a proper answer. */
export type FaultAction =
  /** Answer with this error; the method does not run. */
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  /** Answer with this result; the method does not run. */
  | { readonly kind: "result"; readonly result: unknown }
  /** Close the connection without an answer; with `afterCall` the method runs first. */
  | { readonly kind: "drop"; readonly afterCall?: boolean }
  /** Never answer. */
  | { readonly kind: "hang" };

/** Decides what happens to a call; undefined lets it pass. */
export type FaultHook = (call: IncomingCall) => FaultAction | undefined;

/** Carries a fault that concerns the whole connection to whoever serves it. */
export class ConnectionFault extends Error {
  override readonly name = "ConnectionFault";
  constructor(readonly kind: "drop" | "hang") {
    super(`Fault asked for: ${kind}`);
  }
}

/** Reads a parameter of that shape. @throws {RpcError} -32602. */
export function param<T>(shape: z.ZodType<T>): (value: unknown, name: string) => T {
  return (value, name) => {
    const { success, data, error } = shape.safeParse(value);
    if (success) return data;
    const [issue] = error.issues;
    throw invalidParams(`${[name, ...issue?.path ?? []].join(".")}: ${issue?.message}`);
  };
}

const hexShape = z.string().regex(/^0x(?:[0-9a-fA-F]{2})*$/, "expected 0x hex").transform(fromHex);
/** 32 bytes of hex. */
export const hashShape = z.string().regex(/^0x[0-9a-fA-F]{64}$/, "expected 32 bytes of 0x hex")
  .transform((text) => toHash256(fromHex(text)));
const u32Shape = z.int().min(0).max(0xffff_ffff);

/** Bytes of a hex string with `0x`. */
export const hexParam = param(hexShape);
/** A list of such strings. */
export const hexesParam = param(z.array(hexShape));
/** 32 bytes of hex. */
export const hashParam = param(hashShape);
/** 32 bytes of hex, or nothing (`null` or left out). */
export const optionalHash = param(hashShape.nullish().transform((hash) => hash ?? undefined));
/** A whole number from 0 to 2^32 - 1. */
export const u32Param = param(u32Shape);
/** A list of such numbers. */
export const u32sParam = param(z.array(u32Shape));

/** Methods by name: positional parameters in, a JSON value out. @throws {RpcError} */
export type RpcMethods = Readonly<Record<string, (params: readonly unknown[]) => unknown>>;

/** Runs `read` and turns errors of the chain into those of the node's client. */
export function clientErrors<T>(read: () => T): T {
  return converted(ChainError, ({ message }) => new RpcError(4003, `Client error: ${message}`), read);
}

/** The block that an optional hash parameter names, the best one without it. @throws {RpcError} 4003. */
export function blockParam(node: Pick<ServedNode, "chain">, value: unknown): SimulatedBlock {
  const hash = optionalHash(value, "hash");
  return hash === undefined ? node.chain.best : clientErrors(() => node.chain.block(hash));
}

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

/** Parses JSON of any length; whole numbers beyond 2^53 become `bigint`. @throws {SyntaxError} */
export function parseRequestJson(text: string): unknown {
  return parseJson(text, { values: Infinity, depth: Infinity });
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
