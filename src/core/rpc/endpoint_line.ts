/**
 * The way to one endpoint: calls are joined, counted, observed and sent here, and nowhere else; throttled ones again
 * after a pause, batches in the size that the endpoint takes. Start reading at {@link EndpointLine.send}.
 */
import type { Clock, Randomness } from "../runtime/clock.ts";
import { mapLimited } from "../runtime/limit.ts";
import { partsOf } from "../runtime/slices.ts";
import type { CallConditions, FaultPlace, RpcAnswer, RpcCall, RpcEndpoint } from "./call.ts";
import { BATCH_METHOD, formatMethods, RpcFault, type RpcFaultCode, scopeOf } from "./call.ts";
import { MAX_THROTTLED_WAIT_MS, TrackedEndpoint } from "./endpoint.ts";
import type { HeadReading } from "./head_watch.ts";
import type { Json } from "./json.ts";
import {
  type EndpointState,
  HeightsInAnswers,
  type ObservedPlace,
  observeRequest,
  type RpcObserver,
} from "./observed_endpoint.ts";
import { type BudgetOf, describeBudget } from "./request_budget.ts";

const DEFAULT_CONCURRENT = 16;
/** Concurrent parts of a batch; endpoints that reject batches have narrow limits. */
const PARTS_AT_ONCE = 4;

/** Sends several calls of a request as one where the endpoint runs that. */
export interface JoinedCalls {
  /** Answers in the order of the calls. @param send sends calls in one request */
  send(
    calls: readonly RpcCall[],
    send: (calls: readonly RpcCall[]) => Promise<readonly RpcAnswer[]>,
  ): Promise<readonly RpcAnswer[]>;
}

/** Dependencies of an endpoint. */
export interface EndpointLineDeps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  /** Budgets of chains; absent: none is set. */
  readonly budgetOf?: BudgetOf | undefined;
}

/** What is common to the endpoints of a chain. */
export interface EndpointLineOptions {
  /** Name of the chain in faults. */
  readonly chain: string;
  /** Maximum number of concurrent HTTP requests to one endpoint. Default 16. */
  readonly maxConcurrent?: number | undefined;
  /**
   * Call that every endpoint of the chain answers, with the expected result. It is sent along with the first request to
   * an endpoint, the first after a pause, and each question for the head; and when an endpoint refuses something, to find
   * out whether it refuses everything.
   */
  readonly identity?: { readonly call: RpcCall; readonly isExpected: (result: Json) => boolean } | undefined;
  /** Creates what joins the calls of requests to an endpoint; absent: they are not joined. */
  readonly joining?: ((endpointHost: string) => JoinedCalls) | undefined;
  /** Called when an endpoint comes into another state. */
  readonly onState?:
    | ((endpointHost: string, state: EndpointState, before: EndpointState["kind"]) => void)
    | undefined;
}

/** Options of sending calls to one endpoint. */
export interface SendConditions extends CallConditions {
  /** True: no other endpoint is ready, so a throttling endpoint is worth waiting for. */
  readonly isPatient: boolean;
}

/** See the head of the file. */
export class EndpointLine extends TrackedEndpoint {
  /** Newest head that it named, and when it was last asked for one, Unix milliseconds. */
  head: HeadReading | undefined;
  headAskedMs: number;
  readonly #deps: EndpointLineDeps;
  readonly #options: EndpointLineOptions;
  readonly #place: ObservedPlace;
  readonly #heights: HeightsInAnswers;
  readonly #joined: JoinedCalls | undefined;

  constructor(deps: EndpointLineDeps, endpoint: RpcEndpoint, options: EndpointLineOptions) {
    const { chain, joining, maxConcurrent = DEFAULT_CONCURRENT, onState } = options;
    super(deps, endpoint, maxConcurrent);
    this.#deps = deps;
    this.#options = options;
    this.onState = (state, before) => onState?.(endpoint.host, state, before);
    this.headAskedMs = deps.clock.now();
    this.#place = { chain, endpointHost: endpoint.host, readState: () => this.state };
    this.#heights = new HeightsInAnswers(chain);
    this.#joined = joining?.(endpoint.host);
  }

  /**
   * Sends the calls, preceded by the identity call until the endpoint is known to serve the right chain. @throws
   * {RpcFault}
   */
  async sendVerified(calls: readonly RpcCall[], conditions: SendConditions): Promise<readonly RpcAnswer[]> {
    const { identity } = this.#options;
    if (identity === undefined || this.isVerified) return await this.send(calls, conditions);
    const [first, ...answers] = await this.send([identity.call, ...calls], conditions);
    if (first?.kind === "result") {
      if (!identity.isExpected(first.result)) {
        const detail = `the endpoint serves another chain: ${String(first.result).slice(0, 80)}`;
        throw this.#fault("wrong_chain", this.#placeOf([identity.call]), { detail });
      }
      this.isVerified = true;
    }
    return answers;
  }

