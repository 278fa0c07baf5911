/**
 * One batch of calls on its way through an endpoint set: which endpoint is next, and which answers are best.
 */
import type { RpcAnswer, RpcCall } from "./call.ts";
import type { TrackedEndpoint } from "./endpoint_health.ts";
import type { RpcFault } from "./fault.ts";

/** Next step for a batch of calls. */
export type RoundStep =
  | { readonly kind: "ask"; readonly endpoint: TrackedEndpoint }
  | { readonly kind: "await"; readonly settled: Promise<void> }
  /** `isThrottled`: the endpoint is healthy but limits the rate. */
  | { readonly kind: "pause"; readonly leftMs: number; readonly isThrottled: boolean }
  | { readonly kind: "end" };

/** One batch of calls that goes from endpoint to endpoint; each is called at most once. */
export class EndpointRound {
  readonly #order: readonly TrackedEndpoint[];
  readonly #tried = new Set<TrackedEndpoint>();
  readonly #faults = new Map<TrackedEndpoint, RpcFault>();
  #best: { readonly answers: readonly RpcAnswer[]; readonly bad: number } | undefined;

  constructor(endpoints: readonly TrackedEndpoint[], calls: readonly RpcCall[]) {
    const able = endpoints.filter((endpoint) => !endpoint.isUnsupported(calls));
    // If no endpoint supports it, the most preferred one may report that again; the others need not be called.
    this.#order = able.length > 0
      ? [...able, ...endpoints.filter((endpoint) => !able.includes(endpoint))]
      : endpoints.slice(0, 1);
  }

  /** Next step. */
  next(): RoundStep {
    const open = this.#order.filter((endpoint) => !this.#tried.has(endpoint));
    const states = open.map((endpoint) => ({ endpoint, state: endpoint.availability() }));
    const ready = states.find(({ state }) => state.kind === "ready");
    if (ready !== undefined) {
      this.#tried.add(ready.endpoint);
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

  /** True when another endpoint can be called at once. */
  hasReady(): boolean {
    return this.#order.some((endpoint) =>
      !this.#tried.has(endpoint) && endpoint.availability().kind === "ready"
    );
  }

  /** Records answers of which some are `bad`: another endpoint may do better. */
  answer(endpoint: TrackedEndpoint, answers: readonly RpcAnswer[], bad: readonly RpcFault[]): void {
    if (this.#best === undefined || bad.length < this.#best.bad) this.#best = { answers, bad: bad.length };
    const [first] = bad;
    if (first !== undefined) this.#faults.set(endpoint, first);
  }

  /** Records that the endpoint gave no answers. */
  fail(endpoint: TrackedEndpoint, fault: RpcFault): void {
    this.#faults.set(endpoint, fault);
  }

  /** Fault of the endpoint, if it was called and failed. */
  faultOf(endpoint: TrackedEndpoint): RpcFault | undefined {
    return this.#faults.get(endpoint);
  }

  /** Best answers so far. */
  best(): readonly RpcAnswer[] {
    if (this.#best === undefined) throw new Error("No answers yet");
    return this.#best.answers;
  }

  /** Returns the best answers; throws the given fault when there are none. */
  bestOr(otherwise: () => RpcFault): readonly RpcAnswer[] {
    if (this.#best === undefined) throw otherwise();
    return this.#best.answers;
  }
}
