/**
 * Findings about a configuration file, as data, the one line of text made of each, and their collection while the file
 * is read, so that everything can be said at once.
 */
import { toHex } from "../encoding/bytes.ts";
import { EndpointUrl, hasSecret, isPlain, looksSecret, quoted, Secret } from "./redact.ts";
import { toWritable, type WritableValue } from "./toml_text.ts";

/** What is wrong with a value, and what helps; the texts hold no secret. */
export interface InvalidValue {
  readonly found: string;
  readonly hint?: string | undefined;
}

/** What a text stands for, or what is wrong with it. */
export type Checked<T> = { readonly value: T } | InvalidValue;

/** Steps from the top of the file to a value: names of keys and indexes of arrays. */
export type KeyPath = readonly (string | number)[];

/** Line (from 1) of a key, an array element or a section header; `undefined` when unknown. */
export type LineLookup = (path: KeyPath) => number | undefined;

/** A variable of the environment in a text of the file. */
export interface UsedVariable {
  readonly name: string;
  readonly value: string;
}

/** Variables in a value, everything below it included. */
type VariableLookup = (path: KeyPath) => readonly UsedVariable[];

/** Something in the file that is not as it should be. Holds no secret: all texts are redacted by their makers. */
export interface Diagnostic {
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
export interface ConfigResult<C> {
  readonly config: C | undefined;
  readonly problems: readonly Diagnostic[];
  /** The file is usable, but says something that has no effect or is probably not meant. */
  readonly warnings: readonly Diagnostic[];
  readonly notes: readonly Note[];
  /** Every key of every section that was read, in the order of the sections' schemas; without those that are wrong. */
  readonly values: readonly EffectiveValue[];
  /** Values from the environment that are, or are part of, a secret: texts that no log line may contain. */
  readonly secrets: readonly string[];
}

/** What applies for a key, and where it comes from. Secrets are in their wrappers. */
export interface EffectiveValue {
  /** Name of the section in TOML spelling. */
  readonly section: string;
  readonly key: string;
  /** As the program has it; `undefined`: nothing applies. */
  readonly value: unknown;
  /** As it may be shown, in the form of the file. */
  readonly shown: WritableValue | undefined;
  /** `derived`: from other values of the file. */
  readonly origin: "file" | "default" | "derived";
  readonly line: number | undefined;
  /** Names of the variables of the environment that are part of it. */
  readonly variables: readonly string[];
}

/** One line such as `relayer.toml:12: [hub].rpc_ws: found ..., expected ...`. `file` is the path as given. */
export function renderDiagnostic(file: string, problem: Diagnostic): string {
  const hint = problem.hint === undefined ? "" : `; ${problem.hint}`;
  return `${renderLocation(file, problem)}: found ${problem.found}, expected ${problem.expected}${hint}`;
}

/** One line such as `relayer.toml:12: [relayer].module_filter[0]: read as ...`. */
export function renderNote(file: string, note: Note): string {
  return `${renderLocation(file, note)}: ${note.text}`;
}

/** Everything that is wrong, each thing on a line of its own, and what follows from it. */
export function describeProblems(
  file: string,
  reading: ConfigResult<unknown>,
  consequence = "nothing was started",
): string {
  const lines = [...reading.problems, ...reading.warnings].map((problem) => renderDiagnostic(file, problem));
  const count = reading.problems.length;
  return [...lines, `${count} problem${count === 1 ? "" : "s"} in the configuration; ${consequence}`, ""]
    .join("\n");
}

function renderLocation(file: string, location: Pick<Diagnostic, "section" | "path" | "line">): string {
  const line = location.line === undefined ? "" : `:${location.line}`;
  if (location.path === "") return `${file}${line}`;
  if (location.section === "") return `${file}${line}: ${location.path}`;
  return `${file}${line}: [${location.section}]${location.path.slice(location.section.length)}`;
}

/** TOML spelling of a path. Names that may be a misplaced key are replaced by their length. */
function formatKeyPath(path: KeyPath): string {
  return path.map((step, index) => {
    if (typeof step === "number") return `[${step}]`;
    return `${index === 0 ? "" : "."}${shownName(step)}`;
  }).join("");
}

function shownName(name: string): string {
  if (name.length > 64 || looksSecret(name, 32)) return `"(name of ${name.length} characters)"`;
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : quoted(name);
}

/** The problems, warnings and notes of one file. */
export class Diagnostics {
  readonly #lineOf: LineLookup;
  readonly #problems: Diagnostic[] = [];
  readonly #warnings: Diagnostic[] = [];
  readonly #notes: Note[] = [];
  readonly #values: EffectiveValue[] = [];
  readonly #secrets = new Set<string>();
  readonly #unresolved: KeyPath[] = [];
  #variablesAt: VariableLookup = () => [];

