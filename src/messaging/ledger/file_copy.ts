/** Copies of the database file by another process, while this one has it open. */
import type { Database } from "./database.ts";

/** Time after which the file is written again, ms: until then all changes pile up in the log beside it. */
const MAX_COPY_MS = 10 * 60_000;

/** Leaves the main file alone while another process copies it. Every method may throw a `LedgerFault`. */
export interface FileCopy {
  /** Writes everything into the main file, which does not change from here on. */
  begin(): void;
  /** Ends it. @returns false when it was over before. */
  end(): boolean;
  /** Ends it when the other process seems to be dead. */
  endOverdue(): void;
}

/** Prepares copies of a database file. */
export function openFileCopy(db: Database): FileCopy {
  let sinceMs: number | undefined;
  const end = (): boolean => {
    if (sinceMs === undefined) return false;
    sinceMs = undefined;
    db.row("PRAGMA wal_autocheckpoint = 1000"); // SQLite's default
    return true;
  };
  return {
    begin: () => {
      db.row("PRAGMA wal_checkpoint(TRUNCATE)");
      db.row("PRAGMA wal_autocheckpoint = 0");
      sinceMs = db.now();
    },
    end: () => {
      const isOverdue = sinceMs !== undefined && db.now() - sinceMs >= MAX_COPY_MS;
      return end() && !isOverdue;
    },
    endOverdue: () => {
      if (sinceMs !== undefined && db.now() - sinceMs >= MAX_COPY_MS) end();
    },
  };
}
