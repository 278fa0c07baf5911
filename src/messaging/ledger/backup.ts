/** Copies of the database file for the operator, which are read back before they appear under their name. */
import type { Clock } from "../../core/runtime/clock.ts";
import { explainForeignPath, statOrUndefined } from "../../core/runtime/file_access.ts";
import { LedgerFault } from "./fault.ts";
import { copyDatabaseTo, openReadOnlyDatabase } from "./open.ts";
import { checkIntegrity } from "./schema.ts";
import { dirname, resolve } from "node:path";

/**
 * Copies a database as it is now to a new file, also while a relayer works on it; returns the size of the copy, bytes.
 * @throws {LedgerFault}
 */
export function copyDatabase(path: string, target: string, clock: Pick<Clock, "now">): number {
  const db = openReadOnlyDatabase(path, clock);
  try {
    refuseTarget(path, target);
    return copyDatabaseTo(db, target, (copy) => finish(copy, target, clock));
  } finally {
    db.close();
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
  const { size } = Deno.statSync(copy);
  const db = openReadOnlyDatabase(copy, clock);
  try {
    checkIntegrity(db, BigInt(size));
  } finally {
    db.close();
  }
  Deno.linkSync(copy, target); // unlike a rename, it replaces nothing
  return size;
}
