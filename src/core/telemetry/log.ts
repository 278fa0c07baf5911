/** Logging interface: four levels, an event and named values. */
import type { WorkProgress } from "./progress.ts";
import type { EventCode } from "./events.ts";

/** In ascending order of severity. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/**
 * `error`: needs the operator, or lost an opportunity. `warn`: degraded, recovers by itself. `info`: state changes,
 * amounts, waits. `debug`: decisions per message. Source: docs/protocol/messaging.md section 19.1.
 */
export type LogLevel = typeof logLevels[number];

/**
 * Named values of a line. `leg` (see `legText`) or `chain` name the place; `error` takes a caught error;
 * `explanation` is a sentence of this program for people, which continues the event's text. Bigints, bytes and errors
 * are fine; texts that may contain secrets are not.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/** Log. Never throws. */
export interface Log {
  debug(event: EventCode, fields?: LogFields): void;
  info(event: EventCode, fields?: LogFields): void;
  warn(event: EventCode, fields?: LogFields): void;
  error(event: EventCode, fields?: LogFields): void;
  /** Shows the progress of long work to people at a terminal; absent where nobody watches. */
  readonly progress?: ((progress: WorkProgress) => void) | undefined;
  /** Returns a log that adds `fields` to every line. */
  with(fields: LogFields): Log;
}
