/**
 * From a path to a parsed TOML document, or to the problem that stands in the way.
 */
import { parse, TomlError, type TomlTable } from "smol-toml";
import { type LineLookup, locateKeys } from "./key_locator.ts";
import type { Problem } from "./problem.ts";
import { looksSecret } from "./redact.ts";

/** Access to files, handed in by the program. */
export interface ConfigFiles {
  /**
   * Whole content of a file; relative paths are relative to the working directory.
   * @throws the runtime's error, which is told apart by its `name` or `code` only.
   */
  readonly readFile: (path: string) => Uint8Array;
}

/** A parsed document and the lines of its keys. */
export interface TomlDocument {
  /** Integers are bigint and floats are number, so that the two stay apart. */
  readonly table: TomlTable;
  readonly lineOf: LineLookup;
}

/** Text of the file at `path`, or why there is none. */
export function readTextFile(files: ConfigFiles, path: string): { text: string } | { problem: Problem } {
  let bytes: Uint8Array;
  try {
    bytes = files.readFile(path);
  } catch (error) {
    return { problem: fileProblem(fileFailure(error), "a readable TOML file") };
  }
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { problem: fileProblem("bytes that are not UTF-8", "a TOML file in UTF-8") };
  }
}

/** Parses TOML. A syntax error is told with line and column, and with no more of the text than a key. */
export function parseToml(text: string): TomlDocument | { problem: Problem } {
  try {
    const table = parse(text, { integersAsBigInt: true });
    return { table, lineOf: locateKeys(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return { problem: syntaxProblem(text, error) };
  }
}

/** Why a file could not be read, in words, from the error of Deno or Node. */
export function fileFailure(error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (name === "NotFound" || code === "ENOENT") return "no file at this path";
  if (name === "IsADirectory" || code === "EISDIR") return "a directory";
  if (name === "PermissionDenied" || name === "NotCapable" || code === "EACCES" || code === "EPERM") {
    return "a file that this user may not read";
  }
  if (name === "NotADirectory" || code === "ENOTDIR") {
    return "a path that leads through something other than a directory";
  }
  return "a file that cannot be read";
}

function fileProblem(found: string, expected: string): Problem {
  return { section: "", path: "", line: undefined, found, expected, hint: undefined };
}

function syntaxProblem(text: string, error: TomlError): Problem {
  const reason = (error.message.split("\n", 1)[0] ?? "").replace("Invalid TOML document: ", "");
  const start = safeStart(text.split(/\r?\n/)[error.line - 1] ?? "");
  const after = start === "" ? "" : ` of \`${start} ...\``;
  return {
    section: "",
    path: "",
    line: error.line,
    found: `a syntax error at column ${error.column}${after}: ${reason}`,
    expected: "TOML",
    hint: syntaxHint(reason, error.column),
  };
}

function syntaxHint(reason: string, column: number): string | undefined {
  if (reason === "invalid value" && column > 1) return "text values need quotes";
  return reason === "control characters are not allowed in strings"
    ? "a closing quote may be missing"
    : undefined;
}

/** The key or header at the start of a line, where it is plainly one; values are never shown. */
function safeStart(line: string): string {
  const start = /^\s*([a-z][a-z0-9_]{0,39} ?=|\[{1,2}[A-Za-z][A-Za-z0-9_.-]{0,31}\]{0,2})/.exec(line)?.[1] ??
    "";
  return looksSecret(start) ? "" : start;
}
