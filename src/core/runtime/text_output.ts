/** Texts for the one who called the program: help, version, complaints about the command line. */

/** The part of `Deno.stdout` that is used. */
export interface TextOutput {
  writeSync(bytes: Uint8Array): number;
}

/** Writes a text. False when it is lost though somebody wants it (a full disk); a reader that has gone away is no fault. */
export function writeText(to: TextOutput, text: string): boolean {
  try {
    to.writeSync(new TextEncoder().encode(text));
    return true;
  } catch (error) {
    return error instanceof Deno.errors.BrokenPipe;
  }
}
