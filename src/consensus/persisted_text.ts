/** Small texts that outlive the program, in files that are opened before the right to open files is given up. */

/** A text that outlives the program. */
export interface PersistedText {
  /** What was written last; `undefined`: nothing, or nothing that can be read. */
  read(): string | undefined;
  /** Replaces what was written before; false when that failed. A text that was cut off may be found later. */
  write(text: string): boolean;
}

/** A {@link PersistedText} in a file. */
export interface PersistedTextFile extends PersistedText {
  /** Closes the file; nothing is read or written afterwards. */
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

/** Longest text that is read, bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Opens the file of a text, which stays open; it is created where there is none.
 * @throws {PersistedTextFault} when the folder does not exist or cannot be written to.
 */
export function openPersistedText(path: string): PersistedTextFile {
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
        return undefined; // it is only a shortcut
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
