/**
 * The lock by which only one program works on a database: an advisory one (flock) on a file beside it. The kernel
 * releases it when the process ends, however it ends, so the file itself means nothing and stays. SQLite's own locks
 * last no longer than a transaction: others may read and replicate the database meanwhile.
 */
import { LedgerFault } from "./fault.ts";
import { toFileFault } from "./file_faults.ts";
import { resolve } from "node:path";

/** A lock that is held. */
export interface FileLock {
  /** Ends it; the file stays. */
  release(): void;
}

/** Longest content of the file that is read, bytes. */
const MAX_CONTENT_BYTES = 256;

/**
 * Takes the lock of the database at `path`, which exists; it lasts until it is released or the process dies.
 * @throws {LedgerFault} `locked` at once when another process has it.
 */
export function takeLock(path: string): FileLock {
  const place = placeOf(path);
  let file: Deno.FsFile | undefined;
  try {
    const opened = file = openOwn(path, place);
    if (!file.tryLockSync(true)) throw heldFault(path, place, file);
    const note = `${Deno.pid}\nThe process that works on this database locks this file. Leave it here.\n`;
    file.truncateSync();
    file.writeSync(new TextEncoder().encode(note));
    return { release: () => release(opened) };
  } catch (error) {
    file?.close();
    throw error instanceof LedgerFault ? error : toFileFault(error, path, place);
  }
}

/** Makes the file, or opens the one that is there: it is emptied later, so it must be ours, and is not found by a link. */
function openOwn(path: string, place: string): Deno.FsFile {
  try {
    return Deno.openSync(place, { read: true, write: true, createNew: true, mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  const found = Deno.lstatSync(place);
  const file = isOwnFile(found) ? Deno.openSync(place, { read: true, write: true }) : undefined;
  const opened = file?.statSync();
  if (file !== undefined && opened?.ino === found.ino && opened.dev === found.dev) return file;
  file?.close();
  const text = `${place} is not a file of this user alone. Remove it while no relayer runs on this database`;
  throw new LedgerFault("denied", { path, text });
}

/** Unlocks before it closes: a child process that was just forked has the file open for a moment longer (flock(2)). */
function release(file: Deno.FsFile): void {
  file.unlockSync();
  file.close();
}

/**
 * Refuses a database that another process works on; leaves no trace.
 * @throws {LedgerFault} `locked`.
 */
export function refuseHeld(path: string): void {
  const place = placeOf(path);
  let file: Deno.FsFile | undefined;
  try {
    file = Deno.openSync(place);
    if (!file.tryLockSync(true)) throw heldFault(path, place, file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return; // nobody has ever worked on it
    throw error instanceof LedgerFault ? error : toFileFault(error, path, place);
  } finally {
    file?.close();
  }
}

/** The file for a database: beside the file itself, whatever links lead to it. */
function placeOf(path: string): string {
  return `${Deno.realPathSync(resolve(path))}.lock`;
}

function heldFault(path: string, place: string, file: Deno.FsFile): LedgerFault {
  const holder = readHolder(file);
  return new LedgerFault("locked", {
    path,
    text: `another process uses it (${holder === undefined ? "it" : `process ${holder}`} locks ${place}). ` +
      "Stop the other program (a running causeway, or a manual run) and start again",
  });
}

/** Number of the process that has locked the file; one in a container has a number of its own there. */
function readHolder(file: Deno.FsFile): string | undefined {
  const bytes = new Uint8Array(MAX_CONTENT_BYTES);
  const count = file.readSync(bytes) ?? 0;
  return /^\d+/.exec(new TextDecoder().decode(bytes.subarray(0, count)))?.[0];
}

/** True for a regular file of this user that has no other name. */
function isOwnFile({ isFile, uid, nlink }: Deno.FileInfo): boolean {
  return isFile && nlink === 1 && uid === Deno.uid();
}
