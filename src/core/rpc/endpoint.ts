/**
 * One endpoint: its state, its missing methods and its limits. Everything about an endpoint is remembered here; metrics,
 * page, readiness and `check` read it. Which faults count against it: `scopeOf` in call.ts.
 *
 * Every wait has a bound:
 *
 * | What | Bound |
 * | --- | --- |
 * | Pause of an endpoint that fails | from the second fault in a row: 1 s, doubling to 10 s |
 * | Pause of one that throttles, refuses everything, or answers with absurd sizes | at once: 1 s, doubling to 60 s |
 * | Pause of one that serves another chain | from the third wrong answer in a row: 1 s, doubling to 60 s |
 * | `Retry-After` | at most 60 s until the next attempt; 5 min are told to callers (http_exchange.ts) |
 * | After a pause | one request at a time until one has an answer |
 * | A method, batches or a batch size that the endpoint lacks | tried again after 10 min |
 * | Wait for an endpoint that throttles, when no other is ready | 15 s |
 * | Wait for any other pause, when no other is ready | 2 s (endpoint_round.ts) |
 * | An answer while another endpoint is ready | 10 s, unless the caller sets a time (endpoint_set.ts) |
 * | The turn of a request within `requests_per_second` | 10 s (request_budget.ts) |
 * | Comparison of heads | every 15 s while the set is used (head_watch.ts) |
 */
import type { Clock, Randomness } from "../runtime/clock.ts";
import { Limit } from "../runtime/limit.ts";
import { type Backoff, nextDelayMs } from "../runtime/retry.ts";
import type { RpcCall, RpcEndpoint, RpcFault, RpcFaultCode } from "./call.ts";
import { BATCH_METHOD, METHOD_SEPARATOR, scopeOf } from "./call.ts";
import type { EndpointState } from "./observed_endpoint.ts";

/** Why an endpoint is not used. */
type Trouble = Exclude<EndpointState["kind"], "ready" | "behind">;

function troubleOf(code: RpcFaultCode): Trouble {
  return code === "throttled" || code === "unauthorized" || code === "wrong_chain" ? code : "down";
}

const SHORT_PAUSES: Backoff = { firstMs: 1_000, maxMs: 10_000, jitter: 0.5 };
const LONG_PAUSES: Backoff = { firstMs: 1_000, maxMs: 60_000, jitter: 0.5 };
/** Faults in a row with which pauses begin; fewer may be chance, e.g. a balancer that sent one request elsewhere. */
const FAULTS_BEFORE_PAUSE: Readonly<Record<Trouble, number>> = {
  throttled: 1,
  unauthorized: 1,
  wrong_chain: 3,
  down: 2,
};
/** Missing capabilities are tried again after this time; providers change plans and nodes. */
const UNSUPPORTED_TTL_MS = 10 * 60_000;

/**
 * Maximum wait for a throttling endpoint when there is no other: one round of a leg needs more calls than a free plan
 * allows per second (QuickNode: 15), and would never finish if each rejection ended it.
 */
export const MAX_THROTTLED_WAIT_MS = 15_000;

/** Whether the endpoint can be used now. */
export type Availability =
  | { readonly kind: "ready" }
  /** Paused for `leftMs` more. */
  | { readonly kind: "cooling"; readonly leftMs: number }
  /** One request is checking whether it has recovered. */
  | { readonly kind: "probing"; readonly settled: Promise<void> };

/** One endpoint of a set. */
export class TrackedEndpoint<E extends { readonly host: string } = RpcEndpoint> {
  readonly #deps: { readonly clock: Clock; readonly randomness: Randomness };
  readonly #missing = new Map<string, number>();
  readonly #limit: Limit;
  #faults = 0;
  #coolUntilMs = 0;
  #probe: Promise<void> | undefined;
  #batchLimit = { max: Infinity, untilMs: 0 };
  #lag: { readonly blocks: number; readonly seconds: number } | undefined;
  #since: { readonly kind: EndpointState["kind"]; readonly ms: number };
  /** False until the endpoint has shown that it serves the right chain, and again after each pause. */
  isVerified = false;
  /** Latest fault in scope `endpoint`; `undefined` after a useful answer. */
  lastFault: RpcFault | undefined;
  /** Called when the endpoint comes into another state. */
  onState: ((state: EndpointState, before: EndpointState["kind"]) => void) | undefined;

