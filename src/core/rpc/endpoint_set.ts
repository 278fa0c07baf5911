/**
 * Endpoint set of one chain: endpoints are used in the order of preference, the next one only when an earlier one
 * fails, is behind or lacks a capability. Independent of the meaning of the calls. Start reading at
 * {@link RpcEndpointSet}.
 */
import { orAbort } from "../runtime/linked_abort.ts";
import type { CallConditions, FaultPlace, RpcAnswer, RpcCall, RpcEndpoint } from "./call.ts";
import { formatMethods, RpcFault, scopeOf } from "./call.ts";
import {
  EndpointLine,
  type EndpointLineDeps,
  type EndpointLineOptions,
  MAX_THROTTLED_WAIT_MS,
} from "./endpoint_line.ts";
import { findHead, findLag, HEAD_EVERY_MS, type HeadQuery, nextReading } from "./head_watch.ts";

/** Maximum wait for a paused endpoint when there is no other; longer pauses fail at once. */
const MAX_WAIT_MS = 2000;
/** Maximum wait for an answer while another endpoint is ready, unless the caller sets a timeout. */
const PATIENCE_MS = 10_000;

/** Options of an endpoint set. */
export interface RpcEndpointSetOptions extends EndpointLineOptions {
  /** In order of preference, at least one. */
  readonly endpoints: readonly RpcEndpoint[];
  /** How heads are read and compared; absent: they are not, and no endpoint counts as behind. */
  readonly head?: HeadQuery | undefined;
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

/** Endpoint set of one chain, with failover. */
export class RpcEndpointSet {
  readonly #deps: EndpointLineDeps;
  readonly #options: RpcEndpointSetOptions;
  readonly #members: readonly EndpointLine[];
  /** Endpoints whose heads are compared: those of the set that this one is a part of. */
  readonly #all: readonly EndpointLine[];

  /**
   * @param part an endpoint of another set whose state this one shares, and all of that set
   * @throws {RangeError} without endpoints.
   */
  constructor(
    deps: EndpointLineDeps,
    options: RpcEndpointSetOptions,
    part?: { readonly member: EndpointLine; readonly all: readonly EndpointLine[] },
  ) {
    if (options.endpoints.length === 0) throw new RangeError("Expected at least one endpoint");
    this.#deps = deps;
    this.#options = options;
    this.#members = part === undefined
      ? options.endpoints.map((endpoint) => new EndpointLine(deps, endpoint, options))
      : [part.member];
    this.#all = part?.all ?? this.#members;
  }

  /** Name of the chain in faults. */
  get chain(): string {
    return this.#options.chain;
  }

  /** Hosts in order of preference. */
  get hosts(): readonly string[] {
    return this.#members.map(({ host }) => host);
  }

  /** Maximum number of calls in one request of the first endpoint, as far as it has refused more. */
  get batchLimit(): number {
    return this.#members[0]?.batchLimit ?? Infinity;
  }

