/** A log that keeps its lines for the test to look at. */
import type { EventCode, Log, LogFields, LogLevel } from "../../src/core/telemetry/log.ts";

/** One line. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly event: EventCode;
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

  debug(event: EventCode, fields?: LogFields): void {
    this.#add("debug", event, fields);
  }

  info(event: EventCode, fields?: LogFields): void {
    this.#add("info", event, fields);
  }

  warn(event: EventCode, fields?: LogFields): void {
    this.#add("warn", event, fields);
  }

  error(event: EventCode, fields?: LogFields): void {
    this.#add("error", event, fields);
  }

  with(fields: LogFields): Log {
    return new RecordedLog(this.lines, { ...this.#fields, ...fields });
  }

  /** Events of one level. */
  events(level: LogLevel): EventCode[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.event);
  }

  /** Lines of one event. */
  linesOf(event: EventCode): RecordedLine[] {
    return this.lines.filter((line) => line.event === event);
  }

  #add(level: LogLevel, event: EventCode, fields: LogFields = {}): void {
    this.lines.push({ level, event, fields: { ...this.#fields, ...fields } });
  }
}
