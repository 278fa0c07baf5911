/**
 * Endpoint that sends what several callers ask at about the same time in one request, and a call that several of them
 * make once. Nothing is remembered: every answer is to a request that was sent after it was asked for, and is dropped
 * when its callers have it. Start reading at {@link MergingEndpoint.send}.
 */
import type { Clock } from "../runtime/clock.ts";
import { linkedAbort, orAbort } from "../runtime/linked_abort.ts";
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint } from "./call.ts";
import { ENDPOINT_FAULTS, RpcFault } from "./call.ts";

/** Calls of one merged request; more are sent in several. */
const MAX_CALLS = 100;
/** After a merged request took too long, callers are served one by one for this time. */
const ALONE_MS = 10 * 60_000;

/** How requests are merged. */
export interface Merging {
  /** Time for which a request waits for others, milliseconds. */
  readonly windowMs: number;
  /** True for calls that only read; requests with others are sent as they come. */
  readonly mayMerge: (call: RpcCall) => boolean;
}

/** A request that waits to be sent. */
interface Waiting {
  readonly calls: readonly RpcCall[];
  readonly conditions: CallConditions;
  readonly resolve: (answers: readonly RpcAnswer[]) => void;
  readonly reject: (error: unknown) => void;
}

/** See the head of the file. */
export class MergingEndpoint implements RpcEndpoint {
  readonly #clock: Clock;
  readonly #endpoint: RpcEndpoint;
  readonly #merging: Merging;
  #waiting: Waiting[] = [];
  #aloneUntilMs = 0;

  constructor(clock: Clock, endpoint: RpcEndpoint, merging: Merging) {
    this.#clock = clock;
    this.#endpoint = endpoint;
    this.#merging = merging;
  }

  get host(): string {
    return this.#endpoint.host;
  }

  /** As {@link RpcEndpoint.send}. A caller that is aborted leaves the others alone. */
  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const isAlone = this.#clock.now() < this.#aloneUntilMs || !calls.every(this.#merging.mayMerge);
    if (isAlone || conditions.signal.aborted) return await this.#endpoint.send(calls, conditions);
    const sent = new Promise<readonly RpcAnswer[]>((resolve, reject) => {
      this.#waiting.push({ calls, conditions, resolve, reject });
    });
    sent.catch(() => undefined); // whoever was aborted does not hear of it
    if (this.#waiting.length === 1) void this.#sendAfterWindow();
    return await orAbort(sent, conditions.signal);
  }

  async #sendAfterWindow(): Promise<void> {
    await this.#clock.sleep(this.#merging.windowMs, NEVER);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const group of groupsOf(waiting.filter(({ conditions }) => !conditions.signal.aborted))) {
      void this.#sendGroup(group);
    }
  }

  async #sendGroup(group: readonly Waiting[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    if (group.length === 1) return await this.#sendAlone(first);
    const { calls, placesOf } = mergeCalls(group);
    const stop = new AbortController();
    const links = group.map(({ conditions }) => linkedAbort(conditions.signal));
    const stopWhenUnwanted = (): void => {
      if (links.every(({ signal }) => signal.aborted)) stop.abort(first.conditions.signal.reason);
    };
    for (const { signal } of links) signal.addEventListener("abort", stopWhenUnwanted, { once: true });
    try {
      const { timeoutMs } = first.conditions;
      const answers = await this.#endpoint.send(calls, { signal: stop.signal, timeoutMs });
      group.forEach((each, index) => each.resolve(pick(answers, placesOf[index] ?? [])));
    } catch (fault) {
      await this.#afterFault(group, fault);
    } finally {
      for (const link of links) link.unlink();
    }
  }

  /** A fault of the endpoint is everybody's; what the endpoint minds about the merged request is nobody's. */
  async #afterFault(group: readonly Waiting[], fault: unknown): Promise<void> {
    if (!(fault instanceof RpcFault) || ENDPOINT_FAULTS.has(fault.code)) {
      // The merged request may be what was too slow.
      if (fault instanceof RpcFault && fault.code === "timeout") {
        this.#aloneUntilMs = this.#clock.now() + ALONE_MS;
      }
      for (const { reject } of group) reject(fault);
      return;
    }
    this.#aloneUntilMs = this.#clock.now() + ALONE_MS;
    await Promise.all(group.map((each) => this.#sendAlone(each)));
  }

  async #sendAlone({ calls, conditions, resolve, reject }: Waiting): Promise<void> {
    try {
      resolve(await this.#endpoint.send(calls, conditions));
    } catch (error) {
      reject(error);
    }
  }
}

const NEVER = new AbortController().signal;

/** Requests that are sent together: of one timeout, and of a limited number of calls. */
function groupsOf(waiting: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const groups: { readonly timeoutMs: number | undefined; calls: number; readonly members: Waiting[] }[] = [];
  for (const each of waiting) {
    const { timeoutMs } = each.conditions;
    const count = each.calls.length;
    const open = groups.findLast((group) =>
      group.timeoutMs === timeoutMs && group.calls + count <= MAX_CALLS
    );
    if (open === undefined) groups.push({ timeoutMs, calls: count, members: [each] });
    else {
      open.calls += count;
      open.members.push(each);
    }
  }
  return groups.map(({ members }) => members);
}

/** Calls of several requests, equal ones once, and the places of each request's calls among them. */
function mergeCalls(
  group: readonly Pick<Waiting, "calls">[],
): { readonly calls: readonly RpcCall[]; readonly placesOf: readonly (readonly number[])[] } {
  const calls: RpcCall[] = [];
  const places = new Map<string, number>();
  const placesOf = group.map((each) => {
    // Nodes answer in order, and a request may rely on that of its calls.
    let last = -1;
    return each.calls.map((call) => {
      const key = JSON.stringify([call.method, call.params]);
      const known = places.get(key);
      if (known !== undefined && known > last) {
        last = known;
        return known;
      }
      last = calls.push(call) - 1;
      places.set(key, last);
      return last;
    });
  });
  return { calls, placesOf };
}

function pick(answers: readonly RpcAnswer[], places: readonly number[]): readonly RpcAnswer[] {
  return places.map((place) => {
    const answer = answers[place];
    if (answer === undefined) throw new Error("Call without an answer");
    return answer;
  });
}
