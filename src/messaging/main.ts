/** Entry point of the messaging relayer: exits with its status. */
import { startProgram } from "../core/commands/start_program.ts";

if (import.meta.main) {
  Deno.exit(
    await startProgram({
      name: "causeway",
      loadParser: async () => (await import("./arguments.ts")).parseArguments,
      loadFile: async () => (await import("./config/config_file.ts")).messagingFile,
      loadProgram: async () => (await import("./program.ts")).runProgram,
    }, Deno.args),
  );
}
