/** Copies of the database file, which appear under their name when they are complete and were read back. */
import type { Clock } from "../../core/runtime/clock.ts";
import { LedgerFault } from "./fault.ts";
import { openDatabase, openReadOnlyDatabase, toFileFault } from "./open.ts";
import { checkIntegrity } from "./schema.ts";
import { basename, dirname, resolve } from "node:path";

/** How the file is kept as it is while it is copied. */
export interface CopyGuard {
  readonly clock: Pick<Clock, "now">;
  /** Ends the copying; false when the file may have changed meanwhile. */
  readonly end: () => Promise<boolean> | boolean;
}

/** Copies a database that no relayer has open; returns the size of the copy. @throws {LedgerFault} */
export function copyDatabase(path: string, target: string, clock: Pick<Clock, "now">): Promise<number> {
  const db = openDatabase(path, { clock }); // locks it
  db.row("PRAGMA wal_checkpoint(TRUNCATE)");
  const end = (): boolean => {
    db.close();
    return true;
  };
  return copyGuarded(path, target, { clock, end });
}

/**
 * Copies the file of a database that does not change until the guard's end; returns the size of the copy.
 * @throws {LedgerFault}
 */
export async function copyGuarded(
  path: string,
  target: string,
  { clock, end }: CopyGuard,
): Promise<number> {
  let folder: string | undefined;
  let file: Deno.FsFile | undefined;
  try {
    let isLeftAlone = false;
    try {
      folder = makeFolder(path, target);
      file = Deno.openSync(resolve(path));
      await file.readable.pipeTo(Deno.createSync(`${folder}/copy.db`).writable, { preventCancel: true });
    } finally {
      // Closing a descriptor of the file drops all locks of this process on it: not before the end.
      isLeftAlone = await end();
    }
    if (!isLeftAlone) {
      throw new LedgerFault("io", {
        path,
        text: "it changed while it was copied (another backup, or a slow disk). Try again",
      });
    }
    return finish(`${folder}/copy.db`, target, clock);
  } catch (error) {
    throw error instanceof LedgerFault ? error : toFileFault(error, path, target);
  } finally {
    if (folder !== undefined) Deno.removeSync(folder, { recursive: true });
  }
}

/** Makes a folder on the file system of the target that only this user may enter. */
function makeFolder(path: string, target: string): string {
  const directory = dirname(resolve(target));
  if (exists(target)) {
    throw new LedgerFault("not_a_file", { path, text: `the copy ${target} exists already. Name a new file` });
  }
  if (!exists(directory)) {
    throw new LedgerFault("no_directory", {
      path,
      text: `the directory ${directory} does not exist. Create it first`,
    });
  }
  return Deno.makeTempDirSync({ dir: directory, prefix: `.${basename(target)}-` });
}

function exists(place: string): boolean {
  try {
    Deno.lstatSync(place);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Reads the complete copy back, and moves it to its place. */
function finish(copy: string, target: string, clock: Pick<Clock, "now">): number {
  Deno.chmodSync(copy, 0o600);
  const file = Deno.openSync(copy, { read: true, write: true });
  file.syncSync();
  const { size } = file.statSync();
  file.close();
  const db = openReadOnlyDatabase(copy, clock);
  try {
    checkIntegrity(db, BigInt(size));
  } finally {
    db.close();
  }
  Deno.linkSync(copy, target); // unlike a rename, it replaces nothing
  return size;
}
