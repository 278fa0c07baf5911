/** Questions to the person at the terminal, and texts for the caller of the program. */
import { escapeControls } from "../config/redact.ts";
import type { ExitText } from "./command_line.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";

/** A terminal; absent where standard input or output is none. */
export interface Terminal {
  /** Asks for a line; `undefined`: the person ended the input or interrupted it. */
  readonly ask: (question: string) => string | undefined;
  /** As {@link ask}, without showing what is typed. */
  readonly askHidden: (question: string) => string | undefined;
}

/** The terminal of this process, if it has one. */
export function systemTerminal(): Terminal | undefined {
  if (!Deno.stdin.isTerminal() || !Deno.stderr.isTerminal()) return undefined;
  return {
    ask: (question) => {
      writeText(Deno.stderr, question);
      return readLine();
    },
    askHidden: (question) => {
      // From now on nothing is echoed, not even what was typed before.
      Deno.stdin.setRaw(true, { cbreak: true });
      try {
        writeText(Deno.stderr, question);
        return readLine();
      } finally {
        Deno.stdin.setRaw(false);
        writeText(Deno.stderr, "\n");
      }
    },
  };
}

const ENTER: ReadonlySet<number> = new Set([10, 13]);
const ERASE: ReadonlySet<number> = new Set([8, 127]);
const END_OF_INPUT = 4;

/** Reads to the end of a line, byte by byte, so that nothing of the next line is taken. */
function readLine(): string | undefined {
  const bytes: number[] = [];
  const one = new Uint8Array(1);
  for (;;) {
    if (Deno.stdin.readSync(one) === null) return undefined;
    const [byte = END_OF_INPUT] = one;
    if (ENTER.has(byte)) return new TextDecoder().decode(Uint8Array.from(bytes));
    if (byte === END_OF_INPUT) return undefined;
    if (!ERASE.has(byte)) bytes.push(byte);
    else if (bytes.length > 0) eraseCharacter(bytes);
  }
}

/** Takes the last character of a text in UTF-8. */
function eraseCharacter(bytes: number[]): void {
  while (((bytes.pop() ?? 0) & 0b1100_0000) === 0b1000_0000);
}

/** Prints a text with which the program exits. @returns its status, or a failure when it is lost */
export function printExit({ code, stdout, stderr }: ExitText): ExitCode {
  const isReported = writeText(Deno.stdout, stdout) && writeText(Deno.stderr, stderr);
  return isReported || code !== exitCodes.ok ? code : exitCodes.failed;
}

/** Writes a text, its invisible characters escaped. False when it is lost although somebody reads (a full disk); a closed reader is no failure. */
export function writeText(to: Pick<typeof Deno.stdout, "writeSync">, text: string): boolean {
  try {
    to.writeSync(new TextEncoder().encode(escapeControls(text, "\n\t")));
    return true;
  } catch (error) {
    return error instanceof Deno.errors.BrokenPipe;
  }
}
