/** Table `meta`: facts about the file itself and small values that survive a restart. */
import { readText } from "./columns.ts";
import type { Database } from "./database.ts";

/** Named texts. Every method may throw a `LedgerFault`. */
export interface Meta {
  find(name: string): string | undefined;
  write(name: string, value: string): void;
}

/** Opens the named texts in a database. */
export function openMeta(db: Database): Meta {
  return {
    find: (name) => {
      const row = db.row("SELECT value FROM meta WHERE name = :name", { name });
      return row && readText(row, "value");
    },
    write: (name, value) => {
      db.run(
        `INSERT INTO meta (name, value) VALUES (:name, :value)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
        { name, value },
      );
    },
  };
}
