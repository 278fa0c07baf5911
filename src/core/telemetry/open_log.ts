/** Log of a program: levels, formats, redaction. */
import type { ChainNames } from "../config/chain_names.ts";
import type { Clock } from "../runtime/clock.ts";
import { dropOldest } from "../runtime/slices.ts";
import { type EventCode, events, type Log, type LogFields, type LogLevel, logLevels } from "./log.ts";
import { type Entry, errorCode, humanLine, humanText, jsonLine } from "./line_format.ts";
import { createRedactor } from "./redactor.ts";
import { endsTrouble } from "./troubles.ts";

/** A line of the log. */
export interface RecentWarning {
  readonly atMs: number;
  readonly level: Extract<LogLevel, "warn" | "error">;
  readonly event: string;
  /** Place, text and values, without secrets; may hold text from chains. */
  readonly text: string;
  /** When an event said that it is over, Unix milliseconds; absent: none has. */
  readonly endedAtMs?: number;
}

/** Format of lines: for people, or one JSON object each. */
export type LogFormat = "human" | "json";

/** Options of {@link openLog}. */
export interface LogOptions {
  readonly format: LogFormat;
  /** Minimum level that is written; `debug` includes the stacks of errors. */
  readonly level: LogLevel;
  /** Writes a finished line without its line break; must not throw. */
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, "now">;
  /** Terminal colours for the human format; default off. */
  readonly hasColour?: boolean;
  /** True: the system's journal reads the lines: no time and no colour in the human format; default off. */
  readonly isJournal?: boolean;
  /** Secret values that must never appear in a line. */
  readonly secrets?: readonly string[];
  /** Names of chains, for lines that people read. */
  readonly names?: ChainNames | undefined;
  readonly observer?: LogObserver | undefined;
}

/** Observes a log, without secrets. Nothing of it may throw. */
export interface LogObserver {
  /** Takes each warning and error that is written, with its values. */
  noteWarning?(line: RecentWarning, fields: LogFields): void;
  /** Takes every event of whatever level, and what removes secrets from its texts; false: it is not to be written. */
  noteEvent?(event: EventCode, fields: LogFields, redact: (text: string) => string): boolean;
}

/** Log of a program, whose owner changes what it shows. */
export interface OpenLog extends Log {
  /** Changes the minimum level that is written, at once and for every log made from this one. */
  setLevel(level: LogLevel): void;
  /** Adds secret values that must never appear in a line. */
  hide(secrets: readonly string[]): void;
  /** Removes all secret values, those added later included, from a text. */
  redact(text: string): string;
}

/** Opens a log. */
export function openLog(options: LogOptions): OpenLog {
  const { clock, names, isJournal = false, observer } = options;
  const format = options.format === "json" ? jsonLine : humanLine;
  const hasColour = options.format === "human" && options.hasColour === true && !isJournal;
  const hidden = new Set(options.secrets);
  let redact = createRedactor([...hidden]);
  let minimum = options.level;
  const repeats = new Repeats();
  const write = (entry: Entry): void => {
    const { level, event, timeMs: atMs, fields } = entry;
    const shown = { hasColour, isJournal, names, withStack: minimum === "debug" };
    options.write(redact(safely(() => format(entry, shown), entry)));
    if (level !== "warn" && level !== "error") return;
    observer?.noteWarning?.(
      { atMs, level, event, text: redact(safely(() => plainText(entry), entry)) },
      fields,
    );
  };
  const take: TakeEvent = (level, event, fields) => {
    if (observer?.noteEvent?.(event, fields, redact) === false) return;
    if (logLevels.indexOf(level) < logLevels.indexOf(minimum)) return;
    const timeMs = clock.now();
    const { event: name, code, text: message, reaction, action } = events[event];
    const next = level === "error" ? { reaction, advice: fields.advice ?? action } : {};
    const entry = { timeMs, level, event: name, code, message, fields: { ...fields, ...next } };
    const admitted = repeats.admit(entry);
    if (admitted !== undefined) write(admitted);
  };
  return {
    ...createLog({}, take),
    setLevel: (level) => {
      minimum = level;
    },
    hide: (secrets) => {
      for (const secret of secrets) hidden.add(secret);
      redact = createRedactor([...hidden]);
    },
    redact: (text) => redact(text),
  };
}

