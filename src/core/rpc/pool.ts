/**
 * Several endpoints of one chain as one: asked in the order of preference, the next one only when an earlier one
 * fails or cannot. Knows nothing of what the calls mean. Start reading at {@link RpcPool}.
 */
import type { Clock } from "../runtime/clock.ts";
import { mapLimited } from "../runtime/limit.ts";
import type { Randomness } from "../runtime/randomness.ts";
import { orAbort } from "../runtime/retry.ts";
import {
  BATCH_METHOD,
  type CallConditions,
  methodsOf,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
} from "./call.ts";
import { classifyFault, PooledEndpoint } from "./endpoint_health.ts";
import { type FaultPlace, reactionTo, RpcFault } from "./fault.ts";
import type { Json } from "./json.ts";
import { MAX_THROTTLED_WAIT_MS, type SendConditions, sendPatiently } from "./patience.ts";
import { Round } from "./pool_round.ts";

/** Longest wait for an endpoint that is paused, when there is no other; longer pauses are faults at once. */
const MAX_WAIT_MS = 2000;
/** Longest wait for an answer while another endpoint is ready to give one, where the caller names no time. */
const PATIENCE_MS = 10_000;
const DEFAULT_CONCURRENT = 16;
/** Parts of a batch under way at once; endpoints that refuse batches have narrow limits. */
const PARTS_AT_ONCE = 4;

/** What a pool is made of. */
export interface RpcPoolOptions {
  /** Name of the chain in faults. */
  readonly chain: string;
  /** In order of preference, at least one. */
  readonly endpoints: readonly RpcEndpoint[];
  /** Most HTTP requests at once to one endpoint. Default 16. */
  readonly maxConcurrent?: number | undefined;
  /** Rides along with the first request to an endpoint (and the first after a pause) and must be as expected. */
  readonly identity?: { readonly call: RpcCall; readonly isExpected: (result: Json) => boolean } | undefined;
}

/** Conditions of a set of calls. */
export interface BatchConditions extends CallConditions {
  /**
   * Looks at the answers of one endpoint; a fault that it gives counts as the answer of the whole request, so that
   * the next endpoint is asked where that fault is a reason to (e.g. `lagging`, `malformed`).
   */
  readonly accept?: ((answers: readonly RpcAnswer[], place: FaultPlace) => RpcFault | undefined) | undefined;
  /** Told of each endpoint that failed, also when another one did better. */
  readonly onFault?: ((fault: RpcFault, endpointHost: string) => void) | undefined;
}

/** What one endpoint said when each was asked. */
export type EndpointReport =
  | { readonly host: string; readonly kind: "answers"; readonly answers: readonly RpcAnswer[] }
  | { readonly host: string; readonly kind: "fault"; readonly fault: RpcFault };

/** The endpoints of one chain. */
export class RpcPool {
  readonly #deps: { readonly clock: Clock; readonly randomness: Randomness };
  readonly #clock: Clock;
  readonly #options: RpcPoolOptions;
  readonly #endpoints: readonly PooledEndpoint[];

  /**
   * @param shared endpoints of another pool whose health this one shares
   * @throws {RangeError} without endpoints.
   */
  constructor(
    deps: { readonly clock: Clock; readonly randomness: Randomness },
    options: RpcPoolOptions,
    shared?: readonly PooledEndpoint[],
  ) {
    if (options.endpoints.length === 0) throw new RangeError("Expected at least one endpoint");
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#options = options;
    const max = options.maxConcurrent ?? DEFAULT_CONCURRENT;
    this.#endpoints = shared ?? options.endpoints.map((endpoint) => new PooledEndpoint(deps, endpoint, max));
  }

  /** Name of the chain in faults. */
  get chain(): string {
    return this.#options.chain;
  }

  /** Hosts in order of preference. */
  get hosts(): readonly string[] {
    return this.#endpoints.map(({ endpoint }) => endpoint.host);
  }