  /** True for a fault of {@link sendVerified} that another try may not meet: a balancer sent the request elsewhere. */
  isStray({ code, where }: RpcFault): boolean {
    return code === "wrong_chain" && where.method === this.#options.identity?.call.method &&
      this.state.kind !== "wrong_chain";
  }

  /**
   * Sends the calls in as few requests as the endpoint allows, and learns that limit. A fault that may be of the calls is
   * the answer to each. @throws {RpcFault} of the endpoint
   */
  async send(calls: readonly RpcCall[], conditions: SendConditions): Promise<readonly RpcAnswer[]> {
    if (calls.length > this.batchLimit) return await this.#sendInParts(calls, conditions);
    const answers = await this.#sendPatiently(calls, conditions);
    const complete = await this.#resendTooLarge(calls, answers, conditions);
    return await this.#judgeDenials(calls, complete, conditions);
  }

  /** Sends the calls in one request, joined where the endpoint runs joined calls. */
  async #exchange(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const { chain } = this.#options;
    const exchange = async (some: readonly RpcCall[]): Promise<readonly RpcAnswer[]> => {
      const leftMs = await this.#deps.budgetOf?.(chain)?.take(some.length, conditions.signal);
      if (leftMs === undefined) return await this.#sendObserved(some, conditions);
      const detail = describeBudget(leftMs);
      throw this.#fault("over_budget", this.#placeOf(some), { detail, retryAfterMs: leftMs });
    };
    return await (this.#joined?.send(calls, exchange) ?? exchange(calls));
  }

