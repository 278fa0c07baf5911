/** The messaging relayer: reads arguments, hands in the real world, and maps the outcome to an exit status. */
import { exitCodes } from "../core/runtime/exit_codes.ts";
import { parseArguments } from "./arguments.ts";
import { versionText } from "./version.ts";

if (import.meta.main) {
  const parsed = parseArguments(Deno.args, versionText(Deno.version.deno, Deno.build.target));
  if (parsed.kind === "exit") {
    const isTold = write(Deno.stdout, parsed.stdout) && write(Deno.stderr, parsed.stderr);
    Deno.exit(isTold || parsed.code !== exitCodes.ok ? parsed.code : exitCodes.failed);
  }
  // Loaded only now, so that --help and --version do not wait for the chain libraries.
  const { runProgram } = await import("./program.ts");
  const code = await runProgram(parsed, {
    readFile: (path) => Deno.readFileSync(path),
    writeError: (text) => void write(Deno.stderr, text),
    exit: (status) => Deno.exit(status),
    isColourWelcome: !Deno.noColor,
  });
  Deno.exit(code);
}

/** Writes a text. False when it is lost though somebody wants it (a full disk); a reader that has gone away is no fault. */
function write(to: typeof Deno.stdout, text: string): boolean {
  try {
    to.writeSync(new TextEncoder().encode(text));
    return true;
  } catch (error) {
    return error instanceof Deno.errors.BrokenPipe;
  }
}