  constructor(lineOf: LineLookup) {
    this.#lineOf = lineOf;
  }

  /** The file as a whole. */
  get file(): SourceLocation {
    return this.section([]);
  }

  /** A section by the names of its header. */
  section(path: KeyPath): SourceLocation {
    return new SourceLocation(this, { section: path, rest: [] });
  }

  // In the order of the lines; what has no line comes last.
  get problems(): readonly Diagnostic[] {
    return byLine(this.#problems);
  }

  get warnings(): readonly Diagnostic[] {
    return byLine(this.#warnings);
  }

  get notes(): readonly Note[] {
    return byLine(this.#notes);
  }

  /** Used by {@link SourceLocation}. */
  add(kind: "problem" | "warning", problem: Diagnostic): void {
    (kind === "problem" ? this.#problems : this.#warnings).push(problem);
  }

  /** Values from the environment that no log line may contain. */
  get secrets(): readonly string[] {
    return [...this.#secrets];
  }

  /** Sets which variables are part of which values. */
  useVariables(variablesAt: VariableLookup): void {
    this.#variablesAt = variablesAt;
  }

  /** Reports a text into which a variable could not be put; nothing more is said of its key. */
  unresolved(path: KeyPath, { found, expected }: Pick<Diagnostic, "found" | "expected">): void {
    this.#unresolved.push(path);
    const at = path.findIndex((step) => typeof step === "number");
    const tables = path.slice(0, (at < 0 ? path.length : at) - 1);
    const place = { section: tables, rest: path.slice(tables.length) };
    new SourceLocation(this, place).problem(found, expected);
  }

  /** True for a value with such a text in it. */
  isUnresolved(path: KeyPath): boolean {
    return this.#unresolved.some((text) => path.every((step, at) => text[at] === step));
  }

  /**
   * Used by {@link SourceLocation}: names of the variables of a value. Where the value is a secret, or an endpoint of
   * which they are not shown, they are secrets, too.
   */
  namesIn(path: KeyPath, { value, shown }: Pick<EffectiveValue, "value" | "shown">): readonly string[] {
    const variables = this.#variablesAt(path);
    const visible = JSON.stringify(
      shown ?? "",
      (_, inner: unknown) => typeof inner === "bigint" ? "" : inner,
    );
    for (const variable of hasSecret(value) ? variables : []) {
      if (!visible.includes(variable.value) && !isPlain(variable.value)) this.#secrets.add(variable.value);
    }
    return variables.map(({ name }) => name);
  }

  /** In the order in which they were read. */
  get values(): readonly EffectiveValue[] {
    return this.#values;
  }

  /** Used by {@link SourceLocation}; what is said last of a key counts. */
  addValue(value: EffectiveValue): void {
    const known = this.#values.findIndex(({ section, key }) =>
      section === value.section && key === value.key
    );
    if (known < 0) this.#values.push(value);
    else this.#values[known] = value;
  }

  /** Used by {@link SourceLocation}. */
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

/** Where a value is, and the advice for it. */
interface SourcePlace {
  readonly section: KeyPath;
  /** Path within the section. */
  readonly rest: KeyPath;
  readonly hint?: string | undefined;
  readonly hints?: (key: string) => string | undefined;
}

/** A value's place in the file: where readers say what is wrong with it. */
export class SourceLocation {
  readonly #diagnostics: Diagnostics;
  readonly #place: SourcePlace;

  constructor(diagnostics: Diagnostics, place: SourcePlace) {
    this.#diagnostics = diagnostics;
    this.#place = place;
  }

  /** The same place; `hints` gives advice for problems of its keys. */
  withHints(hints: (key: string) => string | undefined): SourceLocation {
    return new SourceLocation(this.#diagnostics, { ...this.#place, hints });
  }

  /** Advice for problems of a key; `undefined`: none. */
  hintFor(key: string): string | undefined {
    return this.#place.hints?.(key);
  }

  /** A key or element of this value. `hint` goes with every problem there that has none of its own. */
  child(step: string | number, hint?: string): SourceLocation {
    const { section, rest, hint: inherited } = this.#place;
    return new SourceLocation(this.#diagnostics, { section, rest: [...rest, step], hint: hint ?? inherited });
  }

  /** Name of the section in TOML spelling. */
  get section(): string {
    return formatKeyPath(this.#place.section);
  }

  /** Line of this value or of what is around it, where known. */
  get line(): number | undefined {
    return this.#diagnostics.lineOf(this.#path);
  }

  /** The file cannot be used. The texts must not hold secrets. */
  problem(found: string, expected: string, hint?: string): void {
    this.#diagnostics.add("problem", this.#describe(found, expected, hint ?? this.#place.hint));
  }

  /** The file can be used, but probably does not say what is meant. The texts must not hold secrets. */
  warning(found: string, expected: string, hint?: string): void {
    this.#diagnostics.add("warning", this.#describe(found, expected, hint));
  }

  /** Says how the value was understood. */
  note(text: string): void {
    this.#diagnostics.addNote({
      section: this.section,
      path: formatKeyPath(this.#path),
      line: this.line,
      text,
    });
  }

  /** Records what applies for the key at this place. */
  applies(key: string, { value, given }: { readonly value: unknown; readonly given: unknown }): void {
    const { section } = this;
    const shown = showValue(value, given);
    const variables = this.#diagnostics.namesIn(this.#path, { value, shown });
    const of = { section, key, value, shown, variables };
    this.#diagnostics.addValue(
      given === undefined
        ? { ...of, origin: "default", line: undefined }
        : { ...of, origin: "file", line: this.line },
    );
  }

  /** Records that another value applies for a key of this section than the file has. */
  derived(key: string, value: unknown): void {
    const { section } = this;
    const shown = showValue(value, undefined);
    const of = { origin: "derived", line: undefined, variables: [] } as const;
    this.#diagnostics.addValue({ section, key, value, shown, ...of });
  }

  /** True for a value into which a variable could not be put, which was reported. */
  get isUnresolved(): boolean {
    return this.#diagnostics.isUnresolved(this.#path);
  }

  get #path(): KeyPath {
    return [...this.#place.section, ...this.#place.rest];
  }

  #describe(found: string, expected: string, hint: string | undefined): Diagnostic {
    return { section: this.section, path: formatKeyPath(this.#path), line: this.line, found, expected, hint };
  }
}

function byLine<T extends { readonly line: number | undefined }>(items: readonly T[]): readonly T[] {
  return items.toSorted((a, b) => rank(a) - rank(b));
}

function rank(item: { readonly line: number | undefined }): number {
  return item.line ?? Number.MAX_SAFE_INTEGER;
}

/**
 * A value in the form of the file: a secret is a mark, an endpoint has no path. `given` is what the file has, for
 * values that have another form in the program. `undefined`: nothing applies.
 */
function showValue(value: unknown, given: unknown): WritableValue | undefined {
  if (value === undefined) return given === undefined ? undefined : "";
  const shown = showPlain(value);
  if (shown !== undefined) return shown;
  return hasSecret(value) ? String(new Secret("")) : toWritable(given);
}

/** `undefined` for values that have another form in the program than in the file. */
function showPlain(value: unknown): WritableValue | undefined {
  if (value instanceof Secret) return value.place ?? value.toString();
  if (value instanceof EndpointUrl) return value.toString();
  if (value instanceof Uint8Array) return toHex(value);
  if (Array.isArray(value)) {
    const elements = value.map(showPlain);
    return elements.every((element) => element !== undefined) ? elements : undefined;
  }
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean" ||
    typeof value === "bigint";
  return isPlain ? value : undefined;
}
