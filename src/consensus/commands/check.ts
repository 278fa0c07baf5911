/** `check`: tests the whole set-up before anything is proved. Sends nothing. */
import { defineCommand } from "../../core/commands/command.ts";
import type { ConsensusRun } from "./command.ts";

const DESCRIPTION =
  `Checks the hub, endpoints, beacon and relay nodes, light clients and accounts, all at once, and prints
what was found and what to do. Sends nothing; it may run beside the relayer.`;

const AFTER_HELP = `
Example:
  causeway-consensus --config=consensus.toml check

The table goes to standard output, with --json as one JSON object; the log goes to standard error.
It takes at most ten seconds: a check without a result by then is a failed one. docs/operations/check.md
explains every check. The running relayer makes the same checks at its start and every ten minutes.

Exit status: 0 everything is in order, 1 a check failed, or the configuration is invalid, 2 wrong
command line, 3 there are warnings only.`;

/** The command. */
export const check = defineCommand<ConsensusRun, { readonly json: boolean }>({
  name: "check",
  description: DESCRIPTION,
  summary: "check the whole set-up, then exit",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    parser
      .option("--json", "print one JSON object")
      .action(({ json = false }: { readonly json?: boolean }) => choose({ json })),
  run: async (run, { json }) => (await import("./run_check.ts")).runCheck(run, json || run.isJson),
});