  /** Host of the endpoint that would be used first now. */
  firstHost(calls: readonly RpcCall[]): string {
    const next = new EndpointRound(this.#members, calls).next();
    const [preferred = ""] = this.hosts;
    return next.kind === "ask" ? next.member.host : preferred;
  }

  /** One set per endpoint, in the order in which they would be used, for reads that compare endpoints; state is shared. */
  each(): readonly RpcEndpointSet[] {
    return inOrder(this.#members, []).map((member) =>
      new RpcEndpointSet(this.#deps, this.#options, { member, all: this.#all })
    );
  }

  /**
   * Returns the answers to all calls, in their order, all from one endpoint: one HTTP request unless the endpoint
   * does not support (such) batches. Single calls may have failed: their answers are faults.
   * @throws {RpcFault} when no endpoint gave usable answers; it names each host with its code.
   */
  async batch(calls: readonly RpcCall[], conditions: BatchConditions): Promise<readonly RpcAnswer[]> {
    this.#askHeads(conditions.signal);
    const round = new EndpointRound(this.#members, calls);
    let waitedMs = 0;
    for (;;) {
      conditions.signal.throwIfAborted();
      const next = round.next();
      if (next.kind === "ask") {
        const timeoutMs = conditions.timeoutMs ?? (round.hasReady() ? PATIENCE_MS : undefined);
        const good = await this.#callEndpoint(next.member, calls, { ...conditions, timeoutMs }, round);
        if (good !== undefined) return good;
      } else if (next.kind === "await") await orAbort(next.settled, conditions.signal);
      else {
        const isTooLong = next.isThrottled
          ? waitedMs + next.leftMs > MAX_THROTTLED_WAIT_MS
          : waitedMs > 0 || next.leftMs > MAX_WAIT_MS;
        if (isTooLong && round.best !== undefined) return round.best.answers;
        if (isTooLong) throw this.#allFailed(round, calls);
        waitedMs += next.leftMs;
        await this.#deps.clock.sleep(next.leftMs, conditions.signal);
      }
    }
  }

  /**
   * Calls the first endpoint regardless of its state, for checks of a set of one. Its head is asked for along with it: one
   * that is behind is used last from the start on.
   * @throws {RpcFault}
   */
  async probe(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const { head } = this.#options;
    const asked = head === undefined || this.#all.length < 2 ? calls : [...calls, head.call];
    const [member] = this.#members;
    if (member === undefined) throw new Error("A set without an endpoint");
    const { signal } = conditions;
    try {
      const answers = await member.use(() => member.send(asked, { ...conditions, isPatient: false }), signal);
      this.#noteHead(member, asked, answers);
      return answers.slice(0, calls.length);
    } catch (fault) {
      if (fault instanceof RpcFault) member.noteFault(fault);
      throw fault;
    }
  }

  /** Calls one endpoint and records its answers; returns them when no other endpoint can do better. */
  async #callEndpoint(
    member: EndpointLine,
    calls: readonly RpcCall[],
    conditions: BatchConditions,
    round: EndpointRound,
  ): Promise<readonly RpcAnswer[] | undefined> {
    try {
      const answers = await member.use(
        () => member.sendVerified(calls, { ...conditions, isPatient: !round.hasReady() }),
        conditions.signal,
      );
      const objection = await conditions.accept?.(answers, this.#place(calls, member.host));
      if (objection !== undefined) throw objection;
      this.#noteHead(member, calls, answers);
      const bad = this.#file(member, answers);
      round.answer(member, answers, bad);
      return bad.length === 0 ? answers : undefined;
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      conditions.onFault?.(fault, member.host);
      if (scopeOf(fault) === "request") throw fault;
      member.noteFault(fault);
      round.fail(member, fault);
      return undefined;
    }
  }

  /** Records what the answers say of the endpoint; returns the faults that another endpoint may not have. */
  #file(member: EndpointLine, answers: readonly RpcAnswer[]): readonly RpcFault[] {
    const faults = answers.flatMap((answer) => answer.kind === "fault" ? [answer.fault] : []);
    const own = faults.filter((fault) => scopeOf(fault) === "endpoint");
    // An internal error may be of the one call; one that answers to nothing is down.
    const isPartial = own.length < answers.length || answers.length === 1;
    const worst = own.find(({ code }) => !isPartial || code !== "server_error");
    if (worst !== undefined) member.noteFault(worst);
    else if (own.length < answers.length) member.noteSuccess();
    for (const fault of faults) {
      if (scopeOf(fault) === "capability") member.noteFault(fault);
    }
    return faults.filter((fault) => scopeOf(fault) !== "request");
  }

  /** Asks endpoints for their heads that were not asked for some time; the questions end by themselves. */
  #askHeads(signal: AbortSignal): void {
    const { head } = this.#options;
    if (head === undefined || this.#all.length < 2) return;
    const nowMs = this.#deps.clock.now();
    for (const member of this.#all) {
      const isDue = nowMs - member.headAskedMs >= HEAD_EVERY_MS;
      if (!isDue || member.availability().kind !== "ready") continue;
      member.headAskedMs = nowMs;
      void this.#askHead(member, head, signal);
    }
  }

  async #askHead(member: EndpointLine, { call }: HeadQuery, signal: AbortSignal): Promise<void> {
    member.isVerified = false;
    try {
      const answers = await member.use(
        () => member.sendVerified([call], { signal, timeoutMs: PATIENCE_MS, isPatient: false }),
        signal,
      );
      this.#noteHead(member, [call], answers);
      if (answers.every(({ kind }) => kind === "result")) member.noteSuccess();
    } catch (fault) {
      if (fault instanceof RpcFault) member.noteFault(fault);
      else if (!signal.aborted) throw fault;
    }
  }

  /** Notes the head among the answers, and compares it with those of the other endpoints. */
  #noteHead(member: EndpointLine, calls: readonly RpcCall[], answers: readonly RpcAnswer[]): void {
    const { head, identity } = this.#options;
    const named = head && findHead(head, calls, answers);
    const id = answers[calls.findIndex(({ method }) => method === identity?.call.method)];
    const isForeign = id?.kind === "result" && identity?.isExpected(id.result) === false;
    if (named === undefined || isForeign) return;
    const nowMs = this.#deps.clock.now();
    member.head = nextReading(named, member.head, nowMs);
    member.headAskedMs = nowMs;
    for (const each of this.#all) {
      if (each.head === undefined) continue;
      const others = this.#all.flatMap((other) => other === each ? [] : other.head ?? []);
      each.noteLag(findLag(each.head, others, each.isBehind));
    }
  }

