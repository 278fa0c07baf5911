/** Entry point of the consensus relayer: exits with its status. */
import { startProgram } from "../core/commands/start_program.ts";

if (import.meta.main) {
  Deno.exit(
    await startProgram({
      name: "causeway-consensus",
      loadParser: async () => (await import("./arguments.ts")).parseArguments,
      loadFile: async () => (await import("./config/config_file.ts")).consensusFile,
      loadProgram: async () => (await import("./program.ts")).runProgram,
    }, Deno.args),
  );
}
