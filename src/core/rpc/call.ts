/**
 * Interface between the transports (HTTP, sockets) and their callers: one JSON-RPC call and its answer.
 */
import { onError } from "../encoding/coded_error.ts";
import type { Hex } from "../encoding/bytes.ts";
import type { Json } from "./json.ts";

/** One JSON-RPC call. Parameters must be JSON: no bigints. */
export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
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

/** Reaction of the caller to a fault: retry, drop this item, or stop this worker. */
export type Reaction = "retry" | "drop" | "stop";

/** Scope of a fault, which decides about failover and health. */
export type FaultScope =
  /** The endpoint is unhealthy: fail over, and pause it when this happens again. */
  | "endpoint"
  /** The endpoint is healthy but does not support this: fail over. */
  | "capability"
  /** The request itself: any other endpoint would answer the same. */
  | "request";

/**
 * Closed list of endpoint faults, each with the usual reaction and its scope. `verdict`: what a pool says of a
 * transaction; said in answer to anything else it means nothing.
 */
const faults = {
  /** No answer within the deadline. */
  timeout: ["retry", "endpoint"],
  /** Connection refused, reset, closed, or the host name does not resolve. */
  unreachable: ["retry", "endpoint"],
  /** HTTP 429 or a rate-limit error of the node. */
  throttled: ["retry", "endpoint"],
  /** Everything is refused: the key in the URL, the plan, or a check in front of the node. */
  unauthorized: ["retry", "endpoint"],
  /** Nothing was sent: `requests_per_second` is used up for longer than a request waits. */
  over_budget: ["retry", "request"],
  /** HTTP 5xx or an internal error of the node. */
  server_error: ["retry", "endpoint"],
  /** Not JSON, a truncated answer, or a shape that does not match the method. */
  malformed: ["retry", "endpoint"],
  /** The node's head is below the requested block. */
  lagging: ["retry", "capability"],
  /** `eth_getLogs` rejected the number of blocks or results. */
  range_too_wide: ["retry", "capability"],
  /** Request or response exceeds what the transport or node allows. */
  too_large: ["drop", "capability"],
  /** An answer with more bytes, values or levels than any honest one: it is not read, and the endpoint is paused. */
  oversized: ["retry", "endpoint"],
  /** The node does not keep the state or block any longer (or not yet). */
  pruned: ["retry", "capability"],
  /** The endpoint does not know or does not allow the method. */
  missing_method: ["drop", "capability"],
  /** The requested item does not exist, e.g. an unknown commitment. */
  not_found: ["drop", "capability"],
  /** A call or estimate reverted; `data` holds the revert data. By one endpoint: who decides by it asks a second one. */
  reverted: ["drop", "request"],
  nonce_too_low: ["retry", "verdict"],
  nonce_too_high: ["retry", "verdict"],
  /** The same transaction is already in the mempool (EVM "already known", Substrate 1013). */
  already_known: ["drop", "verdict"],
  /** A replacement or a new transaction pays too little. */
  underpriced: ["retry", "verdict"],
  insufficient_funds: ["retry", "verdict"],
  /** Substrate 1010: the extrinsic is invalid. */
  pool_invalid: ["drop", "request"],
  /** Substrate 1014: an extrinsic with the same tag is in the transaction pool. */
  pool_conflict: ["retry", "request"],
  /** Substrate 1011, 1012, 1016: unknown validity, temporarily banned, immediately dropped. */
  pool_dropped: ["retry", "request"],
  /** The endpoint named another chain than the configured one: it serves another, or a balancer sent the request there. */
  wrong_chain: ["retry", "endpoint"],
  /** The remote signer of our account gave no signature: it does not answer, refuses, or lacks the key. */
  signer_unavailable: ["retry", "request"],
  /** The remote signer signed something else than what was asked of it, or with another key. */
  wrong_signature: ["retry", "request"],
  /** The chain's runtime is another than this program knows: nothing is built for it. */
  runtime_unsupported: ["retry", "request"],
  /** Any other rejection by the node. */
  refused: ["drop", "capability"],
} as const satisfies Readonly<Record<string, readonly [Reaction, FaultScope | "verdict"]>>;

