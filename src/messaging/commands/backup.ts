/** `backup`: a copy of the database, made by the command itself, so that a running relayer is not held up by it. */
import { defineCommand } from "../../core/commands/command.ts";
import { exitCodes } from "../../core/runtime/exit_codes.ts";
import { LedgerFault } from "../ledger/fault.ts";
import type { MessagingRun } from "./command.ts";

/** The command. */
export const backupCommand = defineCommand({
  name: "backup",
  description: "Writes a consistent copy of the database to a new file.",
  examples: ["backup /backups/relayer-2026-01-31.db"],
  afterHelp:
    `The copy is a whole database that the relayer can be started with (--db). It appears under its name
when it is complete, and can be read by its owner only. A running relayer relays on meanwhile.`,
  exitStatus: { 0: "done", 1: "it could not be made, or the file exists" },
  addOptions: (parser) => void parser.argument("<file>", "new file"),
  run: async ({ deps: { database, clock }, print, printError }: MessagingRun, file: string) => {
    const { copyDatabase } = await import("../ledger/backup.ts");
    try {
      print(`${file}: ${await copyDatabase(database, file, clock)} bytes`);
      return exitCodes.ok;
    } catch (error) {
      if (!(error instanceof LedgerFault)) throw error;
      printError(error.message);
      return exitCodes.failed;
    }
  },
});
