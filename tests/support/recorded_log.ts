/** A log that keeps its lines for the test to look at. */
import type { Log, LogFields, LogLevel } from "../../src/core/telemetry/log.ts";

/** One line. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** Keeps every line, also of the logs made by `with`. */
export class RecordedLog implements Log {
  readonly lines: RecordedLine[];
  readonly #fields: LogFields;

  constructor(lines: RecordedLine[] = [], fields: LogFields = {}) {
    this.lines = lines;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#add("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#add("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#add("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#add("error", message, fields);
  }

  with(fields: LogFields): Log {
    return new RecordedLog(this.lines, { ...this.#fields, ...fields });
  }

  /** Messages of one level. */
  messages(level: LogLevel): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }

  #add(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.lines.push({ level, message, fields: { ...this.#fields, ...fields } });
  }
}
