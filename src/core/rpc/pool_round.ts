/**
 * The way of one set of calls through the endpoints of a pool: whom to ask next, and which answers are best.
 */
import type { RpcAnswer, RpcCall } from "./call.ts";
import type { PooledEndpoint } from "./endpoint_health.ts";
import type { RpcFault } from "./fault.ts";

/** What to do next about a set of calls. */
export type Next =
  | { readonly kind: "ask"; readonly endpoint: PooledEndpoint }
  | { readonly kind: "await"; readonly settled: Promise<void> }
  /** `isThrottled`: the endpoint is well, but gives only so much at a time. */
  | { readonly kind: "pause"; readonly leftMs: number; readonly isThrottled: boolean }
  | { readonly kind: "end" };

/** One set of calls on its way from endpoint to endpoint; each is asked at most once. */
export class Round {
  readonly #order: readonly PooledEndpoint[];
  readonly #asked = new Set<PooledEndpoint>();
  readonly #faults = new Map<PooledEndpoint, RpcFault>();
  #best: { readonly answers: readonly RpcAnswer[]; readonly bad: number } | undefined;

  constructor(endpoints: readonly PooledEndpoint[], calls: readonly RpcCall[]) {
    const able = endpoints.filter((endpoint) => !endpoint.isUnsupported(calls));
    // Where nobody can, the most preferred one may say so again; the others need not be asked.
    this.#order = able.length > 0
      ? [...able, ...endpoints.filter((endpoint) => !able.includes(endpoint))]
      : endpoints.slice(0, 1);
  }

  /** What to do next. */
  next(): Next {
    const open = this.#order.filter((endpoint) => !this.#asked.has(endpoint));
    const states = open.map((endpoint) => ({ endpoint, state: endpoint.availability() }));
    const ready = states.find(({ state }) => state.kind === "ready");
    if (ready !== undefined) {
      this.#asked.add(ready.endpoint);
      return { kind: "ask", endpoint: ready.endpoint };
    }
    for (const { state } of states) {
      if (state.kind === "probing") return { kind: "await", settled: state.settled };
    }
    const waits = states.flatMap(({ endpoint, state }) =>
      state.kind === "cooling"
        ? [{ leftMs: state.leftMs, isThrottled: endpoint.lastFault?.code === "throttled" }]
        : []
    );
    const [soonest] = waits.sort((a, b) => a.leftMs - b.leftMs);
    return soonest === undefined || this.#best !== undefined
      ? { kind: "end" }
      : { kind: "pause", ...soonest };
  }

  /** True when there is an endpoint left that may be asked at once. */
  hasReady(): boolean {
    return this.#order.some((endpoint) =>
      !this.#asked.has(endpoint) && endpoint.availability().kind === "ready"
    );
  }

  /** Files answers of which some are `bad`: another endpoint may do better. */
  answer(endpoint: PooledEndpoint, answers: readonly RpcAnswer[], bad: readonly RpcFault[]): void {
    if (this.#best === undefined || bad.length < this.#best.bad) this.#best = { answers, bad: bad.length };
    const [first] = bad;
    if (first !== undefined) this.#faults.set(endpoint, first);
  }

  /** Files that the endpoint gave nothing. */
  fail(endpoint: PooledEndpoint, fault: RpcFault): void {
    this.#faults.set(endpoint, fault);
  }

  /** Why the endpoint's answers are not good, as far as it was asked. */
  faultOf(endpoint: PooledEndpoint): RpcFault | undefined {
    return this.#faults.get(endpoint);
  }

  /** The best answers so far. */
  best(): readonly RpcAnswer[] {
    if (this.#best === undefined) throw new Error("No answers yet");
    return this.#best.answers;
  }

  /** The best answers, or the given fault is thrown when there are none. */
  bestOr(otherwise: () => RpcFault): readonly RpcAnswer[] {
    if (this.#best === undefined) throw otherwise();
    return this.#best.answers;
  }
}
