/**
 * Endpoint set of one chain: endpoints are used in the order of preference, the next one only when an earlier one
 * fails or lacks a capability. Independent of the meaning of the calls. Start reading at {@link RpcEndpointSet}.
 */
import type { Clock, Randomness } from "../runtime/clock.ts";
import { mapLimited } from "../runtime/limit.ts";
import { orAbort } from "../runtime/linked_abort.ts";
import { partsOf } from "../runtime/slices.ts";
import type { CallConditions, FaultPlace, RpcAnswer, RpcCall, RpcEndpoint } from "./call.ts";
import { BATCH_METHOD, formatMethods, reactionTo, RpcFault } from "./call.ts";
import { classifyFault, TrackedEndpoint } from "./endpoint_health.ts";
import type { Json } from "./json.ts";
import { MAX_THROTTLED_WAIT_MS, type SendConditions, sendPatiently } from "./patience.ts";

/** Maximum wait for a paused endpoint when there is no other; longer pauses fail at once. */
const MAX_WAIT_MS = 2000;
/** Maximum wait for an answer while another endpoint is ready, unless the caller sets a timeout. */
const PATIENCE_MS = 10_000;
const DEFAULT_CONCURRENT = 16;
/** Concurrent parts of a batch; endpoints that reject batches have narrow limits. */
const PARTS_AT_ONCE = 4;

/** Options of an endpoint set. */
export interface RpcEndpointSetOptions {
  /** Name of the chain in faults. */
  readonly chain: string;
  /** In order of preference, at least one. */
  readonly endpoints: readonly RpcEndpoint[];
  /** Maximum number of concurrent HTTP requests to one endpoint. Default 16. */
  readonly maxConcurrent?: number | undefined;
  /**
   * Call sent along with the first request to an endpoint (and the first after a pause); its result must be as
   * expected.
   */
  readonly identity?: { readonly call: RpcCall; readonly isExpected: (result: Json) => boolean } | undefined;
}

/** Fault of answers that are not taken; `undefined`, at once or later: they are. */
export type Objection = RpcFault | undefined | Promise<RpcFault | undefined>;

/** Options of a batch of calls. */
export interface BatchConditions extends CallConditions {
  /**
   * Checks the answers of one endpoint; a fault that it returns counts as the answer of the whole request and may
   * lead to the next endpoint (e.g. `lagging`, `malformed`).
   */
  readonly accept?:
    | ((answers: readonly RpcAnswer[], place: FaultPlace) => Objection)
    | undefined;
  /** Called for each endpoint that failed, even when another one succeeded. */
  readonly onFault?: ((fault: RpcFault, endpointHost: string) => void) | undefined;
}

/** Answers of one endpoint when each endpoint was called. */
export type EndpointReport =
  | { readonly host: string; readonly kind: "answers"; readonly answers: readonly RpcAnswer[] }
  | { readonly host: string; readonly kind: "fault"; readonly fault: RpcFault };

/** Endpoint set of one chain, with failover. */
export class RpcEndpointSet {
  readonly #deps: { readonly clock: Clock; readonly randomness: Randomness };
  readonly #clock: Clock;
  readonly #options: RpcEndpointSetOptions;
  readonly #endpoints: readonly TrackedEndpoint[];

  /**
   * @param shared endpoints of another set whose health this one shares
   * @throws {RangeError} without endpoints.
   */
  constructor(
    deps: { readonly clock: Clock; readonly randomness: Randomness },
    options: RpcEndpointSetOptions,
    shared?: readonly TrackedEndpoint[],
  ) {
    if (options.endpoints.length === 0) throw new RangeError("Expected at least one endpoint");
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#options = options;
    const max = options.maxConcurrent ?? DEFAULT_CONCURRENT;
    this.#endpoints = shared ?? options.endpoints.map((endpoint) => new TrackedEndpoint(deps, endpoint, max));
  }

  /** Name of the chain in faults. */
  get chain(): string {
    return this.#options.chain;
  }

  /** Hosts in order of preference. */
  get hosts(): readonly string[] {
    return this.#endpoints.map(({ endpoint }) => endpoint.host);
  }

  /** Maximum number of calls in one request of the first endpoint, as far as it has refused more. */
  get batchLimit(): number {
    return this.#endpoints[0]?.batchLimit ?? Infinity;
  }

