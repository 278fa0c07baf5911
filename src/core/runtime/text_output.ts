/** Output for the caller of the program: help, version, command line errors. */
import { escapeHidden } from "../config/redact.ts";

/** Subset of `Deno.stdout` that is used. */
export interface TextOutput {
  writeSync(bytes: Uint8Array): number;
}

/** Writes a text, its invisible characters escaped. False when it is lost although somebody reads (a full disk); a closed reader is no failure. */
export function writeText(to: TextOutput, text: string): boolean {
  try {
    to.writeSync(new TextEncoder().encode(escapeHidden(text)));
    return true;
  } catch (error) {
    return error instanceof Deno.errors.BrokenPipe;
  }
}
