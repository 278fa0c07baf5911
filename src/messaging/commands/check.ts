/** `check`: tests the whole set-up before money moves. Sends nothing, and leaves the database as it is. */
import { defineCheckCommand } from "../../core/commands/check_command.ts";
import type { MessagingRun } from "./command.ts";

/** The command. */
export const check = defineCheckCommand<MessagingRun>({
  description:
    `Checks endpoints, chains, contracts, light clients, accounts, prices and the database, all at once,
and prints what was found and what to do. Sends no transaction and does not change the database; it may run
beside the relayer.`,
  example: "causeway --config=relayer.toml --db=relayer.db check",
  run: async (run, { isJson }) =>
    (await import("./run_check.ts")).runCheck(run, isJson || run.deps.logFormat === "json"),
});
