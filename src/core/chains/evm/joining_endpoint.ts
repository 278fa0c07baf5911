/**
 * Endpoint that makes one call of several of a request, since providers bill calls. Each has its own answer; a call whose
 * answer does not follow from the joined one is sent by itself, so that its fault is the node's about it. Nodes that do not
 * run joined calls are asked for single ones. Start reading at {@link JoiningEndpoint.send}.
 */
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint } from "../../rpc/call.ts";
import { BLOCK_FAULTS, RpcFault } from "../../rpc/fault.ts";
import type { Json } from "../../rpc/json.ts";
import type { Clock } from "../../runtime/clock.ts";

/** An endpoint that did not run a joined call is tried again after this time; providers change nodes. */
const REFUSED_TTL_MS = 10 * 60_000;

/** A call in the place of several. */
export interface JoinedCall {
  readonly call: RpcCall;
  /** Places of those calls in their request. */
  readonly indexes: readonly number[];
  /** Results of those calls, in their order, each `undefined` where it does not follow; `undefined`: the call was not run. */
  readonly split: (result: Json) => readonly (Json | undefined)[] | undefined;
}

/** How calls are joined. */
export interface Joining {
  readonly clock: Pick<Clock, "now">;
  readonly join: (calls: readonly RpcCall[]) => readonly JoinedCall[];
  /** Called when the endpoint turns out not to run joined calls; default: nothing. */
  readonly onRefused?: ((endpointHost: string) => void) | undefined;
}

/** See the head of the file. */
export class JoiningEndpoint implements RpcEndpoint {
  readonly #joining: Joining;
  readonly #endpoint: RpcEndpoint;
  #refusedUntilMs = 0;

  constructor(joining: Joining, endpoint: RpcEndpoint) {
    this.#joining = joining;
    this.#endpoint = endpoint;
  }

  get host(): string {
    return this.#endpoint.host;
  }

  /** As {@link RpcEndpoint.send}: one request, and another one for calls that were not answered together. */
  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const isRefused = this.#joining.clock.now() < this.#refusedUntilMs;
    const joined = isRefused ? [] : this.#joining.join(calls);
    if (joined.length === 0) return await this.#endpoint.send(calls, conditions);
    const inJoined = new Set(joined.flatMap(({ indexes }) => indexes));
    const plain = calls.flatMap((_, index) => inJoined.has(index) ? [] : [index]);
    let sent: readonly RpcAnswer[];
    try {
      // Joined calls come last: a caller that also asks for the head relies on the head being read first.
      sent = await this.#endpoint.send(
        [...callsAt(calls, plain), ...joined.map(({ call }) => call)],
        conditions,
      );
    } catch (fault) {
      const mayBeJoined = fault instanceof RpcFault && ["refused", "missing_method"].includes(fault.code);
      if (!mayBeJoined) throw fault;
      const answers = await this.#endpoint.send(calls, conditions);
      this.#noteRefused();
      return answers;
    }
    const answers = new Map<number, RpcAnswer | undefined>(plain.map((index, place) => [index, sent[place]]));
    const unrun = new Set(joined.flatMap((each, place) => share(answers, each, sent[plain.length + place])));
    const open = calls.flatMap((_, index) => answers.has(index) ? [] : [index]);
    if (open.length > 0) {
      const single = await this.#endpoint.send(callsAt(calls, open), conditions);
      open.forEach((index, place) => answers.set(index, single[place]));
      if (open.some((index) => unrun.has(index) && answers.get(index)?.kind === "result")) {
        this.#noteRefused();
      }
    }
    return calls.map((_, index) => {
      const answer = answers.get(index);
      if (answer === undefined) throw new Error("Call without an answer");
      return answer;
    });
  }

  #noteRefused(): void {
    this.#refusedUntilMs = this.#joining.clock.now() + REFUSED_TTL_MS;
    this.#joining.onRefused?.(this.host);
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
