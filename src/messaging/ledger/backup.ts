/** Copies of the database file, which appear under their name when they are complete and were read back. */
import type { Clock } from "../../core/runtime/clock.ts";
import { explainForeignPath, statOrUndefined } from "../../core/runtime/file_access.ts";
import { toLedgerFault } from "./database.ts";
import { LedgerFault } from "./fault.ts";
import { makeFolderBeside } from "./file_copy.ts";
import { toFileFault } from "./file_faults.ts";
import { openReadOnlyDatabase } from "./open.ts";
import { checkIntegrity } from "./schema.ts";
import { dirname, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";

/** More pages than a database has: all are read in one transaction, which no write of the relayer begins again. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * Copies a database as it is now to a new file, also while a relayer works on it; returns the size of the copy, bytes.
 * @throws {LedgerFault}
 */
export async function copyDatabase(
  path: string,
  target: string,
  clock: Pick<Clock, "now">,
): Promise<number> {
  // Whose file it is, and what is wrong with it, is told before a folder is made.
  openReadOnlyDatabase(path, clock).close();
  let folder: string | undefined;
  try {
    refuseTarget(path, target);
    folder = makeFolderBeside(target);
    await copyPages(path, `${folder}/copy.db`);
    return finish(`${folder}/copy.db`, target, clock);
  } catch (error) {
    throw toLedgerFault(error, path) ?? toFileFault(error, path, target);
  } finally {
    if (folder !== undefined) Deno.removeSync(folder, { recursive: true });
  }
}

async function copyPages(path: string, copy: string): Promise<void> {
  const sqlite = new DatabaseSync(resolve(path), { readOnly: true });
  try {
    await backup(sqlite, copy, { rate: ALL_PAGES });
  } finally {
    sqlite.close();
  }
}

/** @throws {LedgerFault} when there is something at the place of the copy, or nowhere to put it. */
function refuseTarget(path: string, target: string): void {
  const foreign = explainForeignPath(target);
  if (foreign !== undefined) throw new LedgerFault("denied", { path, text: foreign });
  if (statOrUndefined(target) !== undefined) {
    throw new LedgerFault("not_a_file", { path, text: `the copy ${target} exists already. Name a new file` });
  }
  const directory = dirname(resolve(target));
  if (statOrUndefined(directory) !== undefined) return;
  const text = `the directory ${directory} does not exist. Create it first`;
  throw new LedgerFault("no_directory", { path, text });
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
