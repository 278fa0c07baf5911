/**
 * One question that goes from endpoint to endpoint, in the order of preference, until one answers it; the same for JSON-RPC
 * and REST. Start reading at {@link EndpointRound.take}.
 */
import type { Clock } from "../runtime/clock.ts";
import { orAbort } from "../runtime/linked_abort.ts";
import { type FaultPlace, type RpcCall, RpcFault, scopeOf } from "./call.ts";
import { MAX_THROTTLED_WAIT_MS, type TrackedEndpoint } from "./endpoint.ts";

/** Maximum wait for a paused endpoint when there is no other; longer pauses fail at once. */
const MAX_WAIT_MS = 2000;

type Tracked = TrackedEndpoint<{ readonly host: string }>;
type Asked = readonly Pick<RpcCall, "method">[];

/** Endpoints in the order in which they are asked: ready ones first, of them the able ones, and of these those not behind. */
export function byPreference<M extends Tracked>(members: readonly M[], calls: Asked = []): readonly M[] {
  const rank = (member: M): number =>
    (member.availability().kind === "ready" ? 0 : 3) +
    (member.isUnsupported(calls) ? 2 : member.isBehind ? 1 : 0);
  return members.toSorted((a, b) => rank(a) - rank(b));
}

/** One question; each endpoint is asked once, or until it names the right chain. */
export class EndpointRound<M extends Tracked> {
  readonly #clock: Clock;
  readonly #members: readonly M[];
  readonly #open: M[];
  /** Fault of each endpoint that was asked and failed. */
  readonly #faults = new Map<M, RpcFault>();
  #waitedMs = 0;

  constructor(clock: Clock, members: readonly M[], calls: Asked) {
    this.#clock = clock;
    this.#members = members;
    const isAble = members.some((member) => !member.isUnsupported(calls));
    // If no endpoint supports it, the most preferred one may report that again; the others need not be asked.
    this.#open = isAble ? [...byPreference(members, calls)] : members.slice(0, 1);
  }

  /** The next endpoint that can be asked at once; `undefined`: there is none. It counts as asked. */
  take(): M | undefined {
    const ready = this.#open.findIndex((member) => member.availability().kind === "ready");
    return ready < 0 ? undefined : this.#open.splice(ready, 1)[0];
  }

  /**
   * Waits until an endpoint may be asked; false: none is left, or the pause is too long. @param mayPause false: a pause is
   * not waited for
   */
  async wait(signal: AbortSignal, mayPause = true): Promise<boolean> {
    signal.throwIfAborted();
    const states = this.#open.map((member) => member.availability());
    const probing = states.find((state) => state.kind === "probing");
    if (probing === undefined) return mayPause && await this.#pause(signal);
    await orAbort(probing.settled, signal);
    return true;
  }

  /** Waits for the end of the shortest pause; false: it is too long. */
  async #pause(signal: AbortSignal): Promise<boolean> {
    const [soonest] = this.#open.flatMap((member) => {
      const state = member.availability();
      if (state.kind !== "cooling") return [];
      return [{ leftMs: state.leftMs, isThrottled: member.lastFault?.code === "throttled" }];
    }).sort((a, b) => a.leftMs - b.leftMs);
    if (soonest === undefined) return false;
    const { leftMs, isThrottled } = soonest;
    const isTooLong = isThrottled
      ? this.#waitedMs + leftMs > MAX_THROTTLED_WAIT_MS
      : this.#waitedMs > 0 || leftMs > MAX_WAIT_MS;
    if (isTooLong) return false;
    this.#waitedMs += leftMs;
    await this.#clock.sleep(leftMs, signal);
    return true;
  }

  /** True when another endpoint can be asked at once. */
  hasReady(): boolean {
    return this.#open.some((member) => member.availability().kind === "ready");
  }

  /** Records that the endpoint did not answer well. @param mayRepeat true: it is asked again, after the others */
  fail(member: M, fault: RpcFault, mayRepeat = false): void {
    this.#faults.set(member, fault);
    if (mayRepeat) this.#open.push(member);
  }

  /**
   * One fault for all endpoints, with the code of each in the text; of one all its words. Its own code is that of the most
   * preferred one, of those first that are down: while one may have it, nothing counts as missing.
   */
  allFailed(place: Pick<FaultPlace, "chain" | "method">): RpcFault {
    const faults = this.#members.flatMap((each) => this.#faults.get(each) ?? each.lastFault ?? []);
    const endpointHost = this.#members.map(({ host }) => host).join(", ");
    const first = faults.find((fault) => scopeOf(fault) === "endpoint") ??
      faults.find(({ code }) => code !== "missing_method") ?? faults[0];
    if (first === undefined) {
      return new RpcFault("missing_method", { ...place, endpointHost }, { detail: "not served" });
    }
    const isOnly = this.#members.length === 1;
    if (isOnly && this.#faults.size > 0) return first;
    const waits = this.#members.map((member) => member.availability())
      .map((state) => state.kind === "cooling" ? state.leftMs : 0);
    return new RpcFault(first.code, { ...place, endpointHost }, {
      detail: isOnly
        ? first.detail
        : faults.map((fault) => `${fault.where.endpointHost}: ${fault.code}`).join("; "),
      data: first.data,
      retryAfterMs: Math.min(...waits) || undefined,
      cause: first,
    });
  }
}
