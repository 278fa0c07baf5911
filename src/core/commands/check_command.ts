/** `check` of both programs: its place in the command line, its run and its report; each program plans its own checks. */
import { type CheckJob, type CheckRow, runChecks } from "../checks/check_row.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import { type Command, type CommandSyntax, defineCommand } from "./command.ts";
import type { OperationRun } from "./operation.ts";

/** What `check` gets of a program. */
type CheckRun = Pick<OperationRun<never>, "print" | "isJson" | "hasColour" | "names" | "signal">;

/** In what the programs differ. */
export interface CheckCommandOptions<Run> extends Pick<CommandSyntax, "description" | "without"> {
  /** Prepares the checks, and has them made once. */
  readonly run: (run: Run, make: (checks: PlannedChecks) => Promise<ExitCode>) => Promise<ExitCode>;
}

/** Checks to be made. */
export interface PlannedChecks {
  readonly clock: Clock;
  /** Holds the secrets that must not be printed. */
  readonly config: unknown;
  readonly jobs: readonly CheckJob[];
  /** Rows that come with the answers. */
  readonly others: () => readonly CheckRow[];
}

/** Defines the command. */
export function defineCheckCommand<Run extends CheckRun>(
  { description, without = [], run }: CheckCommandOptions<Run>,
): Command<Run> {
  return defineCommand({
    name: "check",
    description,
    examples: ["check"],
    afterHelp:
      `The table goes to standard output, with --json as one JSON object; the log goes to standard error.
It takes at most ten seconds: a check without a result by then is a failed one. docs/operations/check.md
explains every check. The running relayer makes the same checks at its start and every ten minutes.`,
    exitStatus: {
      0: "everything is in order",
      1: "a check failed, or the configuration is invalid",
      3: "there are warnings only",
    },
    without,
    addOptions: (parser) => void parser.option("--json", "print one JSON object"),
    run: (of: Run, { json = false }: { readonly json?: boolean }) =>
      run(of, (checks) => makeChecks({ ...of, isJson: json || of.isJson }, checks)),
  });
}

/** Makes the checks and prints the report; the status tells the worst result. */
async function makeChecks(
  run: CheckRun,
  { clock, config, jobs, others }: PlannedChecks,
): Promise<ExitCode> {
  const { printReport } = await import("../checks/print_report.ts");
  try {
    const rows = await runChecks({ clock }, jobs, run.signal);
    return printReport([...rows, ...others()], config, run);
  } catch (error) {
    // Stopped by a signal: nothing is known, so the set-up does not count as checked.
    if (run.signal.aborted) return exitCodes.failed;
    throw error;
  }
}
