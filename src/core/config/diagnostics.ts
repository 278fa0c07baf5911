/**
 * Findings about a configuration file, as data, the one line of text made of each, and their collection while the file
 * is read, so that everything can be said at once.
 */
import { toHex } from "../encoding/bytes.ts";
import { EndpointUrl, hasSecret, isPlain, looksSecret, quoted, Secret } from "./redact.ts";

/** What is wrong with a value, and what helps; the texts hold no secret. */
export interface InvalidValue {
  readonly found: string;
  readonly hint?: string | undefined;
}

/** A value that can be used, with what there is to say of it. */
export interface Accepted<T> {
  readonly value: T;
  readonly remarks?: readonly Statement[];
}

/** What a value stands for, or what is wrong with it. */
export type Checked<T> = Accepted<T> | InvalidValue;

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
  readonly expected?: string | undefined;
}

/** Something said of the file. */
export interface Diagnostic extends Statement {
  /** Section and key in TOML spelling, e.g. `[evm1].rpc_urls[0]`; empty for the file as a whole. */
  readonly place: string;
  /** Line of the value, or of its section when the value is missing; `undefined` when unknown. From 1. */
  readonly line: number | undefined;
}

/** What reading a configuration gave. `config` is absent exactly when there are problems. */
export interface ConfigResult<C> {
  readonly config: C | undefined;
  readonly problems: readonly Diagnostic[];
  /** Warnings, then notes. */
  readonly remarks: readonly Diagnostic[];
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
  readonly shown: unknown;
  /** `derived`: from other values of the file. */
  readonly origin: "file" | "default" | "derived";
  readonly line: number | undefined;
  /** Names of the variables of the environment that are part of it. */
  readonly variables: readonly string[];
}

/** One line such as `relayer.toml:12: [hub].rpc_ws: found ..., expected ...`. `file` is the path as given. */
export function renderDiagnostic(file: string, { line, place, found, expected, hint }: Diagnostic): string {
  const at = [line === undefined ? file : `${file}:${line}`, ...place === "" ? [] : [place]].join(": ");
  const text = expected === undefined ? found : `found ${found}, expected ${expected}`;
  return `${at}: ${text}${hint === undefined ? "" : `; ${hint}`}`;
}

/** A warning or note as a line, marked as what it is. */
export function renderRemark(file: string, remark: Diagnostic): string {
  return `${remark.kind}: ${renderDiagnostic(file, remark)}`;
}

/** Everything that is wrong, each thing on a line of its own, then what else there is to say, and what follows from it. */
export function describeProblems(
  file: string,
  { problems, remarks }: ConfigResult<unknown>,
  consequence = "nothing was started",
): string {
  return [
    ...problems.map((problem) => renderDiagnostic(file, problem)),
    ...remarks.map((remark) => renderRemark(file, remark)),
    `${countOf(problems, "problem")} in the configuration; ${consequence}`,
    "",
  ].join("\n");
}

/** A number of things with their name. */
export function countOf(things: readonly unknown[], name: string): string {
  return `${things.length} ${name}${things.length === 1 ? "" : "s"}`;
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
  readonly lineOf: LineLookup;
  readonly all: Diagnostic[] = [];
  /** By section and key: the last value of a key counts. */
  readonly values = new Map<string, EffectiveValue>();
  /** Variables of the environment in texts of the file. */
  readonly variables: UsedVariable[] = [];
  readonly secrets = new Set<string>();

  constructor(lineOf: LineLookup) {
    this.lineOf = lineOf;
  }

  /** A section by the names of its header; none: the file as a whole. */
  section(...path: KeyPath): SourceLocation {
    return new SourceLocation(this, path);
  }

  /** The result of reading; there is no configuration where there are problems. */
  toResult<C>(config: C | undefined): ConfigResult<C> {
    const rank = ({ line = Number.MAX_SAFE_INTEGER }: Diagnostic): number => line;
    const sorted = Map.groupBy(this.all.toSorted((a, b) => rank(a) - rank(b)), ({ kind }) => kind);
    const problems = sorted.get("problem") ?? [];
    return {
      config: problems.length === 0 ? config : undefined,
      problems,
      remarks: [...sorted.get("warning") ?? [], ...sorted.get("note") ?? []],
      values: [...this.values.values()],
      secrets: [...this.secrets],
    };
  }
}