  #place(calls: readonly RpcCall[], endpointHost = this.hosts.join(", ")): FaultPlace {
    return { chain: this.chain, endpointHost, method: formatMethods(calls) };
  }

  /** One fault for all endpoints: the code of the most preferred one, and that of each in the text; of one all its words. */
  #allFailed(round: EndpointRound, calls: readonly RpcCall[]): RpcFault {
    const faults = this.#members.flatMap((each) => round.faults.get(each) ?? each.lastFault ?? []);
    const [first] = faults;
    if (first === undefined) throw new Error("No endpoint failed, and none answered");
    if (this.#members.length === 1 && round.faults.size > 0) return first;
    const waits = this.#members.map((member) => member.availability())
      .map((state) => state.kind === "cooling" ? state.leftMs : 0);
    return new RpcFault(first.code, this.#place(calls), {
      detail: this.#members.length === 1
        ? first.detail
        : faults.map((fault) => `${fault.where.endpointHost}: ${fault.code}`).join("; "),
      data: first.data,
      retryAfterMs: Math.min(...waits) || undefined,
      cause: first,
    });
  }
}

/** Endpoints in the order in which they are asked: ready ones first, of them the able ones, and of these those not behind. */
function inOrder(members: readonly EndpointLine[], calls: readonly RpcCall[]): readonly EndpointLine[] {
  const rank = (member: EndpointLine): number =>
    (member.availability().kind === "ready" ? 0 : 3) +
    (member.isUnsupported(calls) ? 2 : member.isBehind ? 1 : 0);
  return members.toSorted((a, b) => rank(a) - rank(b));
}

/** Next step for a batch of calls. */
type RoundStep =
  | { readonly kind: "ask"; readonly member: EndpointLine }
  | { readonly kind: "await"; readonly settled: Promise<void> }
  /** `isThrottled`: the endpoint is healthy but limits the rate. Without end: none is left to be asked. */
  | { readonly kind: "pause"; readonly leftMs: number; readonly isThrottled: boolean };

/** One batch of calls that goes from endpoint to endpoint; each is called once, or until it names the right chain. */
class EndpointRound {
  readonly #open: EndpointLine[];
  /** Fault of each endpoint that was called and failed. */
  readonly faults = new Map<EndpointLine, RpcFault>();
  /** Answers with the fewest faults so far. */
  best: { readonly answers: readonly RpcAnswer[]; readonly bad: number } | undefined;

  constructor(members: readonly EndpointLine[], calls: readonly RpcCall[]) {
    const isAble = members.some((member) => !member.isUnsupported(calls));
    // If no endpoint supports it, the most preferred one may report that again; the others need not be called.
    this.#open = isAble ? [...inOrder(members, calls)] : members.slice(0, 1);
  }

  /** Next step. */
  next(): RoundStep {
    const states = this.#open.map((member) => ({ member, state: member.availability() }));
    const ready = states.find(({ state }) => state.kind === "ready");
    if (ready !== undefined) {
      this.#open.splice(this.#open.indexOf(ready.member), 1);
      return { kind: "ask", member: ready.member };
    }
    for (const { state } of states) {
      if (state.kind === "probing") return { kind: "await", settled: state.settled };
    }
    const waits = states.flatMap(({ member, state }) =>
      state.kind === "cooling"
        ? [{ leftMs: state.leftMs, isThrottled: member.lastFault?.code === "throttled" }]
        : []
    );
    const [soonest] = this.best === undefined ? waits.sort((a, b) => a.leftMs - b.leftMs) : [];
    return { kind: "pause", ...soonest ?? { leftMs: Infinity, isThrottled: false } };
  }

  /** True when another endpoint can be called at once. */
  hasReady(): boolean {
    return this.#open.some((member) => member.availability().kind === "ready");
  }

  /** Records answers of which some are `bad`: another endpoint may do better. */
  answer(member: EndpointLine, answers: readonly RpcAnswer[], bad: readonly RpcFault[]): void {
    if (this.best === undefined || bad.length < this.best.bad) this.best = { answers, bad: bad.length };
    const [first] = bad;
    if (first !== undefined) this.faults.set(member, first);
  }

  /** Records that the endpoint gave no answers. It may answer the same request, after the others. */
  fail(member: EndpointLine, fault: RpcFault): void {
    this.faults.set(member, fault);
    if (member.isStray(fault)) this.#open.push(member);
  }
}
