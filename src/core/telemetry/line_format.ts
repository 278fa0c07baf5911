/** Formats a log entry as one line of text, for people or for programs. Pure. */
import { bytesToHex } from "@noble/hashes/utils.js";
import { ChainNames } from "../config/chain_names.ts";
import { escapeControls, quoted } from "../config/redact.ts";
import { formatDuration } from "../runtime/text_table.ts";
import type { LogFields, LogLevel } from "./log.ts";

/** Log entry to format. */
export interface Entry {
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly level: LogLevel;
  /** Stable name of the event, see log.ts. */
  readonly event: string;
  /** Variant of the event; absent: it has only one. */
  readonly code?: string | undefined;
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
  /** Names of chains; human format only. */
  readonly names?: ChainNames | undefined;
}

/** Formats an entry, without the line break. */
export type LineFormat = (entry: Entry, options: FormatOptions) => string;

/** Colours of levels, and prefixes of sd-daemon(3), by which journalctl -p shows lines. */
const styles: Readonly<Record<LogLevel, { readonly colour: string; readonly priority: string }>> = {
  debug: { colour: "\x1b[2m", priority: "<7>" },
  info: { colour: "\x1b[32m", priority: "<6>" },
  warn: { colour: "\x1b[33m", priority: "<4>" },
  error: { colour: "\x1b[31m", priority: "<3>" },
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
  const { colour, priority } = styles[entry.level];
  const shown = options.hasColour ? `${colour}${level}${colourEnd}` : level;
  const head = options.isJournal ? `${priority}${level}` : `${new Date(entry.timeMs).toISOString()} ${shown}`;
  const { place, said } = humanText(entry, options);
  return `${head} ${place.padEnd(placeWidth)} ${said}${shownEvent(entry, options)}`;
};

const UNNAMED = new ChainNames();

/** Formats the leg or chain of an entry, and its text with its values, without time and level. */
export function humanText(
  entry: Entry,
  options: FormatOptions,
): { readonly place: string; readonly said: string } {
  const { leg, chain, explanation, repeated, repeatedSec, ...rest } = entry.fields;
  const place = typeof leg === "string" ? leg : typeof chain === "string" ? chain : "";
  const values = Object.entries(rest).flatMap(([name, value]) => humanField(name, value, options));
  const again = typeof repeated === "number" && typeof repeatedSec === "number"
    ? ` (again ${repeated} time${repeated === 1 ? "" : "s"} in ${formatDuration(repeatedSec * 1_000)})`
    : "";
  const message = `${entry.message}${again}`;
  const text = typeof explanation === "string" ? `${message}: ${explanation}` : message;
  const { names = UNNAMED } = options;
  return {
    place: names.short(escapeControls(place)),
    said: names.full([escapeControls(text), ...values].join(" ")),
  };
}

function shownEvent({ level, event, code }: Entry, { hasColour }: FormatOptions): string {
  if (level !== "warn" && level !== "error") return "";
  const name = code === undefined ? event : `${event}.${code}`;
  return hasColour ? ` ${faint}[${name}]${colourEnd}` : ` [${name}]`;
}

function humanField(name: string, value: unknown, options: FormatOptions): string[] {
  if (value instanceof Error) return humanError(name, value, options);
  const json = JSON.stringify(value, replaceWith(options));
  if (json === undefined) return [];
  const text: string = json.startsWith('"') ? JSON.parse(json) : json;
  return [`${name}=${text === json || /^[^\s"=\p{C}]+$/u.test(text) ? text : quoted(text)}`];
}

/** Formats an error: its message and, if more specific, its name; the causes follow as `<-`. */
function humanError(name: string, error: Error, options: FormatOptions): string[] {
  const parts = [`${name}=${quoted(explainError(error))}`];
  if (options.withStack && error.stack !== undefined) parts.push(`stack=${quoted(error.stack)}`);
  return parts;
}

/** Says what an error is, and what caused it. */
export function explainError(error: Error, depth = 0): string {
  const own = error.name === "Error" ? error.message : `${error.name}: ${error.message}`;
  if (error.cause === undefined || depth >= 3) return own;
  const cause = error.cause instanceof Error ? explainError(error.cause, depth + 1) : String(error.cause);
  // A round of one endpoint repeats its only fault.
  return cause === own ? own : `${own} <- ${cause}`;
}

/**
 * One JSON object per line: `time`, `level`, `event`, `code` where the event has several, `message`, then the fields. A
 * field with one of these names gets a trailing `_`.
 */
export const jsonLine: LineFormat = ({ timeMs, level, event, code, message, fields }, options) => {
  const line = {
    time: new Date(timeMs).toISOString(),
    level,
    event,
    ...code !== undefined && { code },
    message,
  };
  const named = Object.entries(fields).map(([name, value]) => [name in line ? `${name}_` : name, value]);
  return JSON.stringify({ ...line, ...Object.fromEntries(named) }, replaceWith(options));
};

/** Maximum length of a byte string that is shown completely. */
const shownBytes = 64;

/** Maximum length of a list that is shown completely. */
const shownItems = 50;

/**
 * Converts values that JSON does not know: bigints become decimal text, bytes `0x` hex (cut after 64), errors their name,
 * code, message and causes; `stack` only on request. Objects with a `toJSON` (secrets, URLs) decide for themselves.
 */
function replaceWith(
  { withStack }: Pick<FormatOptions, "withStack">,
): (name: string, value: unknown) => unknown {
  return (_name, value) => {
    if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) {
      return String(value);
    }
    if (value instanceof Uint8Array) return bytesText(value);
    if (value instanceof Map) return Object.fromEntries([...value].slice(0, shownItems));
    if (value instanceof Error) {
      const { name, message, cause, stack } = value;
      return { name, code: errorCode(value), message, cause, ...withStack && { stack } };
    }
    if (!Array.isArray(value) || value.length <= shownItems) return value;
    return [...value.slice(0, shownItems), `[${value.length - shownItems} more]`];
  };
}

function bytesText(bytes: Uint8Array): string {
  if (bytes.length <= shownBytes) return `0x${bytesToHex(bytes)}`;
  return `0x${bytesToHex(bytes.subarray(0, shownBytes))}... (${bytes.length} bytes)`;
}

/** Returns the `code` of an error, if it has one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
