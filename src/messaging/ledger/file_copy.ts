/** Copies of a database, which appear under their name when they are complete. */
import type { Database } from "./database.ts";
import { toFileFault } from "./file_faults.ts";
import { basename, dirname, resolve } from "node:path";

/**
 * Copies what is committed in an open database to a file that only this user may read, and places that.
 * @param place puts the complete copy in its place
 * @throws {LedgerFault}
 */
export function copyInto<T>(db: Database, target: string, place: (copy: string) => T): T {
  let folder: string | undefined;
  try {
    folder = Deno.makeTempDirSync({ dir: dirname(resolve(target)), prefix: `.${basename(target)}-` });
    const copy = `${folder}/copy.db`;
    db.run("VACUUM INTO :copy", { copy });
    Deno.chmodSync(copy, 0o600);
    using file = Deno.openSync(copy, { read: true, write: true });
    file.syncSync();
    return place(copy);
  } catch (error) {
    throw toFileFault(error, db.path, target);
  } finally {
    if (folder !== undefined) Deno.removeSync(folder, { recursive: true });
  }
}
