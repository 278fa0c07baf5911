/** The consensus relayer: connects its parts to the real world, and exits with the status of the outcome. */
import { startProgram } from "../core/runtime/start_program.ts";
import { parseArguments } from "./arguments.ts";

if (import.meta.main) {
  const load = (): Promise<typeof import("./program.ts")> => import("./program.ts");
  Deno.exit(await startProgram({ name: "causeway-consensus", parse: parseArguments, load }));
}
