/**
 * Inspection of the database for `check`: the file is opened as the relayer opens it, so that permissions are really
 * tried, and closed again. Its content stays as it is, and nothing is created.
 */
import type { Clock } from "../../core/runtime/clock.ts";
import { LedgerFault } from "./fault.ts";
import { findFile, findReason, refuseWrongPlace } from "./file_faults.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { migrations } from "./migrations/all.ts";
import { openUnchanged } from "./open.ts";
import { readSchemaVersion } from "./schema.ts";

/** Owner and permission bits of the file. */
export interface FileOwner {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  readonly mode: number | undefined;
}

/** State of the database; `content` is what `read` returned. */
export type DatabaseFacts<T> =
  /** Will be created. */
  | { readonly kind: "absent" }
  | {
    readonly kind: "usable";
    /** Version of its tables, and the newest that this program knows. */
    readonly version: number;
    readonly newest: number;
    readonly sizeBytes: number;
    readonly owner: FileOwner;
    /** `undefined`: the tables are of an earlier version, or there are none. */
    readonly content: T | undefined;
  }
  | { readonly kind: "unusable"; readonly fault: LedgerFault };

/** Inspects the file at `path`; `read` must not write. */
export function inspectDatabase<T>(
  path: string,
  clock: Pick<Clock, "now">,
  read: (ledger: Pick<Ledger, "submissions">) => T,
): DatabaseFacts<T> {
  try {
    refuseWrongPlace(path);
    const file = findFile(path);
    if (file === undefined) {
      const reason = findReason(path);
      return reason === undefined ? { kind: "absent" } : { kind: "unusable", fault: reason };
    }
    const newest = migrations.length;
    const db = openUnchanged(path, clock);
    try {
      const version = readSchemaVersion(db, migrations);
      const content = version === newest ? read(createLedger(db)) : undefined;
      const owner = { uid: file.uid ?? undefined, gid: file.gid ?? undefined, mode: file.mode ?? undefined };
      return { kind: "usable", version, newest, sizeBytes: file.size, owner, content };
    } finally {
      db.close();
    }
  } catch (error) {
    if (error instanceof LedgerFault) return { kind: "unusable", fault: error };
    throw error;
  }
}
