/** `status`: what the status page shows. */
import { operationOf } from "../../core/commands/operation.ts";
import type { OperationContext } from "./command.ts";

/** The command. */
export const statusCommand = operationOf<OperationContext, undefined>()({
  name: "status",
  description: "Shows what the relayer does now, and what is in its way.",
  summary: "show what the relayer does now",
  afterHelp: `
Example:
  causeway --config=relayer.toml --db=relayer.db status

Prints what the status page shows: what is in the way, chains with their endpoints, heights and wallets,
legs with what waits, the last deliveries, claims, withdrawals and warnings. Without a running relayer
it shows what the database knows.

Exit status: 0 done, 1 the database cannot be read, 2 wrong command line.`,
  needs: "status",
  isWatched: true,
  naming: "own",
  addOptions: (parser, choose) => void parser.action(() => choose(undefined)),
  work: ({ status }) => status(),
  show: async (status) => (await import("../status/status_view.ts")).formatStatus(status),
});
