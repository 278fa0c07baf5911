/**
 * From a path to a TOML document: its values, and the line of every key in it. Values and lines come from one syntax
 * tree, so a line is never that of something else.
 */
import { isUtf8 } from "node:buffer";
import { type AST, ParseError, parseTOML } from "toml-eslint-parser";
import type { Diagnostic, KeyPath, LineLookup } from "./diagnostics.ts";
import { looksSecret } from "./redact.ts";

/** A value of a document. Integers are bigint and floats are number, so that the two stay apart. */
export type TomlValue = string | bigint | number | boolean | Date | readonly TomlValue[] | TomlTable;

/** A section or an inline table; without a prototype. */
export interface TomlTable {
  readonly [key: string]: TomlValue;
}

/** A parsed document and the lines of its keys, array elements and section headers. */
export interface TomlDocument {
  readonly table: TomlTable;
  readonly lineOf: LineLookup;
}

/** Text of the file at `path`, or why there is none, with the line where it is no text. */
export function readTextFile(
  files: ConfigFiles,
  path: string,
): { readonly value: string } | { readonly found: string; readonly line?: number } {
  if (path === "") return { found: "an empty text" };
  let bytes: Uint8Array;
  try {
    bytes = files.readFile(path);
  } catch (error) {
    return { found: fileFailure(error) };
  }
  const text = new TextDecoder().decode(bytes);
  if (isUtf8(bytes)) return { value: text };
  return { found: "bytes that are not UTF-8", line: text.split("\uFFFD", 1)[0]?.split("\n").length ?? 1 };
}

/** A problem with the file as a whole. */
export function fileProblem(found: string, expected: string, line?: number): Diagnostic {
  return { kind: "problem", place: "", line, found, expected };
}

/** Parses TOML 1.1. A syntax error is told with line and column, and with no more of the text than a key. */
export function parseToml(text: string): TomlDocument | { problem: Diagnostic } {
  const plain = text.replace(/^\uFEFF/, "");
  try {
    return new DocumentBuilder().build(parseTOML(plain, { tomlVersion: "1.1" }));
  } catch (error) {
    if (error instanceof ParseError) return { problem: syntaxProblem(plain, error) };
    // The stack is full: the parser calls itself for each level, and with each character of a text.
    if (error instanceof RangeError) {
      return { problem: fileProblem("too many levels, or too long a text", "a TOML file of moderate size") };
    }
    throw error;
  }
}

/** True for a section or an inline table. */
export function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** A value as it stands behind a key; numbers are written as they print, so whole ones are integers. */
export function inlineToml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inlineToml).join(", ")}]`;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).map(([key, inner]) => `${quotedKey(key)} = ${inlineToml(inner)}`);
  return `{ ${pairs.join(", ")} }`;
}

/** A key, in quotes where it needs them. */
export function quotedKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

/** Turns a syntax tree into values and lines. The parser has refused keys that are defined twice. */
class DocumentBuilder {
  readonly #root: TomlTable = emptyTable();
  /** Where a key is written out, in the order of the file. */
  readonly #written = new Map<string, number>();

  build(program: AST.TOMLProgram): TomlDocument {
    for (const node of program.body[0].body) {
      if (node.type === "TOMLKeyValue") this.#pair(node, []);
      else {
        this.#note(node.resolvedKey, node);
        put(this.#root, node.resolvedKey);
        for (const pair of node.body) this.#pair(pair, node.resolvedKey);
      }
    }
    return {
      table: this.#root,
      lineOf: (path) => {
        const name = JSON.stringify(path);
        // A table may only be implied by a longer key, `a` by `[a.b]`.
        const below = `${name.slice(0, -1)},`;
        return this.#written.get(name) ?? this.#written.entries().find(([key]) => key.startsWith(below))?.[1];
      },
    };
  }

  #pair({ key, value }: AST.TOMLKeyValue, above: KeyPath): void {
    const path = [...above, ...key.keys.map((part) => part.type === "TOMLBare" ? part.name : part.value)];
    this.#note(path, key);
    this.#value(value, path);
  }

  #value(node: AST.TOMLContentNode, path: KeyPath): void {
    switch (node.type) {
      case "TOMLArray":
        put(this.#root, path, []);
        node.elements.forEach((element, index) => {
          this.#note([...path, index], element);
          this.#value(element, [...path, index]);
        });
        break;
      case "TOMLInlineTable":
        put(this.#root, path);
        for (const pair of node.body) this.#pair(pair, path);
        break;
      case "TOMLValue":
        put(this.#root, path, node.kind === "integer" ? node.bigint : node.value);
    }
  }

  #note(path: KeyPath, { loc }: AST.TOMLNode): void {
    const name = JSON.stringify(path);
    if (!this.#written.has(name)) this.#written.set(name, loc.start.line);
  }
}

function emptyTable(): TomlTable {
  return Object.create(null);
}

/** Puts a value, or a table where there is none yet, at a path; tables and arrays above it are made. */
function put(root: TomlTable, path: KeyPath, value?: TomlValue): void {
  let above: object = root;
  path.forEach((step, at) => {
    const isLast = at === path.length - 1;
    const made = isLast && value !== undefined ? value : Reflect.get(above, step) ??
      (typeof path[at + 1] === "number" ? [] : emptyTable());
    Reflect.set(above, step, made);
    if (!isLast) above = made;
  });
}

function syntaxProblem(text: string, error: ParseError): Diagnostic {
  const { line, column, reason } = placeOf(text, error);
  const here = text.split(/\r?\n/)[line - 1] ?? "";
  const start = safeStart(here);
  const after = start === "" ? "" : ` of \`${start} ...\``;
  return {
    ...fileProblem(`a syntax error at column ${column}${after}: ${reason}`, "TOML", line),
    hint: syntaxHint(error.message, here.slice(0, column - 1)) ?? firstOf(text, line, start),
  };
}

