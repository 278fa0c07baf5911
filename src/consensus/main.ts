/** Entry point of the consensus relayer: exits with its status. */
import { startProgram } from "../core/runtime/start_program.ts";

const load = async () => (await import("./launch.ts")).launch;

if (import.meta.main) Deno.exit(await startProgram({ name: "causeway-consensus", load }));
