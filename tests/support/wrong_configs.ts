/** Wrong configuration files as data; the lines that must be said about each stand in a text beside them. */
import { type ConfigResult, renderDiagnostic, renderRemark } from "../../src/core/config/diagnostics.ts";
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
