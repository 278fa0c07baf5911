/** What the rest of the program knows of logging: four levels, an event and named values. */
import type { EventCode } from "./events.ts";

/** In rising order of weight. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/**
 * `error`: operator attention or a lost opportunity. `warn`: degraded, recovers by itself. `info`: changes of
 * state, amounts, what is awaited. `debug`: decisions per message. Source: docs/protocol/messaging.md section 19.1.
 */
export type LogLevel = typeof logLevels[number];

/**
 * Named values of a line. `leg` (see `legText`) or `chain` say where; `error` takes what was caught; `explanation` is a
 * sentence of this program's own, for people, that continues the event's text. Bigints, bytes and errors are fine;
 * texts that might hold secrets are not.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where lines go. Never throws. */
export interface Log {
  debug(event: EventCode, fields?: LogFields): void;
  info(event: EventCode, fields?: LogFields): void;
  warn(event: EventCode, fields?: LogFields): void;
  error(event: EventCode, fields?: LogFields): void;
  /** A log that adds `fields` to every line. */
  with(fields: LogFields): Log;
}
