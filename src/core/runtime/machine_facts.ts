/** Facts about files and the process. */

/** Permission bits of a file; `undefined`: it cannot be said. */
export function modeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).mode ?? undefined;
  } catch {
    return undefined; // a pipe of the shell that is gone once it was read
  }
}

/** Memory of this process, bytes. */
export function readMemory(): number {
  return Deno.memoryUsage().rss;
}