/** A value's place in the file: where readers say what is wrong with it. */
export class SourceLocation {
  readonly #of: Diagnostics;
  readonly #section: KeyPath;
  /** Path within the section. */
  readonly #rest: KeyPath;
  /** For problems that have no hint of their own. */
  readonly #advice: string | undefined;

  constructor(of: Diagnostics, section: KeyPath, rest: KeyPath = [], advice?: string) {
    this.#of = of;
    this.#section = section;
    this.#rest = rest;
    this.#advice = advice;
  }

  /** What is below this value: a key, an element, or a path of them. */
  child(...steps: KeyPath): SourceLocation {
    return new SourceLocation(this.#of, this.#section, [...this.#rest, ...steps], this.#advice);
  }

  /** The same place, with a hint for problems there and below that have none of their own. */
  advising(advice: string | undefined): SourceLocation {
    return new SourceLocation(this.#of, this.#section, this.#rest, advice);
  }

  /** Name of the section in TOML spelling. */
  get section(): string {
    return formatKeyPath(this.#section);
  }

  /** Line of this value or of what is around it, where known. */
  get line(): number | undefined {
    const path = this.#path;
    for (let length = path.length; length > 0; length--) {
      const line = this.#of.lineOf(path.slice(0, length));
      if (line !== undefined) return line;
    }
    return undefined;
  }

  /** Reports something about the value. */
  report(statement: Statement): void {
    const { section, line } = this;
    const whole = formatKeyPath(this.#path);
    const place = section === "" ? whole : `[${section}]${whole.slice(section.length)}`;
    this.#of.all.push({ place, line, ...statement });
  }

  /** The file cannot be used. The texts must not hold secrets. */
  problem(found: string, expected: string, hint = this.#advice): void {
    this.report({ kind: "problem", found, expected, hint });
  }

  /** The file can be used, but probably does not say what is meant. The texts must not hold secrets. */
  warning(found: string, expected?: string, hint?: string): void {
    this.report({ kind: "warning", found, expected, hint });
  }

  /**
   * Records what applies for the key at this place, by its first name. `given`: as the file has it, if it has it. Where
   * the value is a secret, or an endpoint of which the variables are not shown, they are secrets, too.
   */
  applies(
    key: string,
    { value, given, isDerived = false }: {
      readonly value: unknown;
      readonly given?: unknown;
      /** True: the value is another one than the file has. */
      readonly isDerived?: boolean;
    },
  ): void {
    const { section, line } = this;
    const isOfFile = given !== undefined && !isDerived;
    const used = isOfFile ? this.#variables : [];
    const shown = showValue(value, given);
    this.#of.values.set(`${section}.${key}`, {
      ...{ section, key, value, shown, variables: used.map(({ name }) => name) },
      ...isOfFile ? { origin: "file", line } : { origin: isDerived ? "derived" : "default", line: undefined },
    });
    if (!hasSecret(value)) return;
    const visible = JSON.stringify(shown ?? "");
    for (const { value: part = "" } of used) {
      if (!visible.includes(part) && !isPlain(part)) this.#of.secrets.add(part);
    }
  }

  /** True for a value into which a variable could not be put, which was reported. */
  get isUnresolved(): boolean {
    return this.#variables.some(({ value }) => value === undefined);
  }

  /** Variables in the value, everything below it included. */
  get #variables(): readonly UsedVariable[] {
    return this.#of.variables.filter((used) => this.#path.every((step, at) => used.path[at] === step));
  }

  get #path(): KeyPath {
    return [...this.#section, ...this.#rest];
  }
}

/**
 * A value in the form of the file: a secret is a mark, an endpoint has no path. `given` is what the file has, for
 * values that have another form in the program. `undefined`: nothing applies.
 */
function showValue(value: unknown, given: unknown): unknown {
  if (value === undefined) return given === undefined ? undefined : "";
  return showPlain(value) ?? (hasSecret(value) ? String(new Secret("")) : given);
}

/** `undefined` for values that have another form in the program than in the file. */
function showPlain(value: unknown): unknown {
  if (value instanceof Secret) return value.place ?? value.toString();
  if (value instanceof EndpointUrl) return value.toString();
  if (value instanceof Uint8Array) return toHex(value);
  if (typeof value !== "object") return value;
  const elements = Array.isArray(value) ? value.map(showPlain) : [undefined];
  return elements.includes(undefined) ? undefined : elements;
}
