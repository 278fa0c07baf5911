/** Work of `check`: connects, makes all checks once, and prints the report. */
import { runChecks } from "../../core/checks/check_row.ts";
import { printReport } from "../../core/checks/print_report.ts";
import { ControlFault } from "../../core/runtime/control_client.ts";
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import { inspectForChecks } from "../checks/database_checks.ts";
import { planChecks } from "../checks/plan_checks.ts";
import type { CommandDeps, MessagingRun } from "./command.ts";

/** Time for an answer of the running relayer, ms. */
const ANSWER_TIMEOUT_MS = 2_000;

/** Runs the checks; the status tells the worst result. */
export async function runCheck(
  { deps, config, signal }: MessagingRun,
  isJson: boolean,
): Promise<ExitCode> {
  const { hub, chains } = deps.connect(config);
  try {
    const isAnswered = (): Promise<boolean> => isRelayerAnswering(deps, signal);
    const database = await inspectForChecks(deps.database, deps.clock, { chains, isAnswered });
    deps.dropWriteAccess();
    const subjects = { ...deps, config, hub, chains, machine: deps.machine(), ...database };
    const jobs = planChecks(subjects);
    const rows = await runChecks(deps, jobs, signal);
    return printReport([...rows, ...deps.checks?.board.unknown ?? []], { isJson, config, output: deps });
  } catch (error) {
    // Stopped by a signal: nothing is known, so the set-up does not count as checked.
    if (signal.aborted) return exitCodes.failed;
    throw error;
  } finally {
    await Promise.allSettled([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
  }
}

/** True when a running relayer answers at the socket beside the database, whatever it says. */
async function isRelayerAnswering({ askRunning }: CommandDeps, signal: AbortSignal): Promise<boolean> {
  try {
    const line = JSON.stringify({ operation: "list", input: { limit: 1 } });
    return await askRunning({ line, afterMs: ANSWER_TIMEOUT_MS, signal }) !== undefined;
  } catch (error) {
    if (error instanceof ControlFault) return false;
    throw error;
  }
}
