/** Small texts that outlive the program, in files that are opened before file access is dropped. */
import { explainForeignPath } from "../core/runtime/file_access.ts";

/** A text that outlives the program. */
export interface PersistedText {
  /** Reads the last written text; `undefined`: none, or unreadable. */
  read(): string | undefined;
  /** Replaces the text; false when that failed. A truncated text may be found later. */
  write(text: string): boolean;
}

/** A {@link PersistedText} in a file. */
export interface PersistedTextFile extends PersistedText {
  /** Closes the file; later reads and writes have no effect. */
  close(): void;
}

/** A file for a text could not be opened. */
export class PersistedTextFault extends Error {
  override readonly name = "PersistedTextFault";
  readonly code = "not_writable";

  constructor(readonly path: string, reason: string) {
    super(`${path}: ${reason}`);
  }
}

/** Creates a text that lives as long as the program. */
export function memoryText(): PersistedText {
  let kept: string | undefined;
  return { read: () => kept, write: (text) => (kept = text) === text };
}

/** Maximum size of a text, bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Opens or creates the file of a text; it stays open. @throws {PersistedTextFault} when the folder does not exist or
 * cannot be written to.
 */
export function openPersistedText(path: string): PersistedTextFile {
  const foreign = explainForeignPath(path);
  if (foreign !== undefined) throw new PersistedTextFault(path, foreign);
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new PersistedTextFault(path, "its folder does not exist");
    }
    const isForbidden = error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotCapable;
    throw new PersistedTextFault(
      path,
      isForbidden ? "its folder cannot be written to" : "it cannot be opened",
    );
  }
  return {
    close: () => file.close(),
    read: () => {
      try {
        file.seekSync(0, Deno.SeekMode.Start);
        const bytes = new Uint8Array(MAX_BYTES);
        let filled = 0;
        for (let count = file.readSync(bytes); count !== null && count > 0;) {
          filled += count;
          count = filled === bytes.length ? null : file.readSync(bytes.subarray(filled));
        }
        return filled === 0 ? undefined : new TextDecoder().decode(bytes.subarray(0, filled));
      } catch {
        return undefined; // the text is only a cache
      }
    },
    write: (text) => {
      try {
        const bytes = new TextEncoder().encode(text);
        file.truncateSync(0);
        file.seekSync(0, Deno.SeekMode.Start);
        for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
        file.syncSync();
        return true;
      } catch {
        return false; // a full disk must not stop updates
      }
    },
  };
}
