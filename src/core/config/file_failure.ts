/** Faults of files in words, for both programs: apart from what reads the files, because commands say them, too. */

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
