/** File access permission, which the programs need at start-up and then drop permanently, and whose files they are. */
import { readOrUndefined } from "../encoding/coded_error.ts";
import type { Log } from "../telemetry/log.ts";
import { dirname, resolve } from "node:path";

/**
 * Drops the whole process's permission to write files; the right to read stays, since configuration and keys may be
 * read again. Open files stay usable: the database keeps working with its log file, the control socket takes
 * connections, and endpoints remain reachable. Called after database and socket were opened: from then on a defect in a
 * library or a malicious answer of a node cannot change any file.
 */
export function dropWriteAccess(log: Pick<Log, "debug">): void {
  Deno.permissions.revokeSync({ name: "write" });
  log.debug("file_access_dropped");
}

/**
 * Explains why root must not work on files at a path; `undefined`: it may, or this is not root. Another user who owns the
 * file, or a directory or link on the way to it, could lead root to any file, at any time between a check and its use.
 */
export function explainForeignPath(path: string): string | undefined {
  if (Deno.uid() !== 0) return undefined;
  for (const start of [resolve(path), realPathOf(resolve(path))]) {
    for (let place = start;; place = dirname(place)) {
      const uid = statOrUndefined(place)?.uid ?? 0;
      if (uid !== 0) {
        return `${place} belongs to user ${uid}, and root does not work on files of others. ` +
          `Run this as that user (sudo -u '#${uid}' ...)`;
      }
      if (place === dirname(place)) break;
    }
  }
  return undefined;
}

/** Where links on a path lead to; the file may not be there yet. */
function realPathOf(path: string): string {
  return readOrUndefined(() => Deno.realPathSync(path)) ?? (path === "/" ? path : realPathOf(dirname(path)));
}

/** The file itself, which may be a link; `undefined`: there is none. */
export function statOrUndefined(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw error;
  }
}

/**
 * Locks a file for this process alone until the process ends, however it ends; nothing of the file changes.
 * @returns false when another process has locked it
 */
export function lockFile(path: string): boolean {
  const file = Deno.openSync(path);
  if (file.tryLockSync(true)) return true; // and it stays open
  file.close();
  return false;
}

/** Permission bits of a file; `undefined`: it cannot be said, e.g. of a pipe of the shell that is gone once it was read. */
export function modeOf(path: string): number | undefined {
  return readOrUndefined(() => Deno.statSync(path).mode ?? undefined);
}
