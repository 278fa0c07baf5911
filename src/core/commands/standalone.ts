/** What commands get that run without a valid configuration, and how they are run. */
import type { ConfigFileKind } from "../config/config_file.ts";
import type { CommonArguments, ProcessEnv } from "../runtime/app.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";

/** Arguments of such a command: files are there unless it does without them. */
export type StandaloneArguments = Omit<CommonArguments, "config"> & {
  readonly config?: string;
  readonly db?: string;
};

/** One run of such a command. */
export interface StandaloneRun {
  /** Name of the program. */
  readonly program: string;
  readonly arguments: StandaloneArguments;
  readonly env: ProcessEnv;
  /** The configuration file of the program. */
  readonly file: ConfigFileKind;
  /** Writes a text and a line break to standard output. */
  readonly print: (text: string) => void;
}

/** Runs a command; it fails when its output is lost. */
export async function runStandalone(
  command: { readonly run: (run: StandaloneRun) => Promise<ExitCode> },
  run: Omit<StandaloneRun, "print">,
): Promise<ExitCode> {
  let isLost = false;
  const print = (text: string): void => {
    isLost = !run.env.writeOutput(`${text}\n`) || isLost;
  };
  const code = await command.run({ ...run, print });
  return isLost && code === exitCodes.ok ? exitCodes.failed : code;
}

/** The configuration file of a command that requires it. */
export function requireConfig({ config }: StandaloneArguments): string {
  if (config === undefined) throw new Error("the command line was accepted without --config");
  return config;
}
