/** SIGINT and SIGTERM: the first one ends the program gracefully, the second at once. */
import { type ExitCode, exitCodes } from "./exit_codes.ts";

/** Signals that end a program. */
export type TerminationSignal = "SIGINT" | "SIGTERM";

const endingSignals: readonly TerminationSignal[] = ["SIGINT", "SIGTERM"];

/** Source of signals. */
export interface SignalSource {
  add(name: TerminationSignal, handler: () => void): void;
  remove(name: TerminationSignal, handler: () => void): void;
}

/** Signals of this process. */
export const systemSignals: SignalSource = {
  add: (name, handler) => Deno.addSignalListener(name, handler),
  remove: (name, handler) => Deno.removeSignalListener(name, handler),
};

/** Calls `handler` for each SIGHUP of this process; returns what ends that. */
export function onHangup(handler: () => void): () => void {
  Deno.addSignalListener("SIGHUP", handler);
  return () => Deno.removeSignalListener("SIGHUP", handler);
}

/** Reason of a requested abort: not a failure. */
export class ShutdownRequested extends Error {
  override readonly name = "ShutdownRequested";
  readonly code = "shutdown";
  constructor(readonly by: TerminationSignal) {
    super(`Asked to stop by ${by}`);
  }
}

/**
 * Watches for SIGINT and SIGTERM until it is disposed of. The first of any kind aborts `signal` with
 * {@link ShutdownRequested}; the second calls `exit(130)`. `onFirst` may inform the operator that work is being finished.
 */
export function abortOnSignals(
  source: SignalSource,
  options: {
    readonly exit: (code: ExitCode) => void;
    readonly onFirst?: (name: TerminationSignal) => void;
  },
): { readonly signal: AbortSignal; readonly dispose: () => void } {
  const controller = new AbortController();
  const handlers = endingSignals.map((name) => {
    const handler = (): void => {
      if (controller.signal.aborted) {
        options.exit(exitCodes.interrupted);
        return;
      }
      controller.abort(new ShutdownRequested(name));
      options.onFirst?.(name);
    };
    source.add(name, handler);
    return { name, handler };
  });
  return {
    signal: controller.signal,
    dispose: () => handlers.forEach(({ name, handler }) => source.remove(name, handler)),
  };
}