  constructor(
    deps: { readonly clock: Clock; readonly randomness: Randomness },
    readonly endpoint: E,
    maxConcurrent: number,
  ) {
    this.#deps = deps;
    this.#limit = new Limit(maxConcurrent);
    this.#since = { kind: "ready", ms: deps.clock.now() };
  }

  /** Host and port; safe to log. */
  get host(): string {
    return this.endpoint.host;
  }

  /** Its state now. */
  get state(): EndpointState {
    const nowMs = this.#deps.clock.now();
    const lacking = [...this.#missing].flatMap(([method, untilMs]) => nowMs < untilMs ? [method] : []);
    const common = { sinceMs: this.#since.ms, lacking };
    const code = this.lastFault?.code;
    const trouble = code === undefined ? undefined : troubleOf(code);
    const isStray = trouble === "wrong_chain" && this.#faults < FAULTS_BEFORE_PAUSE.wrong_chain;
    if (code === undefined || trouble === undefined || isStray) {
      return this.#lag === undefined
        ? { ...common, kind: "ready" }
        : { ...common, kind: "behind", ...this.#lag };
    }
    if (trouble === "throttled") return { ...common, kind: trouble, untilMs: this.#coolUntilMs };
    return trouble === "down" ? { ...common, kind: trouble, code } : { ...common, kind: trouble };
  }

  /** True while another endpoint of the set is ahead of it: it is used last. */
  get isBehind(): boolean {
    return this.#lag !== undefined;
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
    this.#noteState();
  }

  /** Records that it answered some calls although it throttled the rest: its next pause is short. */
  noteProgress(): void {
    this.#faults = 0;
  }

  /** Records how far it is behind the best of its set; `undefined`: it is not. */
  noteLag(lag: { readonly blocks: number; readonly seconds: number } | undefined): void {
    this.#lag = lag;
    this.#noteState();
  }

  /** Records a fault; faults in scope `endpoint` lead to a pause. Recording the latest one twice counts once. */
  noteFault(fault: RpcFault): void {
    if (fault === this.lastFault) return;
    if (scopeOf(fault) !== "endpoint") {
      if (fault.code !== "missing_method") return;
      for (const method of fault.where.method.split(METHOD_SEPARATOR)) {
        this.#missing.set(method, this.#memoryEndMs());
      }
      return;
    }
    const nowMs = this.#deps.clock.now();
    const trouble = troubleOf(fault.code);
    const askedMs = Math.min(fault.retryAfterMs ?? 0, LONG_PAUSES.maxMs);
    const isSame = this.lastFault !== undefined && troubleOf(this.lastFault.code) === trouble;
    this.lastFault = fault;
    if (nowMs < this.#coolUntilMs) {
      // The request started before the pause, so its fault is no new information.
      this.#coolUntilMs = Math.max(this.#coolUntilMs, nowMs + askedMs);
    } else {
      this.#faults = isSame ? this.#faults + 1 : 1;
      this.#pause(trouble, fault.code, askedMs);
    }
    this.#noteState();
  }

  #pause(trouble: Trouble, code: RpcFaultCode, askedMs: number): void {
    const before = code === "oversized" ? 1 : FAULTS_BEFORE_PAUSE[trouble];
    if (this.#faults < before) {
      if (trouble === "wrong_chain") this.isVerified = false;
      return;
    }
    this.isVerified = false;
    const pauses = trouble === "down" && code !== "oversized" ? SHORT_PAUSES : LONG_PAUSES;
    const ownMs = nextDelayMs(pauses, Math.max(1, this.#faults - 1), this.#deps.randomness.fraction());
    this.#coolUntilMs = this.#deps.clock.now() + Math.max(ownMs, askedMs);
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

  #noteState(): void {
    const { kind } = this.state;
    const before = this.#since.kind;
    if (kind === before) return;
    this.#since = { kind, ms: this.#deps.clock.now() };
    this.onState?.(this.state, before);
  }

  #isMissing(method: string): boolean {
    return this.#deps.clock.now() < (this.#missing.get(method) ?? 0);
  }

  #memoryEndMs(): number {
    return this.#deps.clock.now() + UNSUPPORTED_TTL_MS;
  }
}
