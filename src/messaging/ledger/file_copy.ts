/** A copy of the database file as it is, for the time before its tables are migrated. */
import type { Database } from "./database.ts";
import { toFileFault } from "./file_faults.ts";
import { basename, dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";

const BLOCK_BYTES = 1_048_576;

/**
 * Copies an open database with everything that is committed to `target`, replacing what is there, and closes it.
 * @throws {LedgerFault}
 */
export function copyAndClose(db: Database, target: string): void {
  const sources: Deno.FsFile[] = [];
  let folder: string | undefined;
  try {
    folder = makeFolderBeside(target);
    const unfinished = `${folder}/copy.db`;
    const place = Deno.realPathSync(resolve(db.path));
    // Nobody else writes now, and nobody empties the log: whatever of it is in the file already, together they are whole.
    db.transaction(() => {
      for (const end of ["", "-wal"]) sources.push(copyFile(`${place}${end}`, `${unfinished}${end}`));
    });
    joinLog(unfinished);
    Deno.renameSync(unfinished, target);
  } catch (error) {
    throw toFileFault(error, db.path, target);
  } finally {
    // Closing any descriptor of a file drops all of this process's locks on it (POSIX): the connection goes first.
    db.close();
    for (const source of sources) source.close();
    if (folder !== undefined) Deno.removeSync(folder, { recursive: true });
  }
}

/** Makes a folder on the file system of a file that only this user may enter. */
export function makeFolderBeside(target: string): string {
  return Deno.makeTempDirSync({ dir: dirname(resolve(target)), prefix: `.${basename(target)}-` });
}

/** Copies a file; returns what is still open of it. */
function copyFile(from: string, to: string): Deno.FsFile {
  using target = Deno.openSync(to, { write: true, createNew: true, mode: 0o600 });
  const source = Deno.openSync(from);
  const block = new Uint8Array(BLOCK_BYTES);
  for (let count = source.readSync(block); count !== null; count = source.readSync(block)) {
    for (let written = 0; written < count;) written += target.writeSync(block.subarray(written, count));
  }
  return source;
}

/** Writes the log of a copy into its file, which is flushed then. */
function joinLog(file: string): void {
  const sqlite = new DatabaseSync(file);
  try {
    sqlite.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    sqlite.close();
  }
  using copy = Deno.openSync(file, { read: true, write: true });
  copy.syncSync();
}
