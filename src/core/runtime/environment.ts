/**
 * Environment of the process, of which a program sees what its configuration names and nothing else. The programs are
 * compiled with the right to read all of it, since the names are known only when the file is read, and give it up then.
 */
import process from "node:process";

/** The environment while the configuration is read. */
export interface Environment {
  /** A variable; `undefined`: it is not set, or was not asked for before {@link close}. */
  readonly read: (name: string) => string | undefined;
  /** Drops the right to read more of it, for the whole process and for good. */
  readonly close: () => void;
}

/** Read by @polkadot/* and their dependencies when they are loaded; nothing of it changes what the programs do. */
const LIBRARY_VARIABLES = ["POLKADOTJS_DISABLE_ESM_CJS_WARNING", "DEBUG", "DEBUG_MAX", "WS_NO_BUFFER_UTIL"];

/**
 * The environment of this process. Libraries get an environment of their own, with the variables that they are known
 * to read: without the right, `process.env` would throw.
 */
export function openEnvironment(): Environment {
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
