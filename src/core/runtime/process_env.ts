/** The process environment as it is for real. */
import type { ProcessEnv } from "./app.ts";
import { openEnvironment } from "./environment.ts";
import { modeOf } from "./machine_facts.ts";
import { systemTerminal } from "./terminal.ts";
import { writeText } from "./text_output.ts";

/** Opens the environment of this process, once. */
export function openProcessEnv(): ProcessEnv {
  const environment = openEnvironment();
  return {
    readFile: (path) => Deno.readFileSync(path),
    readVariable: environment.read,
    readMode: modeOf,
    openedKeystores: new Map(),
    closeEnvironment: environment.close,
    writeNewFile,
    terminal: systemTerminal(),
    writeOutput: (text) => writeText(Deno.stdout, text),
    writeError: (text) => void writeText(Deno.stderr, text),
    exit: (status) => Deno.exit(status),
    isColourWelcome: !Deno.noColor,
  };
}

function writeNewFile(path: string, text: string): boolean {
  try {
    Deno.writeTextFileSync(path, text, { createNew: true, mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}
