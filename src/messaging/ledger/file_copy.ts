/** Copies of the database file: each is complete, flushed and readable by its owner alone before it gets its name. */
import { type Database, toLedgerFault } from "./database.ts";
import { toFileFault } from "./file_faults.ts";
import { basename, dirname, resolve } from "node:path";

/**
 * Copies a database as it is now, also while others work on it, and hands the copy to `place`, which moves it to `target`
 * on the same file system.
 * @throws {LedgerFault}
 */
export function copyDatabaseTo<T>(db: Database, target: string, place: (copy: string) => T): T {
  let folder: string | undefined;
  try {
    // A folder that only this user may enter.
    folder = Deno.makeTempDirSync({ dir: dirname(resolve(target)), prefix: `.${basename(target)}-` });
    const copy = `${folder}/copy.db`;
    db.run("VACUUM INTO :copy", { copy });
    Deno.chmodSync(copy, 0o600);
    using file = Deno.openSync(copy, { read: true, write: true });
    file.syncSync();
    return place(copy);
  } catch (error) {
    throw toLedgerFault(error, db.path) ?? toFileFault(error, db.path, target);
  } finally {
    if (folder !== undefined) Deno.removeSync(folder, { recursive: true });
  }
}
