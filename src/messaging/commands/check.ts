/** `check`: tests the whole set-up before money moves. Sends nothing, and leaves the database as it is. */
import { defineCommand } from "../../core/commands/command.ts";
import type { MessagingRun } from "./command.ts";

const DESCRIPTION =
  `Checks endpoints, chains, contracts, light clients, accounts, prices and the database, all at once,
and prints what was found and what to do. Sends no transaction and does not change the database; it may run
beside the relayer.`;

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db check

The table goes to standard output, with --json as one JSON object; the log goes to standard error.
It takes at most ten seconds: a check without a result by then is a failed one. docs/operations/check.md
explains every check. The running relayer makes the same checks at its start and every ten minutes.

Exit status: 0 everything is in order, 1 a check failed, or the configuration is invalid, 2 wrong
command line, 3 there are warnings only.`;

/** The command. */
export const check = defineCommand<MessagingRun, { readonly json: boolean }>({
  name: "check",
  description: DESCRIPTION,
  summary: "check the whole set-up, then exit",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    parser
      .option("--json", "print one JSON object")
      .action(({ json = false }: { readonly json?: boolean }) => choose({ json })),
  run: async (run, { json }) =>
    (await import("./run_check.ts")).runCheck(run, json || run.deps.logFormat === "json"),
});
