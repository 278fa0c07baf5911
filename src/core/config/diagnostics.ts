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
  readonly path: KeyPath;
  readonly name: string;
  /** `undefined`: it could not be put into the text, which was reported. */
  readonly value: string | undefined;
}

/**
 * How a finding counts. `problem`: the file cannot be used. `warning`: it can be used, but probably does not say what is
 * meant. `note`: how something was understood.
 */
export type DiagnosticKind = "problem" | "warning" | "note";

/** What is said of a value: of a note `found` is the whole text. The texts hold no secret. */
export interface Statement extends InvalidValue {
  readonly kind: DiagnosticKind;
  readonly expected?: string;
}

/** Something said of the file. */
export interface Diagnostic extends Statement {
  /** Name of the section in TOML spelling, e.g. `evm1`; empty when it is about the file as a whole. */
  readonly section: string;
  /** Section and key in TOML spelling, e.g. `evm1.rpc_urls[0]`; empty for the file as a whole. */
  readonly path: string;
  /** Line of the value, or of its section when the value is missing; `undefined` when unknown. From 1. */
  readonly line: number | undefined;
}

/** What reading a configuration gave. `config` is absent exactly when there are problems. */
export interface ConfigResult<C> {
  readonly config: C | undefined;
  readonly problems: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  readonly notes: readonly Diagnostic[];
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
export function renderDiagnostic(file: string, { found, expected, hint, ...location }: Diagnostic): string {
  const text = expected === undefined ? found : `found ${found}, expected ${expected}`;
  return `${renderLocation(file, location)}: ${text}${hint === undefined ? "" : `; ${hint}`}`;
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

/** What is said of one file while it is read, and the values that apply. */
export class Diagnostics {
  readonly #lineOf: LineLookup;
  readonly #all: Diagnostic[] = [];
  readonly #values = new Map<string, EffectiveValue>();
  readonly #variables: UsedVariable[] = [];
  readonly #secrets = new Set<string>();

  constructor(lineOf: LineLookup) {
    this.#lineOf = lineOf;
  }

  /** The file as a whole. */
  get file(): SourceLocation {
    return this.section([]);
  }

  /** A section by the names of its header. */
  section(path: KeyPath): SourceLocation {
    return new SourceLocation(this, path, []);
  }

  /** Used by {@link SourceLocation}. */
  add(diagnostic: Diagnostic): void {
    this.#all.push(diagnostic);
  }

  /** The result of reading; there is no configuration where there are problems. */
  toResult<C>(config: C | undefined): ConfigResult<C> {
    const rank = ({ line = Number.MAX_SAFE_INTEGER }: Diagnostic): number => line;
    const sorted = this.#all.toSorted((a, b) => rank(a) - rank(b));
    const of = (wanted: DiagnosticKind): readonly Diagnostic[] =>
      sorted.filter(({ kind }) => kind === wanted);
    const problems = of("problem");
    return {
      config: problems.length === 0 ? config : undefined,
      problems,
      warnings: of("warning"),
      notes: of("note"),
      values: [...this.#values.values()],
      secrets: [...this.#secrets],
    };
  }

  /** Records a variable of the environment in a text of the file. */
  addVariable(variable: UsedVariable): void {
    this.#variables.push(variable);
  }

  /** Variables in a value, everything below it included. */
  variablesAt(path: KeyPath): readonly UsedVariable[] {
    return this.#variables.filter((used) => path.every((step, at) => used.path[at] === step));
  }

  /**
   * Used by {@link SourceLocation}; the last value of a key counts. Where it is a secret, or an endpoint of which the
   * variables are not shown, they are secrets, too.
   */
  addValue(effective: EffectiveValue, used: readonly UsedVariable[]): void {
    this.#values.set(`${effective.section}.${effective.key}`, effective);
    if (!hasSecret(effective.value)) return;
    const visible = JSON.stringify(
      effective.shown ?? "",
      (_, inner: unknown) => typeof inner === "bigint" ? "" : inner,
    );
    for (const { value = "" } of used) {
      if (!visible.includes(value) && !isPlain(value)) this.#secrets.add(value);
    }
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
export class SourceLocation {
  readonly #diagnostics: Diagnostics;
  readonly #section: KeyPath;
  readonly #rest: KeyPath;

  /** @param rest path within the section */
  constructor(diagnostics: Diagnostics, section: KeyPath, rest: KeyPath) {
    this.#diagnostics = diagnostics;
    this.#section = section;
    this.#rest = rest;
  }

  /** What is below this value: a key, an element, or a path of them. */
  child(...steps: KeyPath): SourceLocation {
    return new SourceLocation(this.#diagnostics, this.#section, [...this.#rest, ...steps]);
  }

  /** Name of the section in TOML spelling. */
  get section(): string {
    return formatKeyPath(this.#section);
  }

  /** Line of this value or of what is around it, where known. */
  get line(): number | undefined {
    return this.#diagnostics.lineOf(this.#path);
  }

  /** Reports something about the value. */
  report({ kind, found, expected, hint }: Statement): void {
    const { section, line } = this;
    const text = { kind, found, hint, ...expected !== undefined && { expected } };
    this.#diagnostics.add({ section, path: formatKeyPath(this.#path), line, ...text });
  }

  /** The file cannot be used. The texts must not hold secrets. */
  problem(found: string, expected: string, hint?: string): void {
    this.report({ kind: "problem", found, expected, hint });
  }

  /** The file can be used, but probably does not say what is meant. The texts must not hold secrets. */
  warning(found: string, expected: string, hint?: string): void {
    this.report({ kind: "warning", found, expected, hint });
  }

  /** Records what applies for the key at this place, by its first name. `given`: as the file has it, if it has it. */
  applies(key: string, { value, given, isDerived = false }: AppliedValue): void {
    const { section, line } = this;
    const of = { section, key, value, shown: showValue(value, given) };
    if (given === undefined || isDerived) {
      const origin = isDerived ? "derived" : "default";
      this.#diagnostics.addValue({ ...of, origin, line: undefined, variables: [] }, []);
      return;
    }
    const used = this.#diagnostics.variablesAt(this.#path);
    this.#diagnostics.addValue(
      { ...of, origin: "file", line, variables: used.map(({ name }) => name) },
      used,
    );
  }

  /** True for a value into which a variable could not be put, which was reported. */
  get isUnresolved(): boolean {
    return this.#diagnostics.variablesAt(this.#path).some(({ value }) => value === undefined);
  }

  get #path(): KeyPath {
    return [...this.#section, ...this.#rest];
  }
}

/** A value of a key; derived ones are other than the file has. */
interface AppliedValue {
  readonly value: unknown;
  readonly given?: unknown;
  readonly isDerived?: boolean;
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
