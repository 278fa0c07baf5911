/** Entry point of the messaging relayer: wires it to the real environment and exits with its status. */
import { startProgram } from "../core/runtime/start_program.ts";
import { parseArguments } from "./arguments.ts";

if (import.meta.main) {
  const load = (): Promise<typeof import("./program.ts")> => import("./program.ts");
  Deno.exit(await startProgram({ name: "causeway", parse: parseArguments, load }));
}
