/**
 * What one delivery cost on the wire: the requests from the first poll that shows the new height to the one that
 * sends the transaction. Pure. Start reading at {@link traceOf}.
 */
import {
  countSequentialTrips,
  type ProxiedCall,
  type ProxiedRequest,
} from "../scenario/support/rpc_proxy.ts";

/** How to tell the two ends of a delivery. */
export interface DeliveryMarks {
  /** True for a look at the receiving chain whose answer shows the new height. */
  readonly showsUpdate: (call: ProxiedCall, result: unknown) => boolean;
  /** Method that sends the delivery. */
  readonly sendMethod: string;
  /** False for requests of other workers, which do not belong to the delivery. */
  readonly belongs?: (request: ProxiedRequest) => boolean;
}

/** One delivery. */
export interface DeliveryTrace {
  /** HTTP requests, the look that shows the update included. */
  readonly http: number;
  /** Messages over the hub's socket. */
  readonly socket: number;
  /** Requests that had to wait for one another, over HTTP and socket, the look and the sending included. */
  readonly trips: number;
  /** From the answer that shows the update to the answer that the transaction was taken, milliseconds. */
  readonly ms: number;
  /** What was asked in order: `transport method n.n ms`. */
  readonly steps: readonly string[];
}

/**
 * Finds the delivery in everything that passed the proxies.
 * @throws {Error} when there is none.
 */
export function traceOf(requests: readonly ProxiedRequest[], marks: DeliveryMarks): DeliveryTrace {
  const ordered = requests.filter((each) => marks.belongs?.(each) ?? true).sort((a, b) => a.atMs - b.atMs);
  const start = ordered.findIndex((request) =>
    answersOf(request).some(([call, result]) => marks.showsUpdate(call, result))
  );
  const length = ordered.slice(start).findIndex(({ calls }) =>
    calls.some(({ method }) => method === marks.sendMethod)
  );
  const window = ordered.slice(start, start + length + 1);
  const [first] = window;
  const last = window.at(-1);
  if (start < 0 || length < 0 || first === undefined || last === undefined) {
    const zeroMs = ordered[0]?.atMs ?? 0;
    const steps = ordered.map((request, at) => `${at === start ? "update" : ""} ${stepOf(request, zeroMs)}`);
    throw new Error(`No delivery among ${requests.length} requests:\n${steps.join("\n")}`);
  }
  return {
    http: window.filter(({ transport }) => transport === "http").length,
    socket: window.filter(({ transport }) => transport === "socket").length,
    trips: countSequentialTrips(window),
    ms: (last.endedAtMs ?? last.atMs) - (first.endedAtMs ?? first.atMs),
    steps: window.map((request) => stepOf(request, first.atMs)),
  };
}

/** Each call with its result; only of requests whose answers were kept. */
function answersOf(request: ProxiedRequest): readonly (readonly [ProxiedCall, unknown])[] {
  if (request.answer === undefined) return [];
  const parsed: unknown = JSON.parse(request.answer);
  const answers: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  return answers.flatMap((answer) => {
    if (typeof answer !== "object" || answer === null || !("id" in answer) || !("result" in answer)) {
      return [];
    }
    const call = request.calls.find(({ id }) => id === answer.id);
    return call === undefined ? [] : [[call, answer.result] as const];
  });
}

function stepOf({ transport, atMs, endedAtMs, calls }: ProxiedRequest, zeroMs: number): string {
  const counts = new Map<string, number>();
  for (const { method } of calls) counts.set(method, (counts.get(method) ?? 0) + 1);
  const what = [...counts].map(([method, count]) => count === 1 ? method : `${count} ${method}`).join(" + ");
  const took = endedAtMs === undefined ? "?" : (endedAtMs - atMs).toFixed(1);
  return `${(atMs - zeroMs).toFixed(1).padStart(8)} ms  ${transport.padEnd(6)} ${what} (${took} ms)`;
}
