/**
 * Faults that a scenario asks the server for, one decision per call.
 */

/** A call as a {@link FaultHook} sees it. */
export interface IncomingCall {
  readonly transport: "http" | "ws";
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What to do instead of, or before, a proper answer. */
export type FaultAction =
  /** Answer after `ms` milliseconds. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Answer with this error; the method does not run. */
  | { readonly kind: "error"; readonly code: number; readonly message: string; readonly data?: unknown }
  /** Answer with this result; the method does not run. */
  | { readonly kind: "result"; readonly result: unknown }
  /** Close the connection without an answer; with `afterCall` the method runs first. */
  | { readonly kind: "drop"; readonly afterCall?: boolean }
  /** Never answer. */
  | { readonly kind: "hang" }
  /** Send only the first `bytes` characters of the answer. */
  | { readonly kind: "truncate"; readonly bytes: number }
  /** HTTP only (WebSocket closes): this status and headers, e.g. 429 with `retry-after`. */
  | { readonly kind: "status"; readonly status: number; readonly headers?: Readonly<Record<string, string>> };

/** Decides what happens to a call; undefined lets it pass. */
export type FaultHook = (call: IncomingCall) => FaultAction | undefined;

/** Carries a fault that concerns the whole connection out of the dispatcher. */
export class ConnectionFault extends Error {
  override readonly name = "ConnectionFault";
  constructor(readonly fault: Extract<FaultAction, { kind: "drop" | "hang" | "truncate" | "status" }>) {
    super(`Fault asked for: ${fault.kind}`);
  }
}

/** Resolves after `ms` milliseconds, at once when `signal` aborts. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish);
  });
}
