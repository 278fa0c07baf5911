/** Standard output for log lines: a closed reader is no reason to stop relaying. */

import { fstatSync } from "node:fs";
import { escapeControls } from "../config/redact.ts";

/** Destination of finished lines. */
export interface LineOutput {
  /** Writes a line with its line break; never throws. */
  write(line: string): void;
  /** True for a terminal: colours are used unless `NO_COLOR` is set. */
  readonly isTerminal: boolean;
}

/** Subset of `Deno.stdout` that is used. */
export interface ByteOutput {
  writeSync(bytes: Uint8Array): number;
  isTerminal(): boolean;
}

/** Maximum retries on a full pipe before a line is dropped. */
const MAX_TRIES = 100;

/**
 * Opens standard output (or another descriptor) for lines. After a closed pipe everything is dropped silently; lines
 * that a full disk rejects are lost, later lines are tried again.
 */
export function openOutput(target: ByteOutput = Deno.stdout): LineOutput {
  let isClosed = false;
  return {
    isTerminal: target.isTerminal(),
    write: (line) => {
      const bytes = new TextEncoder().encode(`${escapeControls(line, "\n\t\x1b")}\n`);
      isClosed ||= !writeWhole(target, bytes);
    },
  };
}

/** Opens standard error. */
export function openErrorOutput(): LineOutput {
  return openOutput(Deno.stderr);
}

/** @returns false when nothing will ever be read. */
function writeWhole(target: ByteOutput, bytes: Uint8Array): boolean {
  let rest = bytes;
  for (let tries = 0; rest.length > 0 && tries < MAX_TRIES;) {
    try {
      rest = rest.subarray(target.writeSync(rest));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) return !isGoneForGood(error);
      tries++;
    }
  }
  return true;
}

/** True for a pipe without a reader and a closed descriptor; a full disk may have space for the next line. */
function isGoneForGood(error: unknown): boolean {
  return error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.BadResource;
}

/**
 * True when a descriptor is the stream that systemd has connected to its journal. Source: systemd.exec(5),
 * `$JOURNAL_STREAM`: device and inode number of the stream, since the variable is inherited by processes whose output
 * goes elsewhere.
 * @param stream value of the variable; `undefined`: not set
 */
export function isJournalStream(descriptor: 1 | 2, stream: string | undefined): boolean {
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor);
    return stream === `${dev}:${ino}`;
  } catch {
    return false; // a closed descriptor
  }
}
