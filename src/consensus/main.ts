/** The consensus relayer: reads arguments, hands in the real world, and maps the outcome to an exit status. */
import { exitCodes } from "../core/runtime/exit_codes.ts";
import { writeText } from "../core/runtime/text_output.ts";
import { versionText } from "../core/runtime/version.ts";
import { parseArguments } from "./arguments.ts";

if (import.meta.main) {
  const version = versionText("causeway-consensus", Deno.version.deno, Deno.build.target);
  const parsed = parseArguments(Deno.args, version);
  if (parsed.kind === "exit") {
    const isTold = writeText(Deno.stdout, parsed.stdout) && writeText(Deno.stderr, parsed.stderr);
    Deno.exit(isTold || parsed.code !== exitCodes.ok ? parsed.code : exitCodes.failed);
  }
  // Loaded only now, so that --help and --version do not wait for the chain libraries.
  const { runProgram } = await import("./program.ts");
  const code = await runProgram(parsed, {
    readFile: (path) => Deno.readFileSync(path),
    writeError: (text) => void writeText(Deno.stderr, text),
    exit: (status) => Deno.exit(status),
    isColourWelcome: !Deno.noColor,
  });
  Deno.exit(code);
}
