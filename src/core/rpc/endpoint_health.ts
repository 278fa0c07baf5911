/**
 * Health of one endpoint: its recent faults, its missing capabilities and its limits. Start reading at
 * {@link classifyFault}, the rule that everything else follows.
 */
import type { Clock, Randomness } from "../runtime/clock.ts";
import { Limit } from "../runtime/limit.ts";
import { type Backoff, nextDelayMs } from "../runtime/retry.ts";
import type { RpcCall, RpcEndpoint, RpcFault, RpcFaultCode } from "./call.ts";
import { BATCH_METHOD, METHOD_SEPARATOR } from "./call.ts";

/** Scope of a fault, which decides about failover and health. */
export type FaultScope =
  /** The endpoint is unhealthy: fail over, and pause it when this happens again. */
  | "endpoint"
  /** The endpoint is healthy but does not support this: fail over. */
  | "capability"
  /** The request itself: any other endpoint would answer the same. */
  | "request";

const faultScopes: Readonly<Record<RpcFaultCode, FaultScope>> = {
  timeout: "endpoint",
  unreachable: "endpoint",
  throttled: "endpoint",
  server_error: "endpoint",
  malformed: "endpoint",
  oversized: "endpoint",
  wrong_chain: "endpoint",
  lagging: "capability",
  pruned: "capability",
  missing_method: "capability",
  too_large: "capability",
  refused: "capability",
  range_too_wide: "request",
  not_found: "request",
  reverted: "request",
  nonce_too_low: "request",
  nonce_too_high: "request",
  already_known: "request",
  underpriced: "request",
  insufficient_funds: "request",
  pool_invalid: "request",
  pool_conflict: "request",
  pool_dropped: "request",
  signer_unavailable: "request",
  wrong_signature: "request",
  runtime_unsupported: "request",
};

/** Scope of a fault with this code. */
export function classifyFault(code: RpcFaultCode): FaultScope {
  return faultScopes[code];
}

/** Pauses of an unhealthy endpoint: 1 s, doubling up to a minute, minus up to half at random. */
const coolDown: Backoff = { firstMs: 1000, maxMs: 60_000, jitter: 0.5 };
/** Consecutive faults before the first pause; a single one may be chance. */
const FAULTS_BEFORE_PAUSE = 2;
/** Faults that pause at once. */
const PAUSING: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["throttled", "wrong_chain", "oversized"]);
/** Missing capabilities are tried again after this time; providers change plans and nodes. */
const UNSUPPORTED_TTL_MS = 10 * 60_000;

/** Whether the endpoint can be used now. */
export type Availability =
  | { readonly kind: "ready" }
  /** Paused for `leftMs` more. */
  | { readonly kind: "cooling"; readonly leftMs: number }
  /** One request is checking whether it has recovered. */
  | { readonly kind: "probing"; readonly settled: Promise<void> };

/** One endpoint of a set with its health. */
export class TrackedEndpoint<E extends { readonly host: string } = RpcEndpoint> {
  readonly #deps: { readonly clock: Clock; readonly randomness: Randomness };
  readonly #missing = new Map<string, number>();
  readonly #limit: Limit;
  #faults = 0;
  #coolUntilMs = 0;
  #probe: Promise<void> | undefined;
  #batchLimit = { max: Infinity, untilMs: 0 };
  /** False until the endpoint has shown that it serves the right chain, and again after each pause. */
  isVerified = false;
  /** Latest fault in scope `endpoint`. */
  lastFault: RpcFault | undefined;

  constructor(
    deps: { readonly clock: Clock; readonly randomness: Randomness },
    readonly endpoint: E,
    maxConcurrent: number,
  ) {
    this.#deps = deps;
    this.#limit = new Limit(maxConcurrent);
  }

  /** Whether it can be used now. */
  availability(): Availability {
    const leftMs = this.#coolUntilMs - this.#deps.clock.now();
    if (leftMs > 0) return { kind: "cooling", leftMs };
    if (this.#probe !== undefined) return { kind: "probing", settled: this.#probe };
    return { kind: "ready" };
  }

  /** Runs `work` against the endpoint; after a pause, the first request runs alone until it has finished. */
  async use<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#coolUntilMs === 0) return await this.#limit.run(work, signal);
    const settled = Promise.withResolvers<void>();
    this.#probe = settled.promise;
    try {
      return await this.#limit.run(work, signal);
    } finally {
      this.#probe = undefined;
      settled.resolve();
    }
  }

  /** Records a useful answer. */
  noteSuccess(): void {
    this.#faults = 0;
    this.#coolUntilMs = 0;
    this.lastFault = undefined;
  }

  /** Records that it answered some calls although it throttled the rest: its next pause is short. */
  noteProgress(): void {
    this.#faults = 0;
  }

  /** Records a fault; faults in scope `endpoint` lead to a pause. Recording the latest one twice counts once. */
  noteFault(fault: RpcFault): void {
    if (fault === this.lastFault) return;
    if (classifyFault(fault.code) !== "endpoint") {
      if (fault.code !== "missing_method") return;
      for (const method of fault.where.method.split(METHOD_SEPARATOR)) {
        this.#missing.set(method, this.#memoryEndMs());
      }
      return;
    }
    const nowMs = this.#deps.clock.now();
    const retryAtMs = nowMs + (fault.retryAfterMs ?? 0);
    this.lastFault = fault;
    if (fault.code === "throttled" && nowMs < this.#coolUntilMs) {
      // The request started before the pause, so its fault is no new information.
      this.#coolUntilMs = Math.max(this.#coolUntilMs, retryAtMs);
      return;
    }
    this.#faults++;
    if (!PAUSING.has(fault.code) && this.#faults < FAULTS_BEFORE_PAUSE) return;
    this.isVerified = false;
    const steps = Math.max(1, this.#faults - FAULTS_BEFORE_PAUSE + 1);
    const ownMs = nextDelayMs(coolDown, steps, this.#deps.randomness.fraction());
    this.#coolUntilMs = Math.max(nowMs + ownMs, retryAtMs);
  }

  /** True when it recently reported that it lacks one of these methods. */
  isUnsupported(calls: readonly Pick<RpcCall, "method">[]): boolean {
    return calls.some(({ method }) => this.#isMissing(method));
  }

  /** Maximum number of calls in one request. */
  get batchLimit(): number {
    if (this.#isMissing(BATCH_METHOD)) return 1;
    return this.#deps.clock.now() < this.#batchLimit.untilMs ? this.#batchLimit.max : Infinity;
  }

  /** Records that `size` calls in one request were too many. */
  noteBatchTooLarge(size: number): void {
    const max = Math.max(1, Math.min(Math.floor(size / 2), this.batchLimit));
    this.#batchLimit = { max, untilMs: this.#memoryEndMs() };
  }

  #isMissing(method: string): boolean {
    return this.#deps.clock.now() < (this.#missing.get(method) ?? 0);
  }

  #memoryEndMs(): number {
    return this.#deps.clock.now() + UNSUPPORTED_TTL_MS;
  }
}
