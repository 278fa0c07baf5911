/** `status`: what the relayer does now. */
import { defineCommand } from "../../core/commands/command.ts";
import type { MessagingRun } from "./command.ts";

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db status

Prints what the status page shows: what is in the way, chains with their endpoints, heights and wallets,
legs with what waits, the last deliveries, claims, withdrawals and warnings. Without a running relayer
it shows what the database knows.

Exit status: 0 done, 1 the database cannot be read, 2 wrong command line.`;

interface StatusOptions {
  readonly json?: boolean;
}

/** The command. */
export const statusCommand = defineCommand<MessagingRun, StatusOptions>({
  name: "status",
  description: "Shows what the relayer does now, and what is in its way.",
  summary: "show what the relayer does now",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.option("--json", "print JSON").action((options: StatusOptions) => choose(options)),
  run: async (run, { json = false }) => {
    const { ask } = await import("../control/ask.ts");
    const { statusOperation } = await import("../control/operations/status.ts");
    const { formatStatus } = await import("../status/status_text.ts");
    return await ask(run, {
      operation: statusOperation,
      input: {},
      show: (status) => run.deps.print(json ? JSON.stringify(status) : formatStatus(status)),
    });
  },
});
