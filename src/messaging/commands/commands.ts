/** Every command: a new one is a file of its own and one line here. Those of both programs are in the core. */
import type { Command } from "../../core/commands/command.ts";
import { defineStatus, logLevelCommand, type OperationCommand } from "../../core/commands/operation.ts";
import type { RelayStatus } from "../status/relay_status.ts";
import { accumulateFees } from "./accumulate_fees.ts";
import { backupCommand } from "./backup.ts";
import { checkCommand } from "./check.ts";
import type { MessagingRun, OperationContext } from "./command.ts";
import { holdCommand, releaseCommand } from "./hold.ts";
import { listCommand, retryCommand } from "./list.ts";
import { profitCommand } from "./profit.ts";
import { relayCommand } from "./relay.ts";
import { scanCommand } from "./scan.ts";
import { showCommand } from "./show.ts";

const status = defineStatus<OperationContext, RelayStatus>({
  examples: ["status"],
  afterHelp:
    `Prints what the status page shows: what is in the way, chains with their endpoints, heights and wallets,
legs with what waits, the last deliveries, claims, withdrawals and warnings. Without a running relayer
it shows what the database knows.`,
  exitStatus: { 0: "done", 1: "the database cannot be read" },
  loadView: async () => (await import("../status/status_view.ts")).relayView,
});

/** Commands that work with the running relayer or its database. */
export const operations: readonly OperationCommand<MessagingRun, OperationContext>[] = [
  status,
  listCommand,
  showCommand,
  relayCommand,
  retryCommand,
  holdCommand,
  releaseCommand,
  scanCommand,
  profitCommand,
  logLevelCommand,
  accumulateFees,
];

/** In the order of the help. */
export const commands: readonly Command<MessagingRun>[] = [
  checkCommand,
  ...operations,
  backupCommand,
];
