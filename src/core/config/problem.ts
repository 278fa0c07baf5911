/**
 * What is wrong in a configuration file, as data, and the one line of text made of it.
 */
import { looksSecret, quoted } from "./redact.ts";

/** Steps from the top of the file to a value: names of keys and indexes of arrays. */
export type KeyPath = readonly (string | number)[];

/** Something in the file that is not as it should be. Holds no secret: all texts are redacted by their makers. */
export interface Problem {
  /** Name of the section in TOML spelling, e.g. `evm1`; empty when the problem is about the file as a whole. */
  readonly section: string;
  /** Section and key in TOML spelling, e.g. `evm1.rpc_urls[0]`; empty for the file as a whole. */
  readonly path: string;
  /** Line of the value, or of its section when the value is missing; `undefined` when unknown. From 1. */
  readonly line: number | undefined;
  readonly found: string;
  readonly expected: string;
  /** What the operator may want to do about it. */
  readonly hint: string | undefined;
}

/** How something in the file was understood, where that is not obvious. */
export interface Note {
  readonly section: string;
  readonly path: string;
  readonly line: number | undefined;
  readonly text: string;
}

/** What reading a configuration gave. `config` is absent exactly when there are problems. */
export interface ConfigReading<C> {
  readonly config: C | undefined;
  readonly problems: readonly Problem[];
  /** The file is usable, but says something that has no effect or is probably not meant. */
  readonly warnings: readonly Problem[];
  readonly notes: readonly Note[];
}

/** One line such as `relayer.toml:12: [hub].rpc_ws: found ..., expected ...`. `file` is the path as given. */
export function renderProblem(file: string, problem: Problem): string {
  const hint = problem.hint === undefined ? "" : `; ${problem.hint}`;
  return `${renderPlace(file, problem)}: found ${problem.found}, expected ${problem.expected}${hint}`;
}

/** One line such as `relayer.toml:12: [relayer].module_filter[0]: read as ...`. */
export function renderNote(file: string, note: Note): string {
  return `${renderPlace(file, note)}: ${note.text}`;
}

/** Everything that is wrong, each thing on a line of its own, and that nothing was started. */
export function describeProblems(file: string, reading: ConfigReading<unknown>): string {
  const lines = [...reading.problems, ...reading.warnings].map((problem) => renderProblem(file, problem));
  const count = reading.problems.length;
  return [...lines, `${count} problem${count === 1 ? "" : "s"} in the configuration; nothing was started`, ""]
    .join("\n");
}

function renderPlace(file: string, place: Pick<Problem, "section" | "path" | "line">): string {
  const line = place.line === undefined ? "" : `:${place.line}`;
  if (place.path === "") return `${file}${line}`;
  if (place.section === "") return `${file}${line}: ${place.path}`;
  return `${file}${line}: [${place.section}]${place.path.slice(place.section.length)}`;
}

/** TOML spelling of a path. Names that may be a misplaced key are replaced by their length. */
export function formatKeyPath(path: KeyPath): string {
  return path.map((step, index) => {
    if (typeof step === "number") return `[${step}]`;
    return `${index === 0 ? "" : "."}${shownName(step)}`;
  }).join("");
}

function shownName(name: string): string {
  if (name.length > 64 || looksSecret(name, 32)) return `"(name of ${name.length} characters)"`;
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : quoted(name);
}
