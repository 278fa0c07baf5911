/**
 * What can go wrong when a node is asked something, as data.
 * Adapters translate the texts of nodes to these codes; everybody else branches on the code alone.
 */
import type { Hex } from "../encoding/bytes.ts";

/** What the caller may do about a fault: ask again, give up this item, or stop this worker. */
export type Reaction = "retry" | "drop" | "stop";

/** The closed list of faults of an endpoint. */
export type RpcFaultCode =
  /** No answer within the deadline. */
  | "timeout"
  /** Connection refused, reset, closed, or the host name does not resolve. */
  | "unreachable"
  /** HTTP 429 or a rate-limit error of the node. */
  | "throttled"
  /** HTTP 5xx or an internal error of the node. */
  | "server_error"
  /** Not JSON, half an answer, or a shape that the method does not have. */
  | "malformed"
  /** The node's head is below the block that was asked for. */
  | "lagging"
  /** `eth_getLogs` refused the number of blocks or results. */
  | "range_too_wide"
  /** Request or response exceeds what the transport or node allows. */
  | "too_large"
  /** State or block is no longer (or not yet) kept by this node. */
  | "pruned"
  /** The method is unknown or forbidden at this endpoint. */
  | "missing_method"
  /** The thing asked for does not exist, e.g. an unknown commitment. */
  | "not_found"
  /** A call or estimate reverted; `data` holds the revert data. */
  | "reverted"
  | "nonce_too_low"
  | "nonce_too_high"
  /** The same transaction is already in the pool (EVM "already known", Substrate 1013). */
  | "already_known"
  /** A replacement or a new transaction pays too little. */
  | "underpriced"
  | "insufficient_funds"
  /** Substrate pool 1010: the extrinsic is invalid. */
  | "pool_invalid"
  /** Substrate pool 1014: an extrinsic with the same tag is in the pool. */
  | "pool_conflict"
  /** Substrate pool 1011, 1012, 1016: unknown validity, temporarily banned, immediately dropped. */
  | "pool_dropped"
  /** The endpoint answered for another chain than configured. */
  | "wrong_chain"
  /** Anything else that the node refused. */
  | "refused";

const reactions: Readonly<Record<RpcFaultCode, Reaction>> = {
  timeout: "retry",
  unreachable: "retry",
  throttled: "retry",
  server_error: "retry",
  malformed: "retry",
  lagging: "retry",
  range_too_wide: "retry",
  too_large: "drop",
  pruned: "retry",
  missing_method: "drop",
  not_found: "drop",
  reverted: "drop",
  nonce_too_low: "retry",
  nonce_too_high: "retry",
  already_known: "drop",
  underpriced: "retry",
  insufficient_funds: "retry",
  pool_invalid: "drop",
  pool_conflict: "retry",
  pool_dropped: "retry",
  wrong_chain: "stop",
  refused: "drop",
};

/** The reaction that fits a code where nothing more is known about the call. */
export function reactionTo(code: RpcFaultCode): Reaction {
  return reactions[code];
}

/** Where a fault happened. Never contains a URL path, query or credentials. */
export interface FaultPlace {
  readonly chain: string;
  /** Host and port of the endpoint, e.g. `rpc.example.org:8545`. */
  readonly endpointHost: string;
  readonly method: string;
}

/** An endpoint did not give a usable answer. */
export class RpcFault extends Error {
  override readonly name = "RpcFault";
  /** The node's own words, cut to 300 characters, URLs and keys removed. */
  readonly detail: string | undefined;
  /** Revert data or error data, where the node sent some. */
  readonly data: Hex | undefined;
  /** Pause that the endpoint asked for (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly code: RpcFaultCode,
    readonly reaction: Reaction,
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
}
