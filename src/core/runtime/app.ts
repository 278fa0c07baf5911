/** What both programs are started with: their environment, common arguments, and signals. */
import type { LogLevel } from "../telemetry/log.ts";
import type { LogFormat } from "../telemetry/open_log.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";
import type { Terminal } from "./terminal.ts";

/** Process environment, which only the entry point may access. */
export interface ProcessEnv {
  readonly readFile: (path: string) => Uint8Array;
  /** A variable of the environment that the configuration names; `undefined`: not set. */
  readonly readVariable: (name: string) => string | undefined;
  /** Permissions of a file; `undefined`: it cannot be said. */
  readonly readMode: (path: string) => number | undefined;
  /** Keys of keystores that were opened before. */
  readonly openedKeystores: Map<string, Uint8Array>;
  /** Called once the configuration is read: nothing more of the environment can be read then. */
  readonly closeEnvironment: () => void;
  /** Writes to standard output; false when the text is lost although somebody reads. */
  readonly writeOutput: (text: string) => boolean;
  /** Writes a new file that only its owner can read; false when there is one at the path. Throws the runtime's error. */
  readonly writeNewFile: (path: string, text: string) => boolean;
  /** Absent: nobody can be asked. */
  readonly terminal: Terminal | undefined;
  readonly writeError: (text: string) => void;
  readonly exit: (code: ExitCode) => void;
  readonly isColourWelcome: boolean;
}

/** Arguments common to both programs. */
export interface CommonArguments {
  /** Path of the configuration file. */
  readonly config: string;
  readonly logFormat: LogFormat;
  readonly logLevel: LogLevel;
}

/** Signals that end a program. */
export type TerminationSignal = "SIGINT" | "SIGTERM";

const endingSignals: readonly TerminationSignal[] = ["SIGINT", "SIGTERM"];

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
export function abortOnSignals(options: {
  readonly exit: (code: ExitCode) => void;
  readonly onFirst?: (name: TerminationSignal) => void;
}): { readonly signal: AbortSignal; readonly dispose: () => void } {
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
    Deno.addSignalListener(name, handler);
    return { name, handler };
  });
  return {
    signal: controller.signal,
    dispose: () => handlers.forEach(({ name, handler }) => Deno.removeSignalListener(name, handler)),
  };
}
