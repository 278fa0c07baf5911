/**
 * Several calls of a request as one call, at endpoints that run it; at others each by itself. What is joined is said by
 * the caller; nothing here knows what the calls mean.
 */
import type { Clock } from "../runtime/clock.ts";
import { BLOCK_FAULTS, type RpcAnswer, type RpcCall, RpcFault } from "./call.ts";
import type { Json } from "./json.ts";

/** An endpoint that did not run a joined call is tried again after this time; providers change nodes. */
const REFUSED_TTL_MS = 10 * 60_000;

/** A call instead of several. */
export interface JoinedCall {
  readonly call: RpcCall;
  /** Places of those calls in their request. */
  readonly indexes: readonly number[];
  /** Results of those calls, in their order, each `undefined` where it does not follow; `undefined`: the call was not run. */
  readonly split: (result: Json) => readonly (Json | undefined)[] | undefined;
}

/** How calls are joined. */
export interface Joining {
  /** Joined calls of a request; calls that are in none are sent as they are. */
  readonly join: (calls: readonly RpcCall[]) => readonly JoinedCall[];
  /** Called when an endpoint turns out not to run joined calls. */
  readonly onRefused: (endpointHost: string) => void;
}

/** Joined calls at one endpoint. */
export class JoinedCalls {
  readonly #clock: Pick<Clock, "now">;
  readonly #joining: Joining;
  #refusedUntilMs = 0;

  constructor(clock: Pick<Clock, "now">, joining: Joining) {
    this.#clock = clock;
    this.#joining = joining;
  }

  /** Sends calls to the endpoint: one request, and another one for calls that were not answered together. */
  async send(
    host: string,
    calls: readonly RpcCall[],
    send: (calls: readonly RpcCall[]) => Promise<readonly RpcAnswer[]>,
  ): Promise<readonly RpcAnswer[]> {
    const joined = this.#clock.now() < this.#refusedUntilMs ? [] : this.#joining.join(calls);
    if (joined.length === 0) return await send(calls);
    const inJoined = new Set(joined.flatMap(({ indexes }) => indexes));
    const plain = calls.flatMap((_, index) => inJoined.has(index) ? [] : [index]);
    let sent: readonly RpcAnswer[];
    try {
      // Joined calls come last: a caller that also asks for the head relies on the head being read first.
      sent = await send([...callsAt(calls, plain), ...joined.map(({ call }) => call)]);
    } catch (fault) {
      const mayBeJoined = fault instanceof RpcFault && ["refused", "missing_method"].includes(fault.code);
      if (!mayBeJoined) throw fault;
      const answers = await send(calls);
      this.#noteRefused(host);
      return answers;
    }
    const answers = new Map<number, RpcAnswer | undefined>(plain.map((index, place) => [index, sent[place]]));
    const unrun = new Set(joined.flatMap((each, place) => share(answers, each, sent[plain.length + place])));
    const open = calls.flatMap((_, index) => answers.has(index) ? [] : [index]);
    if (open.length > 0) {
      const single = await send(callsAt(calls, open));
      open.forEach((index, place) => answers.set(index, single[place]));
      if (open.some((index) => unrun.has(index) && answers.get(index)?.kind === "result")) {
        this.#noteRefused(host);
      }
    }
    return calls.map((_, index) => {
      const answer = answers.get(index);
      if (answer === undefined) throw new Error("Call without an answer");
      return answer;
    });
  }

  #noteRefused(host: string): void {
    this.#refusedUntilMs = this.#clock.now() + REFUSED_TTL_MS;
    this.#joining.onRefused(host);
  }
}

/** Gives each call its own answer, as far as it follows. Returns the calls of one that was not run. */
function share(
  answers: Map<number, RpcAnswer | undefined>,
  { indexes, split }: JoinedCall,
  answer: RpcAnswer | undefined,
): readonly number[] {
  if (answer?.kind === "fault" && BLOCK_FAULTS.has(answer.fault.code)) {
    for (const index of indexes) answers.set(index, answer);
    return [];
  }
  const results = answer?.kind === "result" ? split(answer.result) : undefined;
  indexes.forEach((index, place) => {
    const result = results?.[place];
    if (result !== undefined) answers.set(index, { kind: "result", result });
  });
  return results === undefined ? indexes : [];
}

function callsAt(calls: readonly RpcCall[], indexes: readonly number[]): readonly RpcCall[] {
  return indexes.flatMap((index) => calls[index] ?? []);
}
