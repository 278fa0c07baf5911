/** `check` of both programs: its place in the command line; each program makes checks of its own. */
import type { ExitCode } from "../runtime/exit_codes.ts";
import { type Command, defineCommand } from "./command.ts";

/** In what the programs differ. */
export interface CheckCommandOptions<Run> {
  readonly description: string;
  /** A whole command line. */
  readonly example: string;
  /** Makes the checks and prints the report; the status tells the worst result. */
  readonly run: (run: Run, options: { readonly isJson: boolean }) => Promise<ExitCode>;
}

/** Defines the command. */
export function defineCheckCommand<Run>(
  { description, example, run }: CheckCommandOptions<Run>,
): Command<Run> {
  return defineCommand<Run, { readonly isJson: boolean }>({
    name: "check",
    description,
    summary: "check the whole set-up, then exit",
    afterHelp: `
Example:
  ${example}

The table goes to standard output, with --json as one JSON object; the log goes to standard error.
It takes at most ten seconds: a check without a result by then is a failed one. docs/operations/check.md
explains every check. The running relayer makes the same checks at its start and every ten minutes.

Exit status: 0 everything is in order, 1 a check failed, or the configuration is invalid, 2 wrong
command line, 3 there are warnings only.`,
    hasResult: true,
    tellsConfiguration: true,
    addOptions: (parser, choose) =>
      parser
        .option("--json", "print one JSON object")
        .action(({ json = false }: { readonly json?: boolean }) => choose({ isJson: json })),
    run,
  });
}
