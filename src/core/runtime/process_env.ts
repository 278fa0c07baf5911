/**
 * The process environment as it is for real. A program sees the variables that its configuration names and nothing else:
 * it is compiled with the right to read all of them, since the names are known only when the file is read, and gives it
 * up then.
 */
import process from "node:process";
import type { ProcessEnv } from "./app.ts";
import { modeOf } from "./file_access.ts";
import { systemTerminal, writeText } from "./terminal.ts";

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

/** Read by @polkadot/* and their dependencies when they are loaded; nothing of it changes what the programs do. */
const LIBRARY_VARIABLES = ["POLKADOTJS_DISABLE_ESM_CJS_WARNING", "DEBUG", "DEBUG_MAX", "WS_NO_BUFFER_UTIL"];

/**
 * The variables of this process while the configuration is read. Libraries get an environment of their own, with the variables that they are known
 * to read: without the right, `process.env` would throw. What was not asked for before `close` is `undefined` then.
 */
export function openEnvironment(): {
  readonly read: (name: string) => string | undefined;
  readonly close: () => void;
} {
  const known = new Map<string, string | undefined>();
  let isOpen = true;
  const seen = LIBRARY_VARIABLES.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  Object.defineProperty(process, "env", { value: Object.fromEntries(seen) });
  return {
    read: (name) => {
      if (!known.has(name) && isOpen) known.set(name, Deno.env.get(name));
      return known.get(name);
    },
    close: () => {
      isOpen = false;
      Deno.permissions.revokeSync({ name: "env" });
    },
  };
}

/** Memory of this process, bytes. */
export function readMemory(): number {
  return Deno.memoryUsage().rss;
}
