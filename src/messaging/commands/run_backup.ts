/** Work of `backup`: the copy is made by this process, so that a running relayer is not held up by it. */
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import { copyDatabase } from "../ledger/backup.ts";
import { LedgerFault } from "../ledger/ledger.ts";
import type { MessagingRun } from "./command.ts";

/** Makes the copy. */
export async function runBackup({ deps }: MessagingRun, file: string): Promise<ExitCode> {
  const { database, clock, print, printError } = deps;
  try {
    print(`${file}: ${await copyDatabase(database, file, clock)} bytes`);
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof LedgerFault)) throw error;
    printError(error.message);
    return exitCodes.failed;
  }
}
