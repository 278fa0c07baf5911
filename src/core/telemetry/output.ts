/** Standard output as the place for log lines: a reader that goes away is no reason to stop relaying. */

/** Where finished lines go. */
export interface LineOutput {
  /**
   * Writes a line and its line break; never throws. Lines of one stretch of synchronous work (a ledger transaction,
   * say) go out together at its end: a process that is killed within it loses those lines and no others.
   */
  write(line: string): void;
  /** Writes what is gathered now: before the process ends. */
  flush(): void;
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

/** Gathered characters that are written without waiting for the end of the work: about a pipe's buffer. */
const mostGathered = 65_536;

/**
 * Lines to standard output (or another descriptor). After a closed pipe everything is dropped silently; what
 * a full disk does not take is lost, the lines after it are tried again.
 */
export function openOutput(target: ByteOutput = Deno.stdout): LineOutput {
  const encoder = new TextEncoder();
  let isClosed = false;
  let gathered = "";
  const flush = (): void => {
    if (gathered === "" || isClosed) return;
    const bytes = encoder.encode(gathered);
    gathered = "";
    isClosed = !writeWhole(target, bytes);
  };
  return {
    isTerminal: target.isTerminal(),
    flush,
    write(line: string): void {
      if (isClosed) return;
      if (gathered === "") queueMicrotask(flush);
      gathered += `${line}\n`;
      if (gathered.length >= mostGathered) flush();
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
