/** Every command. A new one is a file of its own and one line here; those of both programs are in the core. */
import type { Command } from "../../core/commands/command.ts";
import { sharedCommands } from "../../core/commands/shared_commands.ts";
import { accumulateFees } from "./accumulate_fees.ts";
import { backupCommand } from "./backup.ts";
import { check } from "./check.ts";
import type { MessagingRun } from "./command.ts";
import { holdCommand } from "./hold.ts";
import { listCommand } from "./list.ts";
import { logLevelCommand } from "./log_level.ts";
import { profitCommand } from "./profit.ts";
import { relayCommand } from "./relay.ts";
import { releaseCommand } from "./release.ts";
import { retryCommand } from "./retry.ts";
import { scanCommand } from "./scan.ts";
import { showCommand } from "./show.ts";
import { statusCommand } from "./status.ts";

/** In the order of the help. */
export const commands: readonly Command<MessagingRun>[] = [
  check,
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
  backupCommand,
  ...sharedCommands,
];
