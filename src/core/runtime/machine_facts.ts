/** Facts about files of the machine, read before the program gives up its access to files. */

/** A file with a key; the configuration is one where a key stands in it. */
export interface KeyFileFacts {
  readonly path: string;
  /** Permission bits; `undefined` where the file system has none. */
  readonly mode: number | undefined;
}

/** Facts about the machine that do not change while the program runs. */
export interface MachineFacts {
  readonly keyFiles: readonly KeyFileFacts[];
}

/** Reader of files that keeps their paths. */
export interface RecordedReads {
  readonly readFile: (path: string) => Uint8Array;
  /** To be called for a key that stands in the configuration itself. */
  readonly noteInlineKey: () => void;
  /** Files with keys, each once: everything that could be read; the configuration only where a key was noted in it. */
  readonly listKeyFiles: (config: string) => readonly string[];
}

/** Keeps the paths of what is read: beside the configuration those are the files with keys. */
export function recordReads(readFile: (path: string) => Uint8Array): RecordedReads {
  const paths: string[] = [];
  let hasInlineKey = false;
  return {
    readFile: (path) => {
      const bytes = readFile(path);
      if (!paths.includes(path)) paths.push(path);
      return bytes;
    },
    noteInlineKey: () => void (hasInlineKey = true),
    listKeyFiles: (config) => paths.filter((path) => path !== config || hasInlineKey),
  };
}

/** Reads the facts. @param keys files that hold keys */
export function readMachineFacts(keys: readonly string[]): MachineFacts {
  return { keyFiles: keys.map((path) => ({ path, mode: modeOf(path) })) };
}

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
