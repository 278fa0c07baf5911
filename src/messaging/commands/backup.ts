/** `backup`: a copy of the database, made by the command itself, so that a running relayer is not held up by it. */
import type { Command } from "../../core/commands/command.ts";
import type { MessagingRun } from "./command.ts";

/** The command. */
export const backupCommand: Command<MessagingRun> = {
  name: "backup",
  description: "Writes a consistent copy of the database to a new file.",
  examples: ["backup /backups/relayer-2026-01-31.db"],
  afterHelp:
    `The copy is a whole database that the relayer can be started with (--db). It appears under its name
when it is complete, and can be read by its owner only. A running relayer relays on meanwhile.`,
  exitStatus: { 0: "done", 1: "it could not be made, or the file exists" },
  addOptions: (parser) => void parser.argument("<file>", "new file"),
  run: async ({ deps: { database, clock }, print }: MessagingRun, file: string) => {
    const { copyDatabase } = await import("../ledger/backup.ts");
    print(`${file}: ${await copyDatabase(database, file, clock)} bytes`);
  },
};
