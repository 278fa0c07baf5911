/** What is wrong with files in words, for both programs: apart from what reads them, because commands say it, too. */

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