/** Takes an event of whatever level. */
type TakeEvent = (level: LogLevel, event: EventCode, fields: LogFields) => void;

function createLog(bound: LogFields, take: TakeEvent): Log {
  const at = (level: LogLevel) => (event: EventCode, fields?: LogFields): void =>
    take(level, event, { ...bound, ...fields });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => createLog({ ...bound, ...fields }, take),
  };
}

/** Text of an entry after its time and level. */
function plainText(entry: Entry): string {
  const { place, said } = humanText(entry, { hasColour: false, withStack: false });
  return place === "" ? said : `${place}: ${said}`;
}

/** Formats safely: a value that cannot be shown (a throwing getter) drops the values of its line, not the program. */
function safely(format: () => string, entry: Entry): string {
  try {
    return format();
  } catch (error) {
    const why = error instanceof Error ? error.name : "unknown";
    return `${entry.level.toUpperCase()} ${JSON.stringify(entry.message)} (values cannot be shown: ${why})`;
  }
}

/** Time for which equal lines are counted instead of written, ms. */
const REPEAT_WINDOW_MS = 300_000;

/** Maximum number of distinct lines remembered; the oldest is forgotten first. */
const MAX_KINDS = 200;

/** A line that was written, and the number of equal ones since. */
interface Kind {
  readonly written: Entry;
  count: number;
}

/**
 * Decides which warnings and errors are written: one of equal lines in five minutes, with the number of those before it.
 * What comes again after the line that ended it is news. Two lines are equal if level, event, code, {@link SUBJECTS},
 * the endpoint in the line or its error, and the error's name and code (its message if it has no code) are equal.
 */
class Repeats {
  readonly #kinds = new Map<string, Kind>();

  /** The line to write; `undefined`: it is only counted. */
  admit(entry: Entry): Entry | undefined {
    for (const [key, { written }] of this.#kinds) {
      if (endsTrouble(entry, written)) this.#kinds.delete(key);
    }
    if (entry.level !== "error" && entry.level !== "warn") return entry;
    const key = kindOf(entry);
    const known = this.#kinds.get(key);
    const passedMs = entry.timeMs - (known?.written.timeMs ?? -Infinity);
    if (known !== undefined && passedMs < REPEAT_WINDOW_MS) {
      known.count++;
      return undefined;
    }
    this.#kinds.delete(key);
    this.#kinds.set(key, { written: entry, count: 0 });
    dropOldest(this.#kinds, MAX_KINDS);
    if (known === undefined || known.count === 0) return entry;
    const fields = {
      ...entry.fields,
      repeated: known.count + 1,
      repeatedSec: Math.round(passedMs / 1_000),
    };
    return { ...entry, fields };
  }
}

/** Fields that name what a line is about: two of them are equal only where these are. */
const SUBJECTS = [
  "explanation",
  "what",
  "leg",
  "chain",
  "to",
  "worker",
  "check",
  "pair",
  "method",
  "kind",
  "setting",
  "from",
  "withdrawal",
] as const;

function kindOf({ level, event, code, fields }: Entry): string {
  const { endpoint, error } = fields;
  const said = error instanceof Error ? `${error.name} ${errorCode(error) ?? error.message}` : error;
  const accused = accusedOf(error) ?? endpoint;
  return [level, event, code, ...SUBJECTS.map((name) => fields[name]), accused, said].map(String).join("\n");
}

/** Endpoint that an error names: in itself, or as the place of a fault. */
function accusedOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  if ("endpoint" in error) return error.endpoint;
  const where: unknown = "where" in error ? error.where : undefined;
  return typeof where === "object" && where !== null ? Reflect.get(where, "endpointHost") : undefined;
}
