/** A log that keeps its lines for the test to look at. */
import type { Log, LogEvent, LogFields, LogLevel } from "../../src/core/telemetry/log.ts";
import { textOf } from "../../src/core/telemetry/open_log.ts";

/** One line. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly event: string;
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

  debug(event: LogEvent, fields?: LogFields): void {
    this.#add("debug", event, fields);
  }

  info(event: LogEvent, fields?: LogFields): void {
    this.#add("info", event, fields);
  }

  warn(event: LogEvent, fields?: LogFields): void {
    this.#add("warn", event, fields);
  }

  error(event: LogEvent, fields?: LogFields): void {
    this.#add("error", event, fields);
  }

  with(fields: LogFields): Log {
    return new RecordedLog(this.lines, { ...this.#fields, ...fields });
  }

  /** Events of one level. */
  events(level: LogLevel): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.event);
  }

  /** Messages of one level. */
  messages(level: LogLevel): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }

  #add(level: LogLevel, event: LogEvent, fields: LogFields = {}): void {
    this.lines.push({ level, event, message: textOf(event), fields: { ...this.#fields, ...fields } });
  }
}
