/**
 * Endpoint set of one chain: endpoints are used in the order of preference, the next one only when an earlier one
 * fails, is behind or lacks a capability. Independent of the meaning of the calls. Start reading at
 * {@link RpcEndpointSet}.
 */
import type { CallConditions, FaultPlace, RpcAnswer, RpcCall, RpcEndpoint } from "./call.ts";
import { formatMethods, RpcFault, scopeOf } from "./call.ts";
import {
  EndpointLine,
  type EndpointLineDeps,
  type EndpointLineOptions,
  type SendConditions,
} from "./endpoint_line.ts";
import { byPreference, EndpointRound } from "./endpoint_round.ts";
import { findHead, findLag, HEAD_EVERY_MS, type HeadQuery, nextReading } from "./head_watch.ts";

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

  /** True when every endpoint recently lacked the method. */
  lacks(method: string): boolean {
    return this.#members.every((member) => member.isUnsupported([{ method }]));
  }

  /** Host of the endpoint that would be used first now. */
  firstHost(calls: readonly RpcCall[]): string {
    const [preferred = ""] = this.hosts;
    return byPreference(this.#members, calls).find((member) => member.availability().kind === "ready")
      ?.host ??
      preferred;
  }

  /** One set per endpoint, in the order in which they would be used, for reads that compare endpoints; state is shared. */
  each(): readonly RpcEndpointSet[] {
    return byPreference(this.#members).map((member) =>
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
    const round = new EndpointRound(this.#deps.clock, this.#members, calls);
    // Answers with the fewest faults so far.
    let best: { readonly answers: readonly RpcAnswer[]; readonly bad: number } | undefined;
    for (;;) {
      const member = round.take();
      if (member === undefined) {
        if (await round.wait(conditions.signal, best === undefined)) continue;
        if (best !== undefined) return best.answers;
        throw round.allFailed({ chain: this.chain, method: formatMethods(calls) });
      }
      const timeoutMs = conditions.timeoutMs ?? (round.hasReady() ? PATIENCE_MS : undefined);
      const asked = { ...conditions, timeoutMs, isPatient: !round.hasReady() };
      try {
        const answers = await this.#callEndpoint(member, calls, asked);
        const bad = this.#file(member, answers);
        const [first] = bad;
        if (first === undefined) return answers;
        if (best === undefined || bad.length < best.bad) best = { answers, bad: bad.length };
        round.fail(member, first);
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        conditions.onFault?.(fault, member.host);
        if (scopeOf(fault) === "request") throw fault;
        member.noteFault(fault);
        round.fail(member, fault, member.isStray(fault));
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
      const whole = wholeFault(answers);
      if (whole !== undefined) throw whole;
      this.#noteHead(member, asked, answers);
      return answers.slice(0, calls.length);
    } catch (fault) {
      if (fault instanceof RpcFault) member.noteFault(fault);
      throw fault;
    }
  }

  /** Calls one endpoint. @throws {RpcFault} also when nothing was answered, and the caller's objection */
  async #callEndpoint(
    member: EndpointLine,
    calls: readonly RpcCall[],
    conditions: BatchConditions & SendConditions,
  ): Promise<readonly RpcAnswer[]> {
    const answers = await member.use(() => member.sendVerified(calls, conditions), conditions.signal);
    const fault = wholeFault(answers) ??
      await conditions.accept?.(answers, {
        chain: this.chain,
        endpointHost: member.host,
        method: formatMethods(calls),
      });
    if (fault !== undefined) throw fault;
    this.#noteHead(member, calls, answers);
    return answers;
  }

  /** Records what the answers say of the endpoint; returns the faults that another endpoint may not have. */
  #file(member: EndpointLine, answers: readonly RpcAnswer[]): readonly RpcFault[] {
    const faults = answers.flatMap((answer) => answer.kind === "fault" ? [answer.fault] : []);
    // An internal error may be of the one call.
    const own = faults.find((fault) => scopeOf(fault) === "endpoint" && fault.code !== "server_error");
    if (own !== undefined) member.noteFault(own);
    else if (faults.filter((fault) => scopeOf(fault) === "endpoint").length < answers.length) {
      member.noteSuccess();
    }
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
}

/** Fault of an endpoint that answered nothing; `undefined`: it did. An internal error may be of a single call. */
function wholeFault(answers: readonly RpcAnswer[]): RpcFault | undefined {
  const [first] = answers;
  const isWhole = answers.every((answer) =>
    answer.kind === "fault" && scopeOf(answer.fault) === "endpoint" &&
    (answers.length > 1 || answer.fault.code !== "server_error")
  );
  return isWhole && first?.kind === "fault" ? first.fault : undefined;
}