  /** Host of the endpoint that would be used first now. */
  firstHost(calls: readonly RpcCall[]): string {
    const next = new EndpointRound(this.#endpoints, calls).next();
    const [preferred = ""] = this.hosts;
    return next.kind === "ask" ? next.endpoint.endpoint.host : preferred;
  }

  /** One set per endpoint, in order of preference, for reads that compare endpoints; health is shared. */
  each(): readonly RpcEndpointSet[] {
    return this.#endpoints.map((tracked) =>
      new RpcEndpointSet(this.#deps, { ...this.#options, endpoints: [tracked.endpoint] }, [tracked])
    );
  }

  /** Returns the result of one call. @throws {RpcFault} */
  async request(call: RpcCall, conditions: BatchConditions): Promise<Json> {
    const [answer] = await this.batch([call], conditions);
    if (answer === undefined) throw new Error("A call without an answer");
    if (answer.kind === "fault") throw answer.fault;
    return answer.result;
  }

  /**
   * Returns the answers to all calls, in their order, all from one endpoint: one HTTP request unless the endpoint
   * does not support (such) batches. Single calls may have failed: their answers are faults.
   * @throws {RpcFault} when no endpoint gave usable answers; it names each host with its code.
   */
  async batch(calls: readonly RpcCall[], conditions: BatchConditions): Promise<readonly RpcAnswer[]> {
    const round = new EndpointRound(this.#endpoints, calls);
    let waitedMs = 0;
    while (true) {
      conditions.signal.throwIfAborted();
      const next = round.next();
      switch (next.kind) {
        case "ask": {
          const timeoutMs = conditions.timeoutMs ?? (round.hasReady() ? PATIENCE_MS : undefined);
          const isGood = await this.#callEndpoint(next.endpoint, calls, { ...conditions, timeoutMs }, round);
          if (isGood) return round.best();
          break;
        }
        case "await":
          await orAbort(next.settled, conditions.signal);
          break;
        case "pause": {
          const isTooLong = next.isThrottled
            ? waitedMs + next.leftMs > MAX_THROTTLED_WAIT_MS
            : waitedMs > 0 || next.leftMs > MAX_WAIT_MS;
          if (isTooLong) return round.bestOr(() => this.#allFailed(round, calls));
          waitedMs += next.leftMs;
          await this.#clock.sleep(next.leftMs, conditions.signal);
          break;
        }
        case "end":
          return round.bestOr(() => this.#allFailed(round, calls));
      }
    }
  }

  /** Calls every endpoint regardless of its health, for start-up checks. Faults are part of the result. */
  async callEach(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly EndpointReport[]> {
    return await Promise.all(this.#endpoints.map(async (tracked): Promise<EndpointReport> => {
      const { host } = tracked.endpoint;
      try {
        const answers = await tracked.use(
          () => this.#send(tracked, calls, { ...conditions, isPatient: false }),
          conditions.signal,
        );
        return { host, kind: "answers", answers };
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        tracked.noteFault(fault);
        return { host, kind: "fault", fault };
      }
    }));
  }

  /** Calls one endpoint and records its answers. True when no other endpoint can do better. */
  async #callEndpoint(
    tracked: TrackedEndpoint,
    calls: readonly RpcCall[],
    conditions: BatchConditions,
    round: EndpointRound,
  ): Promise<boolean> {
    try {
      const answers = await tracked.use(
        () => this.#sendVerified(tracked, calls, { ...conditions, isPatient: !round.hasReady() }),
        conditions.signal,
      );
      const place = this.#place(tracked.endpoint.host, calls);
      const objection = await conditions.accept?.(answers, place);
      if (objection !== undefined) throw objection;
      return this.#file(tracked, answers, round);
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      conditions.onFault?.(fault, tracked.endpoint.host);
      if (classifyFault(fault.code) === "request") throw fault;
      tracked.noteFault(fault);
      round.fail(tracked, fault);
      return false;
    }
  }

  #file(tracked: TrackedEndpoint, answers: readonly RpcAnswer[], round: EndpointRound): boolean {
    const faults = answers.flatMap((answer) => answer.kind === "fault" ? [answer.fault] : []);
    const own = faults.find((fault) => classifyFault(fault.code) === "endpoint");
    if (own === undefined) tracked.noteSuccess();
    else tracked.noteFault(own);
    for (const fault of faults) {
      if (classifyFault(fault.code) === "capability") tracked.noteFault(fault);
    }
    const bad = faults.filter((fault) => classifyFault(fault.code) !== "request");
    round.answer(tracked, answers, bad);
    return bad.length === 0;
  }

  /** Sends the calls, preceded by the identity call until the endpoint is known to serve the right chain. */
  async #sendVerified(
    tracked: TrackedEndpoint,
    calls: readonly RpcCall[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const { identity } = this.#options;
    if (identity === undefined || tracked.isVerified) return await this.#send(tracked, calls, conditions);
    const [first, ...answers] = await this.#send(tracked, [identity.call, ...calls], conditions);
    if (first?.kind === "result") {
      if (!identity.isExpected(first.result)) {
        const place = this.#place(tracked.endpoint.host, [identity.call]);
        const detail = `the endpoint serves another chain: ${String(first.result).slice(0, 80)}`;
        throw new RpcFault("wrong_chain", reactionTo("wrong_chain"), place, { detail });
      }
      tracked.isVerified = true;
    }
    return answers;
  }

  /** Sends the calls in as few requests as the endpoint allows, and learns that limit. */
  async #send(
    tracked: TrackedEndpoint,
    calls: readonly RpcCall[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    if (calls.length > tracked.batchLimit) return await this.#sendInParts(tracked, calls, conditions);
    try {
      const answers = await sendPatiently(this.#clock, tracked, calls, conditions);
      return await this.#resendTooLarge(tracked, calls, answers, conditions);
    } catch (fault) {
      if (!(fault instanceof RpcFault) || calls.length === 1) throw fault;
      if (fault.where.method === BATCH_METHOD) tracked.noteFault(fault);
      else if (fault.code === "too_large") tracked.noteBatchTooLarge(calls.length);
      else throw fault;
      return await this.#sendInParts(tracked, calls, conditions);
    }
  }

  async #sendInParts(
    tracked: TrackedEndpoint,
    calls: readonly RpcCall[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const size = Math.min(tracked.batchLimit, calls.length);
    const { signal } = conditions;
    const answers = await mapLimited(
      partsOf(calls, size),
      { max: PARTS_AT_ONCE, signal },
      (part, partSignal) => this.#send(tracked, part, { ...conditions, signal: partSignal }),
    );
    return answers.flat();
  }

  /** Some nodes truncate a batch when its answer grows too large: truncated calls are sent again in halves. */
  async #resendTooLarge(
    tracked: TrackedEndpoint,
    calls: readonly RpcCall[],
    answers: readonly RpcAnswer[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const cut = answers.flatMap((answer, index) => isTooLarge(answer) ? [index] : []);
    if (cut.length === 0 || calls.length === 1) return answers;
    if (cut.length === calls.length) tracked.noteBatchTooLarge(calls.length);
    const half = Math.ceil(cut.length / 2);
    const again: RpcAnswer[] = [];
    for (const part of [cut.slice(0, half), cut.slice(half)]) {
      const partCalls = part.flatMap((index) => calls[index] ?? []);
      if (partCalls.length > 0) again.push(...await this.#send(tracked, partCalls, conditions));
    }
    return answers.map((answer, index) => isTooLarge(answer) ? again[cut.indexOf(index)] ?? answer : answer);
  }

  #place(endpointHost: string, calls: readonly RpcCall[]): FaultPlace {
    return { chain: this.#options.chain, endpointHost, method: formatMethods(calls) };
  }

  /** One fault for all endpoints: the code of the most preferred one, and the fault of each in the text. */
  #allFailed(round: EndpointRound, calls: readonly RpcCall[]): RpcFault {
    const faults = this.#endpoints.flatMap((tracked) => round.faultOf(tracked) ?? tracked.lastFault ?? []);
    const [first] = faults;
    if (first === undefined) throw new Error("No endpoint failed, and none answered");
    const [only] = this.#endpoints;
    if (this.#endpoints.length === 1 && only !== undefined && round.faultOf(only) !== undefined) return first;
    const waits = this.#endpoints.map((tracked) => tracked.availability())
      .map((state) => state.kind === "cooling" ? state.leftMs : 0);
    return new RpcFault(first.code, reactionTo(first.code), this.#place(this.hosts.join(", "), calls), {
      detail: faults.map((fault) => `${fault.where.endpointHost}: ${fault.code}`).join("; "),
      data: first.data,
      retryAfterMs: Math.min(...waits) || undefined,
      cause: first,
    });
  }
}

function isTooLarge(answer: RpcAnswer): boolean {
  return answer.kind === "fault" && answer.fault.code === "too_large";
}

/** Next step for a batch of calls. */
type RoundStep =
  | { readonly kind: "ask"; readonly endpoint: TrackedEndpoint }
  | { readonly kind: "await"; readonly settled: Promise<void> }
  /** `isThrottled`: the endpoint is healthy but limits the rate. */
  | { readonly kind: "pause"; readonly leftMs: number; readonly isThrottled: boolean }
  | { readonly kind: "end" };

/** One batch of calls that goes from endpoint to endpoint; each is called at most once. */
class EndpointRound {
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