/** Code of an endpoint fault. */
export type RpcFaultCode = keyof typeof faults;

/** Scope of a fault. A pool's verdict is the answer to sending a transaction; else another endpoint is asked. */
export function scopeOf({ code, where }: Pick<RpcFault, "code" | "where">): FaultScope {
  const scope = faults[code][1];
  if (scope !== "verdict") return scope;
  return where.method === SENDING_METHOD ? "request" : "capability";
}

/** True for faults of the endpoint itself. */
export function isOfEndpoint(code: RpcFaultCode): boolean {
  return faults[code][1] === "endpoint";
}

/** Place where a fault happened. Never contains a URL path, query or credentials. */
export interface FaultPlace {
  readonly chain: string;
  /** Host and port of the endpoint, e.g. `rpc.example.org:8545`. */
  readonly endpointHost: string;
  readonly method: string;
}

/** Request without a usable answer from an endpoint. */
export class RpcFault extends Error {
  override readonly name = "RpcFault";
  /** Error text of the node, cut to 300 characters, URLs and keys removed. */
  readonly detail: string | undefined;
  /** Revert data or error data, if the node sent any. */
  readonly data: Hex | undefined;
  /** Pause requested by the endpoint (`Retry-After`), milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly code: RpcFaultCode,
    readonly where: FaultPlace,
    options: {
      detail?: string | undefined;
      data?: Hex | undefined;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    const said = options.detail === undefined ? "" : ` (${options.detail})`;
    super(
      `${where.method} on ${where.chain} via ${where.endpointHost}: ${code}${said}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.detail = options.detail;
    this.data = options.data;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Usual reaction to it. */
  get reaction(): Reaction {
    return faults[this.code][0];
  }
}

/** Pause that a fault which may pass asks for, ms; `undefined` for all else: another attempt does not help. */
export function pauseAfterFault(error: unknown): number | undefined {
  return error instanceof RpcFault && error.reaction === "retry" ? error.retryAfterMs ?? 0 : undefined;
}

/** The result of a call whose fault would have been its outcome. @throws {RpcFault} that fault. */
export function resultOf<T>(outcome: T | RpcFault): T {
  if (outcome instanceof RpcFault) throw outcome;
  return outcome;
}

/**
 * A handler of rejected promises, for the faults of endpoints: of the codes, or of any code if none is given.
 * @throws all else that a promise was rejected with
 */
export function onFault<T>(
  handle: (fault: RpcFault) => T,
  ...codes: readonly RpcFaultCode[]
): (error: unknown) => T {
  return onError(RpcFault, (fault) => {
    if (codes.length === 0 || codes.includes(fault.code)) return handle(fault);
    throw fault;
  });
}

/** Makes the fault of an endpoint the result of a rejected promise. @throws all else */
export const keepFault = onFault((fault) => fault);

/** Faults of answers that no honest endpoint gives. */
export const FALSE_ANSWERS: ReadonlySet<RpcFaultCode> = new Set(["malformed", "oversized"]);

/** Method that sends a transaction. */
export const SENDING_METHOD = "eth_sendRawTransaction";

/** Faults of the connection or the endpoint: everything that is sent there now meets them. */
export const ENDPOINT_FAULTS: ReadonlySet<RpcFaultCode> = new Set([
  "timeout",
  "unreachable",
  "throttled",
  "unauthorized",
  "over_budget",
  "wrong_chain",
]);

/** Faults that every read at one block meets at an endpoint, also one by itself: {@link ENDPOINT_FAULTS}, or the block's. */
export const BLOCK_FAULTS: ReadonlySet<RpcFaultCode> = new Set([...ENDPOINT_FAULTS, "lagging", "pruned"]);
