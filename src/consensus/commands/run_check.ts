/** Work of `check`: connects, makes all checks once, and prints the report. */
import { printReport } from "../../core/checks/print_report.ts";
import { runChecks } from "../../core/checks/check_row.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import { planChecks } from "../checks/plan_checks.ts";
import { runSession } from "../session.ts";
import type { ConsensusRun } from "./command.ts";

/** Runs the checks; the status tells the worst result. */
export function runCheck(run: ConsensusRun, isJson: boolean): Promise<ExitCode> {
  const { deps, signal } = run;
  const { config, machine } = deps;
  return runSession(deps, async (connections) => {
    try {
      const rows = await runChecks(deps, planChecks({ ...connections, config, machine }), signal);
      return printReport([...rows, ...deps.board?.unknown ?? []], { isJson, config, output: run });
    } catch (error) {
      // Stopped by a signal: nothing is known, so the set-up does not count as checked.
      if (signal.aborted) return exitCodes.failed;
      throw error;
    }
  }, signal);
}
