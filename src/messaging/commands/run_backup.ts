/** Work of `backup`: the copy is made by this process, so that a running relayer is not held up by it. */
import { askRunning } from "../../core/commands/ask_running.ts";
import { OperationRefusal } from "../../core/commands/control_operation.ts";
import { ControlFault } from "../../core/runtime/control_client.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import { backupOperation } from "../control/operations/backup.ts";
import { LedgerFault } from "../ledger/ledger.ts";
import { copyDatabase, copyGuarded } from "../ledger/backup.ts";
import type { MessagingRun } from "./command.ts";

/** Makes the copy. */
export async function runBackup({ deps, signal }: MessagingRun, file: string): Promise<ExitCode> {
  const { database, clock, print, printError } = deps;
  const asking = { ...deps, signal };
  try {
    const running = await askRunning(asking, { operation: backupOperation, input: { phase: "begin" } });
    const size = running === undefined
      ? await copyDatabase(database, file, clock)
      : await copyGuarded(database, file, {
        clock,
        end: async () => {
          const end = await askRunning(asking, { operation: backupOperation, input: { phase: "end" } });
          return end?.output.isWhole === true;
        },
      });
    print(`${file}: ${size} bytes`);
    return exitCodes.ok;
  } catch (error) {
    const isExpected = error instanceof LedgerFault || error instanceof OperationRefusal ||
      error instanceof ControlFault;
    if (!isExpected) throw error;
    printError(error.message);
    return exitCodes.failed;
  }
}