  /** Host of the endpoint that would be asked first now. */
  firstHost(calls: readonly RpcCall[]): string {
    const next = new Round(this.#endpoints, calls).next();
    const [preferred = ""] = this.hosts;
    return next.kind === "ask" ? next.endpoint.endpoint.host : preferred;
  }

  /** One pool for each endpoint, in order of preference, for reads that endpoints are compared by; health is shared. */
  each(): readonly RpcPool[] {
    return this.#endpoints.map((pooled) =>
      new RpcPool(this.#deps, { ...this.#options, endpoints: [pooled.endpoint] }, [pooled])
    );
  }

  /** The result of one call. @throws {RpcFault} */
  async request(call: RpcCall, conditions: BatchConditions): Promise<Json> {
    const [answer] = await this.batch([call], conditions);
    if (answer === undefined) throw new Error("A call without an answer");
    if (answer.kind === "fault") throw answer.fault;
    return answer.result;
  }

  /**
   * Answers to all calls, in their order, all from one endpoint: one HTTP request unless the endpoint takes no
   * (such) batches. Single calls may have failed: their answers are faults.
   * @throws {RpcFault} when no endpoint gave usable answers; it names each host with its code.
   */
  async batch(calls: readonly RpcCall[], conditions: BatchConditions): Promise<readonly RpcAnswer[]> {
    const round = new Round(this.#endpoints, calls);
    let waitedMs = 0;
    while (true) {
      conditions.signal.throwIfAborted();
      const next = round.next();
      switch (next.kind) {
        case "ask": {
          const timeoutMs = conditions.timeoutMs ?? (round.hasReady() ? PATIENCE_MS : undefined);
          const isGood = await this.#ask(next.endpoint, calls, { ...conditions, timeoutMs }, round);
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

  /** Asks every endpoint, whatever its health: for start-up checks. Faults are part of the result. */
  async askEach(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly EndpointReport[]> {
    return await Promise.all(this.#endpoints.map(async (pooled): Promise<EndpointReport> => {
      const { host } = pooled.endpoint;
      try {
        const answers = await pooled.use(
          () => this.#send(pooled, calls, { ...conditions, isPatient: false }),
          conditions.signal,
        );
        return { host, kind: "answers", answers };
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        pooled.noteFault(fault);
        return { host, kind: "fault", fault };
      }
    }));
  }

  /** Asks one endpoint and files what came back. True when the answers are as good as they can be. */
  async #ask(
    pooled: PooledEndpoint,
    calls: readonly RpcCall[],
    conditions: BatchConditions,
    round: Round,
  ): Promise<boolean> {
    try {
      const answers = await pooled.use(
        () => this.#sendVerified(pooled, calls, { ...conditions, isPatient: !round.hasReady() }),
        conditions.signal,
      );
      const place = this.#place(pooled.endpoint.host, calls);
      const objection = conditions.accept?.(answers, place);
      if (objection !== undefined) throw objection;
      return this.#file(pooled, answers, round);
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      conditions.onFault?.(fault, pooled.endpoint.host);
      if (classifyFault(fault.code) === "question") throw fault;
      pooled.noteFault(fault);
      round.fail(pooled, fault);
      return false;
    }
  }

  #file(pooled: PooledEndpoint, answers: readonly RpcAnswer[], round: Round): boolean {
    const faults = answers.flatMap((answer) => answer.kind === "fault" ? [answer.fault] : []);
    const own = faults.find((fault) => classifyFault(fault.code) === "endpoint");
    if (own === undefined) pooled.noteSuccess();
    else pooled.noteFault(own);
    for (const fault of faults) {
      if (classifyFault(fault.code) === "ability") pooled.noteFault(fault);
    }
    const bad = faults.filter((fault) => classifyFault(fault.code) !== "question");
    round.answer(pooled, answers, bad);
    return bad.length === 0;
  }

  /** Sends the calls, with the identity call in front until the endpoint is known to serve the right chain. */
  async #sendVerified(
    pooled: PooledEndpoint,
    calls: readonly RpcCall[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const { identity } = this.#options;
    if (identity === undefined || pooled.isVerified) return await this.#send(pooled, calls, conditions);
    const [first, ...answers] = await this.#send(pooled, [identity.call, ...calls], conditions);
    if (first?.kind === "result") {
      if (!identity.isExpected(first.result)) {
        const place = this.#place(pooled.endpoint.host, [identity.call]);
        const detail = `the endpoint serves another chain: ${String(first.result).slice(0, 80)}`;
        throw new RpcFault("wrong_chain", reactionTo("wrong_chain"), place, { detail });
      }
      pooled.isVerified = true;
    }
    return answers;
  }

  /** Sends the calls in as few requests as the endpoint allows, learning what it allows. */
  async #send(
    pooled: PooledEndpoint,
    calls: readonly RpcCall[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    if (calls.length > pooled.batchLimit) return await this.#sendInParts(pooled, calls, conditions);
    try {
      const answers = await sendPatiently(this.#clock, pooled, calls, conditions);
      return await this.#askTooLargeAgain(pooled, calls, answers, conditions);
    } catch (fault) {
      if (!(fault instanceof RpcFault) || calls.length === 1) throw fault;
      if (fault.where.method === BATCH_METHOD) pooled.noteFault(fault);
      else if (fault.code === "too_large") pooled.noteBatchTooLarge(calls.length);
      else throw fault;
      return await this.#sendInParts(pooled, calls, conditions);
    }
  }

  async #sendInParts(
    pooled: PooledEndpoint,
    calls: readonly RpcCall[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const size = Math.min(pooled.batchLimit, calls.length);
    const parts: (readonly RpcCall[])[] = [];
    for (let start = 0; start < calls.length; start += size) parts.push(calls.slice(start, start + size));
    const { signal } = conditions;
    const answers = await mapLimited(
      parts,
      PARTS_AT_ONCE,
      (part, partSignal) => this.#send(pooled, part, { ...conditions, signal: partSignal }),
      signal,
    );
    return answers.flat();
  }

  /** Some nodes cut a batch when its answer grows too large: what was cut is asked again in halves. */
  async #askTooLargeAgain(
    pooled: PooledEndpoint,
    calls: readonly RpcCall[],
    answers: readonly RpcAnswer[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const cut = answers.flatMap((answer, index) => isTooLarge(answer) ? [index] : []);
    if (cut.length === 0 || calls.length === 1) return answers;
    if (cut.length === calls.length) pooled.noteBatchTooLarge(calls.length);
    const half = Math.ceil(cut.length / 2);
    const again: RpcAnswer[] = [];
    for (const part of [cut.slice(0, half), cut.slice(half)]) {
      const partCalls = part.flatMap((index) => calls[index] ?? []);
      if (partCalls.length > 0) again.push(...await this.#send(pooled, partCalls, conditions));
    }
    return answers.map((answer, index) => isTooLarge(answer) ? again[cut.indexOf(index)] ?? answer : answer);
  }

  #place(endpointHost: string, calls: readonly RpcCall[]): FaultPlace {
    return { chain: this.#options.chain, endpointHost, method: methodsOf(calls) };
  }

  /** One fault for all: the code of the most preferred endpoint, and what each one said. */
  #allFailed(round: Round, calls: readonly RpcCall[]): RpcFault {
    const faults = this.#endpoints.flatMap((pooled) => round.faultOf(pooled) ?? pooled.lastFault ?? []);
    const [first] = faults;
    if (first === undefined) throw new Error("No endpoint failed, and none answered");
    const [only] = this.#endpoints;
    if (this.#endpoints.length === 1 && only !== undefined && round.faultOf(only) !== undefined) return first;
    const waits = this.#endpoints.map((pooled) => pooled.availability())
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
