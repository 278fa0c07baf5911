/** Formats a log entry as one line of text, for people or for programs. Pure. */
import { quoted } from "../config/redact.ts";
import { type Plain, toPlain } from "./field_value.ts";
import type { LogFields, LogLevel } from "./log.ts";

/** Log entry to format. */
export interface Entry {
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly level: LogLevel;
  /** Stable event code, see events.ts. */
  readonly event: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** Options of a format. */
export interface FormatOptions {
  /** Terminal escape codes; human format only. */
  readonly hasColour: boolean;
  /** Include the stacks of errors. */
  readonly withStack: boolean;
  /** True: the system's journal reads the lines, which adds the time itself and takes the level from a prefix. */
  readonly isJournal?: boolean;
}

/** Formats an entry, without the line break. */
export type LineFormat = (entry: Entry, options: FormatOptions) => string;

const colours: Readonly<Record<LogLevel, string>> = {
  debug: "\x1b[2m",
  info: "\x1b[32m",
  warn: "\x1b[33m",
  error: "\x1b[31m",
};
/** Prefixes of sd-daemon(3): journalctl -p shows lines by level. */
const priorities: Readonly<Record<LogLevel, string>> = {
  debug: "<7>",
  info: "<6>",
  warn: "<4>",
  error: "<3>",
};

const faint = "\x1b[2m";
const colourEnd = "\x1b[0m";

/** Width of the leg or chain column; fits `EVM-11155111 -> KUSAMA-4009`. */
const placeWidth = 28;

/**
 * Formats `2026-01-01T00:00:00.000Z INFO  EVM-1 -> POLKADOT-3367       Batch sent messages=3`: time, level, leg or chain,
 * text (with its explanation), values. Warnings and errors end with their event in brackets: the word to look up.
 */
export const humanLine: LineFormat = (entry, options) => {
  const level = entry.level.toUpperCase().padEnd(5);
  const shown = options.hasColour ? `${colours[entry.level]}${level}${colourEnd}` : level;
  const { place, said } = humanText(entry, options);
  const text = `${place.padEnd(placeWidth)} ${said}`;
  if (options.isJournal) return `${priorities[entry.level]}${level} ${text}${shownEvent(entry, options)}`;
  return `${new Date(entry.timeMs).toISOString()} ${shown} ${text}${shownEvent(entry, options)}`;
};

/** Formats the leg or chain of an entry, and its text with its values, without time and level. */
export function humanText(
  entry: Entry,
  options: FormatOptions,
): { readonly place: string; readonly said: string } {
  const { leg, chain, explanation, repeated, repeatedSec, ...rest } = entry.fields;
  const place = typeof leg === "string" ? leg : typeof chain === "string" ? chain : "";
  const values = Object.entries(rest).flatMap(([name, value]) => humanField(name, value, options));
  const again = typeof repeated === "number" && typeof repeatedSec === "number"
    ? ` (again ${repeated} time${repeated === 1 ? "" : "s"} in ${formatSpan(repeatedSec)})`
    : "";
  const message = `${entry.message}${again}`;
  const text = typeof explanation === "string" ? `${message}: ${explanation}` : message;
  return { place: printable(place), said: [printable(text), ...values].join(" ") };
}

/** Formats a time in the words of a log line. */
function formatSpan(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${seconds} second${seconds === 1 ? "" : "s"}`;
  return `${minutes} minutes`;
}

function shownEvent({ level, event }: Entry, { hasColour }: FormatOptions): string {
  if (level !== "warn" && level !== "error") return "";
  return hasColour ? ` ${faint}[${event}]${colourEnd}` : ` [${event}]`;
}

function humanField(name: string, value: unknown, options: FormatOptions): string[] {
  if (value instanceof Error) return humanError(name, value, options);
  const plain = toPlain(value, options);
  return plain === undefined ? [] : [`${name}=${humanValue(plain)}`];
}

/** Formats an error: its message and, if more specific, its name; the causes follow as `<-`. */
function humanError(name: string, error: Error, options: FormatOptions): string[] {
  const parts = [`${name}=${quoted(errorText(error))}`];
  if (options.withStack && error.stack !== undefined) parts.push(`stack=${quoted(error.stack)}`);
  return parts;
}

function errorText(error: Error, depth = 0): string {
  const own = error.name === "Error" ? error.message : `${error.name}: ${error.message}`;
  if (error.cause === undefined || depth >= 3) return own;
  const cause = error.cause instanceof Error ? errorText(error.cause, depth + 1) : String(error.cause);
  return `${own} <- ${cause}`;
}

function humanValue(plain: Plain): string {
  if (typeof plain === "string") return /^[^\s"=\p{C}]+$/u.test(plain) ? plain : quoted(plain);
  return JSON.stringify(plain);
}

/** Removes control characters, so foreign text cannot start a line of its own. */
function printable(text: string): string {
  return /[\p{C}\u2028\u2029]/u.test(text) ? quoted(text) : text;
}

/**
 * One JSON object per line: `time`, `level`, `event`, `message`, then the fields. A field with one of these names
 * gets a trailing `_`.
 */
export const jsonLine: LineFormat = (entry, options) => {
  const line: Record<string, Plain> = {
    time: new Date(entry.timeMs).toISOString(),
    level: entry.level,
    event: entry.event,
    message: entry.message,
  };
  const own = new Set(Object.keys(line));
  for (const [name, value] of Object.entries(entry.fields)) {
    const plain = toPlain(value, options);
    if (plain !== undefined) line[own.has(name) ? `${name}_` : name] = plain;
  }
  return JSON.stringify(line);
};
