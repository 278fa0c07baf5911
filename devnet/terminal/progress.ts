/** Progress on the screen: one block that updates itself on a terminal, plain lines of what changed elsewhere. */

/** Where the text goes. */
export interface Screen {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** The process's own standard output. */
export function standardOutput(): Screen {
  const encoder = new TextEncoder();
  return {
    isTerminal: Deno.stdout.isTerminal(),
    write: (text): void => {
      Deno.stdout.writeSync(encoder.encode(text));
    },
  };
}

/** Shows lines that change. */
export class Progress {
  readonly #screen: Screen;
  /** Lines of the block as they are on the screen. */
  #shown: readonly string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** Shows the block: redrawn in place on a terminal, only lines that are new elsewhere. */
  update(lines: readonly string[]): void {
    if (!this.#screen.isTerminal) {
      const before = new Set(this.#shown);
      for (const line of lines) if (!before.has(line)) this.#screen.write(`${line}\n`);
      this.#shown = lines;
      return;
    }
    if (lines.length === this.#shown.length && lines.every((line, at) => line === this.#shown[at])) return;
    this.#screen.write(`${this.#erasure()}${lines.map((line) => `${line}\n`).join("")}`);
    this.#shown = lines;
  }

  /** Prints a lasting line above the block. */
  say(line: string): void {
    if (!this.#screen.isTerminal) {
      this.#screen.write(`${line}\n`);
      return;
    }
    const block = this.#shown.map((each) => `${each}\n`).join("");
    this.#screen.write(`${this.#erasure()}${line}\n${block}`);
  }

  /** Leaves the block as it is; the next one begins below. */
  finish(): void {
    this.#shown = [];
  }

  /** Moves to the start of the block and clears from there. */
  #erasure(): string {
    return this.#shown.length === 0 ? "" : `\x1b[${this.#shown.length}A\x1b[0J`;
  }
}

/** A table of text: columns as wide as their widest cell, the first one to the left, the others to `others`. */
export function table(
  rows: readonly (readonly string[])[],
  others: "left" | "right" = "right",
): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from(
    { length: columns },
    (_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  const cell = (text: string, at: number, width: number): string =>
    at === 0 || others === "left" ? text.padEnd(width) : text.padStart(width);
  return rows.map((row) => widths.map((width, at) => cell(row[at] ?? "", at, width)).join("  ").trimEnd());
}
