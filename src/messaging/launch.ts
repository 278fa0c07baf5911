/** Command line of the messaging relayer, and what it starts. */
import type { ProcessEnv } from "../core/runtime/app.ts";
import type { ExitCode } from "../core/runtime/exit_codes.ts";
import type { Launch } from "../core/runtime/start_program.ts";
import { parseArguments, type RunRequest } from "./arguments.ts";

/** Loads the chain libraries only for what may need them. */
async function run({ arguments: args, command }: RunRequest, env: ProcessEnv): Promise<ExitCode> {
  if (command.kind !== "standalone") {
    return await (await import("./program.ts")).runProgram({ arguments: args, command }, env);
  }
  const { runStandalone } = await import("../core/commands/command.ts");
  const { messagingFile: file } = await import("./config/config_file.ts");
  return await runStandalone(command, { program: "causeway", arguments: args, env, file });
}

/** See the head of the file. */
export const launch: Launch<RunRequest> = { parse: parseArguments, run };
