/** Standard output as the place for log lines: a reader that goes away is no reason to stop relaying. */

/** Where finished lines go. */
export interface LineOutput {
  /** Writes a line and its line break; never throws. */
  write(line: string): void;
  /** True when people watch: colours are welcome unless `NO_COLOR` is set. */
  readonly isTerminal: boolean;
}

/** The part of `Deno.stdout` that is used. */
export interface ByteOutput {
  writeSync(bytes: Uint8Array): number;
  isTerminal(): boolean;
}

/** How often a full pipe is tried again before a line is given up. */
const mostTries = 100;

/**
 * Lines to standard output (or another descriptor). After a closed pipe everything is dropped silently; a line that
 * a full disk does not take is lost, the ones after it are tried again.
 */
export function openOutput(target: ByteOutput = Deno.stdout): LineOutput {
  const encoder = new TextEncoder();
  let isClosed = false;
  return {
    isTerminal: target.isTerminal(),
    write(line: string): void {
      if (isClosed) return;
      isClosed = !writeWhole(target, encoder.encode(`${line}\n`));
    },
  };
}

/** @returns false when nobody will ever read it. */
function writeWhole(target: ByteOutput, bytes: Uint8Array): boolean {
  let rest = bytes;
  for (let tries = 0; rest.length > 0 && tries < mostTries;) {
    try {
      rest = rest.subarray(target.writeSync(rest));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) return !isGoneForGood(error);
      tries++;
    }
  }
  return true;
}

/** True for a pipe without a reader and a closed descriptor; a full disk may have room for the next line. */
function isGoneForGood(error: unknown): boolean {
  return error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.BadResource;
}
