/** `check` of both programs: its place in the command line and its end; each program makes its own checks. */
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import type { Command, CommandSyntax } from "./command.ts";
import type { OperationRun } from "./operation.ts";

/** In what the programs differ. */
export interface CheckCommandOptions<Run> extends Pick<CommandSyntax, "description" | "without"> {
  /** Makes the checks and prints the report, whose worst result is the exit status. */
  readonly run: (run: Run) => Promise<ExitCode>;
}

/** Defines the command. */
export function defineCheckCommand<Run extends Pick<OperationRun<never>, "isJson" | "printError" | "signal">>(
  { description, without = [], run }: CheckCommandOptions<Run>,
): Command<Run> {
  return {
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
    run: async (of: Run, { json = false }: { readonly json?: boolean }) => {
      try {
        return await run({ ...of, isJson: json || of.isJson });
      } catch (error) {
        // Stopped by a signal: nothing is known, so the set-up does not count as checked.
        if (of.signal.aborted) return exitCodes.failed;
        throw error;
      }
    },
  };
}
