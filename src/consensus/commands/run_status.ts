/** Work of `status`. */
import { askOrElse } from "../../core/commands/ask_running.ts";
import type { ExitCode } from "../../core/runtime/exit_codes.ts";
import { consensusStatusOperation } from "../control/operations.ts";
import { refuseNobody } from "../control/refuse_nobody.ts";
import { formatConsensusStatus } from "../status/consensus_view.ts";
import type { ConsensusRun } from "./command.ts";

/** Asks and prints. */
export function runStatus(run: ConsensusRun, isJson: boolean): Promise<ExitCode> {
  return askOrElse(run, {
    operation: consensusStatusOperation,
    input: {},
    show: (status) => run.print(isJson ? JSON.stringify(status) : formatConsensusStatus(status)),
  }, refuseNobody);
}