  #sendObserved(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    return observeRequest(
      this.#deps,
      { place: this.#place, calls },
      () => this.endpoint.send(calls, conditions),
      (answers) => ({
        outcomes: answers.map((answer) => answer.kind === "fault" ? answer.fault.code : "ok"),
        ...this.#heights.find(calls, answers),
      }),
    );
  }

  /** Sends the calls as one request. If `isPatient`, throttled calls are sent again after the endpoint's pause. */
  async #sendPatiently(
    calls: readonly RpcCall[],
    conditions: SendConditions,
    waitedMs = 0,
  ): Promise<readonly RpcAnswer[]> {
    const answers = await this.#settle(calls, conditions);
    const throttled = answers.find((answer) => hasCode(answer, THROTTLED));
    if (throttled?.kind !== "fault") return answers;
    if (!answers.every((answer) => hasCode(answer, THROTTLED))) this.noteProgress();
    // Other callers that are about to use the endpoint wait as well.
    this.noteFault(throttled.fault);
    const state = this.availability();
    const leftMs = state.kind === "cooling" ? state.leftMs : 0;
    if (!conditions.isPatient || waitedMs + leftMs > MAX_THROTTLED_WAIT_MS) return answers;
    await this.#deps.clock.sleep(leftMs, conditions.signal);
    return await resend(
      calls,
      answers,
      THROTTLED,
      (some) => this.#sendPatiently(some, conditions, waitedMs + leftMs),
    );
  }

  /** Answers to one request; a fault of the whole that may be of the calls is the answer to each. */
  async #settle(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    try {
      return await this.#exchange(calls, conditions);
    } catch (fault) {
      const isOfCalls = fault instanceof RpcFault &&
        (OF_CALLS.has(fault.code) || fault.where.method === BATCH_METHOD);
      if (!isOfCalls) throw fault;
      return calls.map(() => ({ kind: "fault", fault }));
    }
  }

  async #sendInParts(calls: readonly RpcCall[], conditions: SendConditions): Promise<readonly RpcAnswer[]> {
    const size = Math.min(this.batchLimit, calls.length);
    const { signal } = conditions;
    const answers = await mapLimited(
      partsOf(calls, size),
      { max: PARTS_AT_ONCE, signal },
      (part, partSignal) => this.send(part, { ...conditions, signal: partSignal }),
    );
    return answers.flat();
  }

  /** Some nodes truncate a batch when its answer grows too large: truncated calls are sent again in halves. */
  async #resendTooLarge(
    calls: readonly RpcCall[],
    answers: readonly RpcAnswer[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    if (calls.length === 1) return answers;
    if (answers.every((answer) => hasCode(answer, TOO_LARGE))) this.noteBatchTooLarge(calls.length);
    return await resend(calls, answers, TOO_LARGE, async (cut) => {
      const again: RpcAnswer[] = [];
      for (const part of partsOf(cut, Math.ceil(cut.length / 2))) {
        again.push(...await this.send(part, conditions));
      }
      return again;
    });
  }

  /**
   * A method is missing, or a call refused, only when the endpoint answers another call at that moment: one of the same
   * request, or the identity call. @throws {RpcFault} `unauthorized` when it answers none, in whatever words.
   */
  async #judgeDenials(
    calls: readonly RpcCall[],
    answers: readonly RpcAnswer[],
    conditions: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const denied = answers.find((answer) => hasCode(answer, REFUSED));
    if (denied?.kind !== "fault") return answers;
    const { fault } = denied;
    const answersSome = answers.some((answer) =>
      answer.kind === "result" || scopeOf(answer.fault) === "request"
    );
    const isAnswering = answersSome || await this.#answersOther(calls, conditions);
    if (isAnswering === false) throw this.#fault("unauthorized", fault.where, fault);
    const isWhole = answers.every((answer) => answer.kind === "fault" && answer.fault === fault);
    if (isWhole && calls.length > 1) return await this.#sendSingly(calls, fault, conditions);
    if (isAnswering === undefined) return answers;
    return answers.map((answer) =>
      answer.kind === "fault" && hasCode(answer, DENIALS)
        ? { kind: "fault", fault: this.#fault("missing_method", answer.fault.where, answer.fault) }
        : answer
    );
  }

  /** Sends calls that were refused as one request: it was refused for being a batch, or for one of its methods. */
  async #sendSingly(
    calls: readonly RpcCall[],
    refusal: RpcFault,
    { signal, ...conditions }: SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const sendOne = (call: RpcCall, inner: AbortSignal): Promise<readonly RpcAnswer[]> =>
      this.send([call], { ...conditions, signal: inner });
    const answers = (await mapLimited(calls, { max: PARTS_AT_ONCE, signal }, sendOne)).flat();
    const denied = answers.filter((answer) => hasCode(answer, DENIALS)).length;
    if (denied === calls.length) throw this.#fault("unauthorized", refusal.where, refusal);
    if (denied === 0) {
      this.noteFault(this.#fault("missing_method", { ...refusal.where, method: BATCH_METHOD }, refusal));
    }
    return answers;
  }

  /** Whether the endpoint answers the identity call now; `undefined`: there is none. */
  async #answersOther(calls: readonly RpcCall[], conditions: SendConditions): Promise<boolean | undefined> {
    const { identity } = this.#options;
    if (identity === undefined) return undefined;
    if (calls.every(({ method }) => method === identity.call.method)) return false;
    const [answer] = await this.#settle([identity.call], conditions);
    if (answer?.kind !== "fault") return true;
    if (!REFUSED.has(answer.fault.code)) throw answer.fault;
    return false;
  }

  #placeOf(calls: readonly RpcCall[]): FaultPlace {
    return { chain: this.#options.chain, endpointHost: this.host, method: formatMethods(calls) };
  }

  #fault(
    code: RpcFaultCode,
    where: FaultPlace,
    { detail, retryAfterMs }: Partial<Pick<RpcFault, "detail" | "retryAfterMs">>,
  ): RpcFault {
    return new RpcFault(code, where, { detail, retryAfterMs });
  }
}

const TOO_LARGE: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["too_large"]);
const THROTTLED: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["throttled"]);
/** Refusals of a call that may be of the method, or of everything. */
const DENIALS: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>(["missing_method", "unauthorized"]);
/** These, and refusals in words that are not known. */
const REFUSED: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>([...DENIALS, "refused"]);
/** Faults of a whole request that fewer or other calls, or a later time, may not meet. */
const OF_CALLS: ReadonlySet<RpcFaultCode> = new Set<RpcFaultCode>([...REFUSED, "too_large", "throttled"]);

function hasCode(answer: RpcAnswer | undefined, codes: ReadonlySet<RpcFaultCode>): boolean {
  return answer?.kind === "fault" && codes.has(answer.fault.code);
}

/** Sends calls whose answers have one of the codes again, and puts the new answers in their places. */
async function resend(
  calls: readonly RpcCall[],
  answers: readonly RpcAnswer[],
  codes: ReadonlySet<RpcFaultCode>,
  send: (calls: readonly RpcCall[]) => Promise<readonly RpcAnswer[]>,
): Promise<readonly RpcAnswer[]> {
  const again = calls.filter((_, index) => hasCode(answers[index], codes));
  const found = again.length === 0 ? [] : [...await send(again)];
  return answers.map((answer) => hasCode(answer, codes) ? found.shift() ?? answer : answer);
}
