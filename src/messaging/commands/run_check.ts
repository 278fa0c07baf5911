/** Work of `check`: connects, makes all checks once, and prints the report. */
import { runChecks } from "../../core/checks/run_checks.ts";
import { printReport } from "../../core/checks/print_report.ts";
import type { ExitCode } from "../../core/runtime/exit_codes.ts";
import { inspectForChecks } from "../checks/database_checks.ts";
import { planChecks } from "../checks/plan_checks.ts";
import type { MessagingRun } from "./command.ts";

/** Runs the checks; the status tells the worst result. */
export async function runCheck(
  { deps, config, signal }: MessagingRun,
  isJson: boolean,
): Promise<ExitCode> {
  const { hub, chains } = deps.connect(config);
  try {
    const database = inspectForChecks(deps.database, deps.clock, chains);
    const subjects = { ...deps, config, hub, chains, machine: deps.machine(), ...database };
    const jobs = planChecks(subjects);
    const rows = await runChecks(deps, jobs, signal);
    return printReport(rows, { isJson, config, output: deps });
  } finally {
    await Promise.allSettled([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
  }
}
