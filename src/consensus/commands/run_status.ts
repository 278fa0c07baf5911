/** Work of `status`. */
import { OperationRefusal, readAnswerLine, toRequestLine } from "../../core/commands/control_operation.ts";
import { ControlFault } from "../../core/runtime/control_client.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import { consensusStatusOperation } from "../control/operations.ts";
import { formatConsensusStatus } from "../status/consensus_status_text.ts";
import type { ConsensusRun } from "./command.ts";

const NOBODY = "No relayer answers: name the --socket or --cache that it was started with.";

/** Asks and prints. */
export async function runStatus(run: ConsensusRun, isJson: boolean): Promise<ExitCode> {
  try {
    const line = toRequestLine(consensusStatusOperation, {});
    const answer = await run.askRunning({ line, afterMs: 60_000, signal: run.signal });
    if (answer === undefined) throw new OperationRefusal(NOBODY);
    const status = readAnswerLine(consensusStatusOperation, answer);
    run.print(isJson ? JSON.stringify(status) : formatConsensusStatus(status));
    return exitCodes.ok;
  } catch (error) {
    if (run.signal.aborted) return exitCodes.ok;
    if (!(error instanceof OperationRefusal || error instanceof ControlFault)) throw error;
    run.printError(error.message);
    return exitCodes.failed;
  }
}
