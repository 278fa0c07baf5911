/** Every command: a new one is a file of its own and one line here. Those of both programs are in the core. */
import type { Command } from "../../core/commands/command.ts";
import { answerRequest, logLevelCommand, type OperationCommand } from "../../core/commands/operation.ts";
import { sharedCommands } from "../../core/commands/shared_commands.ts";
import type { ControlSocket } from "../../core/runtime/control_socket.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { LedgerFault } from "../ledger/fault.ts";
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
import { statusCommand } from "./status.ts";

/** Commands that work with the running relayer or its database. */
const operations: readonly OperationCommand<MessagingRun, OperationContext>[] = [
  statusCommand,
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
  ...sharedCommands,
];

/** Creates the worker of the running relayer that answers at the socket. */
export function controlWorker(context: OperationContext, socket: ControlSocket): Worker {
  return {
    name: "control",
    run: (signal) => socket.serve((line, gone) => answerLine(context, line, gone), signal),
  };
}

/** Answers one request; whatever is wrong with it becomes a text. */
export function answerLine(context: OperationContext, line: string, signal: AbortSignal): Promise<string> {
  const isExpected = (error: unknown): boolean => error instanceof LedgerFault;
  return answerRequest({ commands: operations, context, isExpected }, line, signal);
}
