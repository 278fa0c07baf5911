/**
 * What a pool remembers of one endpoint: how well it does, what it cannot do, and how much it does at once.
 * Start reading at {@link classifyFault}, the rule that everything else follows.
 */
import type { Clock } from "../runtime/clock.ts";
import { Limit } from "../runtime/limit.ts";
import type { Randomness } from "../runtime/randomness.ts";
import { type Backoff, nextDelayMs } from "../runtime/retry.ts";
import { BATCH_METHOD, METHOD_SEPARATOR, type RpcCall, type RpcEndpoint } from "./call.ts";
import type { RpcFault, RpcFaultCode } from "./fault.ts";

/** Whose fault a fault is: that decides about failover and health. */
export type Blame =
  /** The endpoint does badly: try another one, and leave it alone for a while when it happens again. */
  | "endpoint"
  /** The endpoint is well but cannot do this: try another one. */
  | "ability"
  /** The node's answer to this question: any other would say the same. */
  | "question";

const blames: Readonly<Record<RpcFaultCode, Blame>> = {
  timeout: "endpoint",
  unreachable: "endpoint",
  throttled: "endpoint",
  server_error: "endpoint",
  malformed: "endpoint",
  wrong_chain: "endpoint",
  lagging: "ability",
  pruned: "ability",
  missing_method: "ability",
  too_large: "ability",
  refused: "ability",
  range_too_wide: "question",
  not_found: "question",
  reverted: "question",
  nonce_too_low: "question",
  nonce_too_high: "question",
  already_known: "question",
  underpriced: "question",
  insufficient_funds: "question",
  pool_invalid: "question",
  pool_conflict: "question",
  pool_dropped: "question",
};

/** Whose fault a fault with this code is. */
export function classifyFault(code: RpcFaultCode): Blame {
  return blames[code];
}

/** Pauses of an endpoint that does badly: 1 s, doubling up to a minute, minus up to half by chance. */
const coolDown: Backoff = { firstMs: 1000, maxMs: 60_000, jitter: 0.5 };
/** Faults in a row before the first pause; a single one may be chance. Throttling pauses at once. */
const FAULTS_BEFORE_PAUSE = 2;
/** What an endpoint could not do is tried again after this time; providers change plans and nodes. */
const UNSUPPORTED_TTL_MS = 10 * 60_000;

/** May the endpoint be asked now? */
export type Availability =
  | { readonly kind: "ready" }
  /** Paused for so long. */
  | { readonly kind: "cooling"; readonly leftMs: number }
  /** One request is finding out whether it is well again. */
  | { readonly kind: "probing"; readonly settled: Promise<void> };

/** One endpoint with the pool's memory of it. */
export class PooledEndpoint<E extends { readonly host: string } = RpcEndpoint> {
  readonly #deps: { readonly clock: Clock; readonly randomness: Randomness };
  readonly #missing = new Map<string, number>();
  readonly #limit: Limit;
  #faults = 0;
  #coolUntilMs = 0;
  #probe: Promise<void> | undefined;
  #batchLimit = { max: Infinity, untilMs: 0 };
  /** False until the endpoint has shown that it serves the right chain, and again after each pause. */
  isVerified = false;
  /** The newest fault that was the endpoint's own. */
  lastFault: RpcFault | undefined;

  constructor(
    deps: { readonly clock: Clock; readonly randomness: Randomness },
    readonly endpoint: E,
    maxConcurrent: number,
  ) {
    this.#deps = deps;
    this.#limit = new Limit(maxConcurrent);
  }

  /** May it be asked now? */
  availability(): Availability {
    const leftMs = this.#coolUntilMs - this.#deps.clock.now();
    if (leftMs > 0) return { kind: "cooling", leftMs };
    if (this.#probe !== undefined) return { kind: "probing", settled: this.#probe };
    return { kind: "ready" };
  }

  /** Runs one use of the endpoint; after a pause the first use is the only one until it has ended. */
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

  /** Notes that it answered usefully. */
  noteSuccess(): void {
    this.#faults = 0;
    this.#coolUntilMs = 0;
    this.lastFault = undefined;
  }

  /** Notes that it answered some of what it was asked, though it throttled the rest: its next pause is a short one. */
  noteProgress(): void {
    this.#faults = 0;
  }

  /** Notes a fault; faults of the endpoint itself lead to a pause. The newest one may be noted again: it counts once. */
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
      // It was under way when the pause began, and says nothing new.
      this.#coolUntilMs = Math.max(this.#coolUntilMs, retryAtMs);
      return;
    }
    this.#faults++;
    const isPauseDue = fault.code === "throttled" || fault.code === "wrong_chain" ||
      this.#faults >= FAULTS_BEFORE_PAUSE;
    if (!isPauseDue) return;
    this.isVerified = false;
    const steps = Math.max(1, this.#faults - FAULTS_BEFORE_PAUSE + 1);
    const ownMs = nextDelayMs(coolDown, steps, this.#deps.randomness.fraction());
    this.#coolUntilMs = Math.max(nowMs + ownMs, retryAtMs);
  }

  /** True when it recently said that it has not one of these methods. */
  isUnsupported(calls: readonly Pick<RpcCall, "method">[]): boolean {
    return calls.some(({ method }) => this.#isMissing(method));
  }

  /** Most calls in one request. */
  get batchLimit(): number {
    if (this.#isMissing(BATCH_METHOD)) return 1;
    return this.#deps.clock.now() < this.#batchLimit.untilMs ? this.#batchLimit.max : Infinity;
  }

  /** Notes that `size` calls in one request were too many. */
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
