/** The messaging relayer: reads arguments, hands in the real world, and maps the outcome to an exit status. */
import { parseArguments } from "./arguments.ts";
import { versionText } from "./version.ts";

if (import.meta.main) {
  const parsed = parseArguments(Deno.args, versionText(Deno.version.deno, Deno.build.target));
  if (parsed.kind === "exit") {
    write(Deno.stdout, parsed.stdout);
    write(Deno.stderr, parsed.stderr);
    Deno.exit(parsed.code);
  }
  // Loaded only now, so that --help and --version do not wait for the chain libraries.
  const { runProgram } = await import("./program.ts");
  const code = await runProgram(parsed.arguments, {
    readFile: (path) => Deno.readFileSync(path),
    writeError: (text) => write(Deno.stderr, text),
    exit: (status) => Deno.exit(status),
    isColourWelcome: !Deno.noColor,
  });
  Deno.exit(code);
}

/** Writes a text; a reader that has gone away is no fault. */
function write(to: typeof Deno.stdout, text: string): void {
  try {
    to.writeSync(new TextEncoder().encode(text));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