/** What the parser says of a line that ends too early; it says so of the first thing on a later line. */
const UNFINISHED = /^Unterminated table-key|equal \(=\) token|must be on the same line/;

/** Line and column of an error, both from 1, and the reason: of an unfinished line its end, not what comes after it. */
function placeOf(
  text: string,
  { message, index, lineNumber: line, column }: ParseError,
): { readonly line: number; readonly column: number; readonly reason: string } {
  const before = text.slice(0, index).split(/\r?\n/);
  if (before.at(-1)?.trim() !== "" || !UNFINISHED.test(message)) {
    return { line, column: column + 1, reason: message.charAt(0).toLowerCase() + message.slice(1) };
  }
  const at = before.findLastIndex((candidate) => !/^\s*(?:#|$)/.test(candidate));
  return {
    line: at + 1,
    column: (before[at] ?? "").trimEnd().length + 1,
    reason: "the line is not finished",
  };
}

/** Where a header that stands there twice is first. */
function firstOf(text: string, line: number, start: string): string | undefined {
  if (!start.startsWith("[")) return undefined;
  const first = text.split(/\r?\n/).findIndex((each) => safeStart(each) === start) + 1;
  return first > 0 && first < line ? `the first is in line ${first}` : undefined;
}

function syntaxHint(reason: string, before: string): string | undefined {
  if (reason.startsWith("Unexpected") && /=\s*$/.test(before)) return "text values need quotes";
  return reason === "Unterminated string constant" ? "a closing quote may be missing" : undefined;
}

/** The key or header at the start of a line, where it is plainly one and whole; values are never shown. */
function safeStart(line: string): string {
  const start =
    /^\s*([a-z][a-z0-9_]{0,39} ?=|\[{1,2}[A-Za-z][A-Za-z0-9_.-]{0,31}(?![A-Za-z0-9_.-])\]{0,2})/.exec(line)
      ?.[1] ??
      "";
  return looksSecret(start) ? "" : start;
}

/** Access to files, handed in by the program. */
export interface ConfigFiles {
  /**
   * Whole content of a file; relative paths are relative to the working directory.
   * @throws the runtime's error, which is told apart by its `name` or `code` only.
   */
  readonly readFile: (path: string) => Uint8Array;
  /** A variable of the environment, for `${NAME}` in a file; `undefined`: not set. Absent: there are none. */
  readonly readVariable?: (name: string) => string | undefined;
  /** Permissions of a file (as `chmod` takes them); `undefined`: unknown. Absent: always. */
  readonly readMode?: (path: string) => number | undefined;
  /** Keys of keystores that were opened before, by a hash of file and password. */
  readonly openedKeystores?: Map<string, Uint8Array>;
}

/** What is at a path, by the names and codes of the errors of Deno and Node. */
const FAILURES: readonly (readonly [names: readonly string[], found: string])[] = [
  [["NotFound", "ENOENT"], "no file at this path"],
  [["IsADirectory", "EISDIR"], "a directory"],
  [["PermissionDenied", "NotCapable", "EACCES", "EPERM"], "a file that this user may not read"],
  [["NotADirectory", "ENOTDIR"], "a path that leads through something other than a directory"],
];

/** Why a file could not be read, in words, from the error of Deno or Node. */
export function fileFailure(error: unknown): string {
  const said = error instanceof Error ? [error.name, "code" in error ? error.code : ""] : [];
  const [, found] = FAILURES.find(([names]) => names.some((name) => said.includes(name))) ?? [];
  return found ?? "a file that cannot be read";
}

/**
 * What is wrong with who may use a file of this mode; `undefined`: nothing, or it cannot be said. Only what is secret must
 * not be read; nothing may be written by others: who changes a configuration or a key decides what is signed.
 */
export function describeExposure(mode: number | undefined, { isSecret = true } = {}): string | undefined {
  if (mode === undefined) return undefined;
  const right = (mode & 0o002) !== 0 ? "change" : isSecret && (mode & 0o004) !== 0 ? "read" : "";
  if (right === "") return undefined;
  return `a file that every user of this machine can ${right} (mode ${(mode & 0o777).toString(8)})`;
}
