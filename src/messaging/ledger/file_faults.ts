/**
 * Faults of the file system, told as faults of the database: what is wrong with a path, and what to do about it.
 */
import { explainForeignPath } from "../../core/runtime/file_access.ts";
import { LedgerFault } from "./fault.ts";
import { dirname, resolve } from "node:path";

/** Size of the file that is written to find out what fails: the index that SQLite keeps beside its log is half of it. */
const PROBE_BYTES = 65_536;

/** @throws {LedgerFault} when there is no directory for the file, something else in its place, or it is not for root. */
export function refuseWrongPlace(path: string): void {
  const directory = dirname(resolve(path));
  const parent = statOrUndefined(directory, path);
  if (parent === undefined) {
    throw new LedgerFault("no_directory", {
      path,
      text: `the directory ${directory} does not exist. Create it first`,
    });
  }
  if (!parent.isDirectory) {
    throw new LedgerFault("no_directory", {
      path,
      text: `${directory} is not a directory. Name another path with --db`,
    });
  }
  const foreign = explainForeignPath(path);
  if (foreign !== undefined) throw new LedgerFault("denied", { path, text: foreign });
  const file = findFile(path);
  if (file !== undefined && !file.isFile) {
    const kind = file.isDirectory ? "a directory" : "not a regular file";
    throw new LedgerFault("not_a_file", { path, text: `it is ${kind}. Name a file with --db` });
  }
}

/** The file at the path of a database; `undefined`: there is none. @throws {LedgerFault} */
export function findFile(path: string): Deno.FileInfo | undefined {
  return statOrUndefined(resolve(path), path);
}

function statOrUndefined(place: string, path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(place);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Deno.errors.NotADirectory) return undefined;
    throw toFileFault(error, path, place);
  }
}

/** Tests what SQLite needs, to report what fails; `undefined` when nothing does. */
export function findReason(path: string): LedgerFault | undefined {
  const file = resolve(path);
  const directory = dirname(file);
  try {
    if (statOrUndefined(file, path) !== undefined) Deno.openSync(file, { read: true, write: true }).close();
  } catch (error) {
    return toFileFault(error, path, file);
  }
  const probe = `${file}.probe`;
  try {
    removeQuietly(probe); // a link is not followed: what is left there is never written to
    using written = Deno.openSync(probe, { write: true, createNew: true, mode: 0o600 });
    written.writeSync(new Uint8Array(PROBE_BYTES));
    return undefined;
  } catch (error) {
    return toFileFault(error, path, directory);
  } finally {
    removeQuietly(probe);
  }
}

function removeQuietly(file: string): void {
  try {
    Deno.removeSync(file);
  } catch {
    // It was never made.
  }
}

/** Converts an error of the operating system at `place` to a fault of the database at `path`. */
export function toFileFault(error: unknown, path: string, place: string): LedgerFault {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new LedgerFault("full", {
      path,
      text: "no space left on the device. Free some space",
      cause: error,
    });
  }
  if (code === "EROFS") {
    const text = `${place} is on a file system that is mounted read-only. Map a writable directory`;
    return new LedgerFault("readonly", { path, text, cause: error });
  }
  if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable) {
    return new LedgerFault("denied", { path, text: deniedText(place), cause: error });
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new LedgerFault("io", { path, text: `${place}: ${reason}`, cause: error });
}

function deniedText(place: string): string {
  return `this user may not read and write ${place}${
    ownerText(place)
  }. Give the directory to the user that runs ` +
    `the program; in a container any user will do: chown -R 65532:65532 the mapped directory, or run with ` +
    `--user "$(id -u):$(id -g)"`;
}

function ownerText(place: string): string {
  try {
    const { uid, gid } = Deno.statSync(place);
    return uid === null ? "" : ` (owned by ${uid}:${gid})`;
  } catch {
    return ""; // the owner is optional information
  }
}
