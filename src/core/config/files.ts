/** Files that a configuration names, and what is wrong with them in words. */

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
  /** Called for each private key that stands in the file itself. */
  readonly noteInlineKey?: () => void;
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
