/** Files that others than their owner and its group can read or write. */

/** Permissions of everybody to read and to write. */
const OTHERS_READ = 0o004;
const OTHERS_WRITE = 0o002;

/**
 * What is wrong with who may use a file of this mode; `undefined`: nothing, or it cannot be said. Only what is secret must
 * not be read; nothing may be written by others: who changes a configuration or a key decides what is signed.
 */
export function describeExposure(mode: number | undefined, { isSecret = true } = {}): string | undefined {
  if (mode === undefined) return undefined;
  const right = (mode & OTHERS_WRITE) !== 0 ? "change" : isSecret && (mode & OTHERS_READ) !== 0 ? "read" : "";
  if (right === "") return undefined;
  return `a file that every user of this machine can ${right} (mode ${(mode & 0o777).toString(8)})`;
}
