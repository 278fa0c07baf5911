/** Wrong configuration files as data; the lines that must be said about each stand in a text beside them. */
import { type ConfigResult, renderDiagnostic, renderRemark } from "../../src/core/config/diagnostics.ts";
import { EndpointUrl, Secret } from "../../src/core/config/redact.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import type { MessagingConfig } from "../../src/messaging/config/schema.ts";
import type { ConfigFiles } from "../../src/core/config/toml.ts";

/** Texts of files by path. */
type MemoryFiles = Readonly<Record<string, string | Uint8Array | undefined>>;

/** A file that must be refused or remarked upon, and further files, by path relative to the working directory. */
export type WrongConfig = readonly [name: string, toml: string, files?: Readonly<Record<string, string>>];

/** The system's error for a path that cannot be read. */
export class FileError extends Error {
  constructor(override readonly name: string) {
    super("not shown");
  }
}

/** Files in memory; folders are the paths above them. */
export function inMemory(files: MemoryFiles = {}): Pick<ConfigFiles, "readFile"> {
  return {
    readFile: (path) => {
      const content = files[path];
      if (content instanceof Uint8Array) return content;
      if (content !== undefined) return new TextEncoder().encode(content);
      const isFolder = Object.keys(files).some((name) => name.startsWith(`${path}/`));
      throw new FileError(isFolder ? "IsADirectory" : "NotFound");
    },
  };
}

/** Edits a good file: each first text, which must occur, is replaced by the second. */
export function editorOf(good: string): (...changes: readonly (readonly [string, string])[]) => string {
  return (...changes) =>
    changes.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`Not in the good file: ${from}`);
      return text.replace(from, () => to);
    }, good);
}

/** Wrong values of keys, as the file has them; behind a value there may be lines with further keys. */
type WrongValues = Readonly<Record<string, readonly string[]>>;

/**
 * A good file with wrong values in one section, as often as the key with most of them has some: the first time with the
 * first of each key.
 */
export function withWrongValues(
  good: string,
  section: string,
  values: WrongValues,
  files?: Readonly<Record<string, string>>,
): readonly WrongConfig[] {
  const start = good.indexOf(`[${section}]`);
  const end = good.indexOf("\n[", start);
  const count = Math.max(...Object.values(values).map(({ length }) => length));
  return Array.from({ length: count }, (_, at): WrongConfig => {
    const lines = Object.entries(values).flatMap(([key, wrong]) =>
      wrong[at] === undefined ? [] : [[key, wrong[at]] as const]
    );
    const whole = lines.reduce((text, [key, value]) => {
      const others = text.replace(new RegExp(`^${key} = (?:\\[\n[^\\]]*\\]|.*)\\n`, "m"), "");
      return others.replace("]\n", () => `]\n${key} = ${value}\n`);
    }, good.slice(start, end));
    const names = lines.map(([key]) => key).join(", ");
    const toml = good.slice(0, start) + whole + good.slice(end);
    const name = `[${section}] ${at + 1}: ${names}`;
    return files === undefined ? [name, toml] : [name, toml, files];
  });
}

/** A reading with its problems and remarks as lines, without the file and the numbers of lines. */
interface LineReading extends ConfigResult<MessagingConfig> {
  readonly lines: readonly string[];
  readonly remarkLines: readonly string[];
}

/** Reads a file of the messaging relayer, which names no other file unless they are given. */
export function readMessaging(toml: string, files: Partial<ConfigFiles> = {}): LineReading {
  const readFile = (path: string): never => {
    throw new Error(`${path} was read`);
  };
  const reading = parseMessagingConfig({ readFile, ...files }, toml);
  const shown = (diagnostics: ConfigResult<unknown>["problems"]): readonly string[] =>
    diagnostics.map((each) => renderDiagnostic("r", each).replace(/^r(:\d+)?: /, ""));
  return { ...reading, lines: shown(reading.problems), remarkLines: shown(reading.remarks) };
}

/** The value at a path of a configuration such as `chains.0.signer`, with secrets and URLs revealed. */
export function valueAt(config: unknown, path: string): unknown {
  return revealed(path.split(".").reduce((above: unknown, name) => Object(above)[name], config));
}

function revealed(value: unknown): unknown {
  if (value instanceof EndpointUrl || value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, revealed(inner)]));
}

/** A program's reader of the text of a file. */
type Parse = (files: ConfigFiles, text: string) => ConfigResult<unknown>;

/** What is said of each file, below its name: problems, then warnings and notes. */
export function describeConfigs(path: string, files: readonly WrongConfig[], parse: Parse): string {
  return files.map(([name, toml, others]) => {
    const { problems, remarks } = parse(inMemory(others), toml);
    const lines = [
      ...problems.map((problem) => renderDiagnostic(path, problem)),
      ...remarks.map((remark) => renderRemark(path, remark)),
    ];
    return `# ${name}\n${lines.map((line) => `${line}\n`).join("")}`;
  }).join("");
}
