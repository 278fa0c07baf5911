/**
 * Collects what is wrong with a file while it is read, so that everything can be said at once.
 */
import type { LineLookup } from "./key_locator.ts";
import { formatKeyPath, type KeyPath, type Note, type Problem } from "./problem.ts";

/** The problems, warnings and notes of one file. */
export class Report {
  readonly #lineOf: LineLookup;
  readonly #problems: Problem[] = [];
  readonly #warnings: Problem[] = [];
  readonly #notes: Note[] = [];

  constructor(lineOf: LineLookup) {
    this.#lineOf = lineOf;
  }

  /** The file as a whole. */
  get file(): Place {
    return this.section([]);
  }

  /** A section by the names of its header. */
  section(path: KeyPath): Place {
    return new Place(this, path, [], undefined);
  }

  /** In the order of the lines; what has no line comes last. */
  get problems(): readonly Problem[] {
    return byLine(this.#problems);
  }

  /** In the order of the lines; what has no line comes last. */
  get warnings(): readonly Problem[] {
    return byLine(this.#warnings);
  }

  /** In the order of the lines. */
  get notes(): readonly Note[] {
    return byLine(this.#notes);
  }

  /** Used by {@link Place}. */
  add(kind: "problem" | "warning", problem: Problem): void {
    (kind === "problem" ? this.#problems : this.#warnings).push(problem);
  }

  /** Used by {@link Place}. */
  addNote(note: Note): void {
    this.#notes.push(note);
  }

  /** Line of the value at `path` or else of the nearest thing around it. */
  lineOf(path: KeyPath): number | undefined {
    for (let length = path.length; length > 0; length--) {
      const line = this.#lineOf(path.slice(0, length));
      if (line !== undefined) return line;
    }
    return undefined;
  }
}

/** A value's place in the file: where readers say what is wrong with it. */
export class Place {
  readonly #report: Report;
  readonly #section: KeyPath;
  readonly #rest: KeyPath;
  readonly #hint: string | undefined;

  constructor(report: Report, section: KeyPath, rest: KeyPath, hint: string | undefined) {
    this.#report = report;
    this.#section = section;
    this.#rest = rest;
    this.#hint = hint;
  }

  /** A key or element of this value. `hint` goes with every problem there that has none of its own. */
  child(step: string | number, hint?: string): Place {
    return new Place(this.#report, this.#section, [...this.#rest, step], hint ?? this.#hint);
  }

  /** Name of the section in TOML spelling. */
  get section(): string {
    return formatKeyPath(this.#section);
  }

  /** Line of this value or of what is around it, where known. */
  get line(): number | undefined {
    return this.#report.lineOf(this.#path);
  }

  /** The file cannot be used. The texts must not hold secrets. */
  problem(found: string, expected: string, hint?: string): void {
    this.#report.add("problem", this.#describe(found, expected, hint ?? this.#hint));
  }

  /** The file can be used, but probably does not say what is meant. The texts must not hold secrets. */
  warning(found: string, expected: string, hint?: string): void {
    this.#report.add("warning", this.#describe(found, expected, hint));
  }

  /** Says how the value was understood. */
  note(text: string): void {
    this.#report.addNote({ section: this.section, path: formatKeyPath(this.#path), line: this.line, text });
  }

  get #path(): KeyPath {
    return [...this.#section, ...this.#rest];
  }

  #describe(found: string, expected: string, hint: string | undefined): Problem {
    return { section: this.section, path: formatKeyPath(this.#path), line: this.line, found, expected, hint };
  }
}

function byLine<T extends { readonly line: number | undefined }>(items: readonly T[]): readonly T[] {
  return items.toSorted((a, b) => rank(a) - rank(b));
}

function rank(item: { readonly line: number | undefined }): number {
  return item.line ?? Number.MAX_SAFE_INTEGER;
}
