/** Facts about files and limits of the machine, read before the program gives up its access to files. */

/** A file with a key; the configuration is one where a key stands in it. */
export interface KeyFileFacts {
  readonly path: string;
  /** Permission bits; `undefined` where the file system has none. */
  readonly mode: number | undefined;
}

/** Facts about the machine that do not change while the program runs. */
export interface MachineFacts {
  readonly keyFiles: readonly KeyFileFacts[];
  readonly files: OpenableFiles;
}

/** Files that the program may need at a time, and that it can open. */
export interface OpenableFiles {
  readonly endpoints: number;
  readonly needed: number;
  /** Further files that could be opened; no more than those needed are tried. */
  readonly openable: number;
}

/** Connections that one endpoint may need at a time. */
const FILES_PER_ENDPOINT = 20;

/** Files that the program needs besides: database, log, libraries. */
const OWN_FILES = 32;

/**
 * Maximum number of files that are opened to probe the limit, which takes 60 µs each. The runtime itself raises the soft
 * limit to the hard one.
 */
const MAX_PROBED_FILES = 512;

/** Number of files that a program with so many endpoints may need at a time, as far as it is probed. */
export function countNeededFiles(endpoints: number): number {
  return Math.min(OWN_FILES + FILES_PER_ENDPOINT * endpoints, MAX_PROBED_FILES);
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

/** Reads the facts. @param files.config a readable file; `files.keys`: files that hold keys. */
export function readMachineFacts(
  files: { readonly config: string; readonly keys: readonly string[] },
  endpoints: number,
): MachineFacts {
  const needed = countNeededFiles(endpoints);
  return {
    keyFiles: files.keys.map((path) => ({ path, mode: modeOf(path) })),
    files: { endpoints, needed, openable: countOpenable(files.config, needed) },
  };
}

/** Permission bits of a file; `undefined`: it cannot be said. */
export function modeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).mode ?? undefined;
  } catch {
    return undefined; // a pipe of the shell that is gone once it was read
  }
}

/** Opens the file again and again: there is no other way to learn the limit without access to `/proc`. */
function countOpenable(path: string, limit: number): number {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < limit) opened.push(Deno.openSync(path, { read: true }));
  } catch {
    // The limit, or a file that is read once: what was opened counts.
  } finally {
    for (const file of opened) file.close();
  }
  return opened.length;
}
