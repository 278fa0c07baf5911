/** `backup`: a consistent copy of the database, also while the relayer runs. */
import { defineCommand } from "../../core/commands/command.ts";
import type { MessagingRun } from "./command.ts";

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db backup /backups/relayer-2026-01-31.db

The copy is a whole database that the relayer can be started with (--db). It appears under its name
when it is complete, and can be read by its owner only. A running relayer relays on meanwhile.

Exit status: 0 done, 1 it could not be made, or the file exists, 2 wrong command line.`;

/** The command. */
export const backupCommand = defineCommand<MessagingRun, string>({
  name: "backup",
  description: "Writes a consistent copy of the database to a new file.",
  summary: "copy the database, also while the relayer runs",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<file>", "new file").action((file: string) => choose(file)),
  run: async (run, file) => (await import("./run_backup.ts")).runBackup(run, file),
});
