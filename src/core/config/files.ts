/** What a configuration names outside of itself. Apart from what reads it, because commands say it, too. */

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

/** Permission of everybody to read. */
const OTHERS_READ = 0o004;

/** What is wrong with who may read a file; `undefined`: nothing, or it cannot be said. */
export function describeExposure(
  { readMode }: Pick<ConfigFiles, "readMode">,
  path: string,
): string | undefined {
  const mode = readMode?.(path);
  if (mode === undefined || (mode & OTHERS_READ) === 0) return undefined;
  return `a file that every user of this machine can read (mode ${(mode & 0o777).toString(8)})`;
}

/** Before the URL of a Web3Signer. */
export const REMOTE_PREFIX = "web3signer:";

/** Says that a text means a Web3Signer. */
export function isRemote(given: string): boolean {
  return given.startsWith(REMOTE_PREFIX);
}
