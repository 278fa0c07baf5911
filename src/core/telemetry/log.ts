/** What the rest of the program knows of logging: four levels, a message and named values. */

/** In rising order of weight. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/**
 * `error`: operator attention or a lost opportunity. `warn`: degraded, recovers by itself. `info`: changes of
 * state, amounts, what is awaited. `debug`: decisions per message. Source: 04-messaging-flow.md 19.1.
 */
export type LogLevel = typeof logLevels[number];

/**
 * Named values of a line. `leg` (see `legText`) or `chain` say where; `error` takes what was caught. Bigints, bytes
 * and errors are fine; texts that might hold secrets are not.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where lines go. Never throws. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log that adds `fields` to every line. */
  with(fields: LogFields): Log;
}
