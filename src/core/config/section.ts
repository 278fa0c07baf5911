/**
 * Reads one section of a TOML file by a list of fields: missing keys, wrong values and unknown keys are reported,
 * good values come out under their names in the program. Both programs describe their sections this way.
 */
import type { TomlTable, TomlValue } from "./toml.ts";
import type { SourceLocation } from "./diagnostics.ts";
import { nearestWord } from "./spelling.ts";

/** A value that was accepted; `undefined` in place of it means that the reader has reported a problem. */
export type Accepted<T> = { readonly value: T } | undefined;

/** Turns a TOML value into a checked one. */
export interface Reader<T> {
  /** Ends "expected ..." when the value is missing or wrong, e.g. `an integer from 1 to 5`. */
  readonly expected: string;
  /** Checks a value; what is wrong is reported at `place`. */
  readonly read: (value: TomlValue, place: SourceLocation) => Accepted<T>;
}

/** One key of a section. */
export interface Field<T> {
  /** Name in the file. */
  readonly key: string;
  readonly reader: Reader<T>;
  /** What applies without the key; `undefined` when the key is required. */
  readonly fallback: Accepted<T>;
  /** Another name that files may have for it. */
  readonly alias?: string;
}

/** The fields of a section under the names they have in `V`. */
export type Fields<V> = { readonly [K in keyof V]: Field<V[K]> };

/** A key that must be there. */
export function required<T>(key: string, reader: Reader<T>): Field<T> {
  return { key, reader, fallback: undefined };
}

/** A key that may be missing, which gives `undefined`. */
export function optional<T>(key: string, reader: Reader<T>): Field<T | undefined> {
  return { key, reader, fallback: { value: undefined } };
}

/** A key that may be missing, which gives `fallback`. */
export function withDefault<T>(key: string, reader: Reader<T>, fallback: T): Field<T> {
  return { key, reader, fallback: { value: fallback } };
}

/** A key that files may also have under another name. */
export function alsoNamed<T>(alias: string, field: Field<T>): Field<T> {
  return { ...field, alias };
}

/** What is known of a section beside its fields. */
export interface SectionTraits {
  /** Keys without effect, each with the reason; they are warned about. */
  readonly ignored?: Readonly<Record<string, string>>;
  /** Keys read elsewhere, e.g. `type`. */
  readonly others?: readonly string[];
  /** Advice for the operator when the value of a key is missing or wrong. */
  readonly hintFor?: (key: string) => string | undefined;
}

/** What a section holds. */
export interface SectionResult<V> {
  /** The values that were good, for checks over several sections. */
  readonly good: Partial<V>;
  /** All values; `undefined` when one was missing or wrong. */
  readonly whole: V | undefined;
}

/** Reads `table` by `fields` and reports at `place` what is wrong and what is unknown. */
export function readSection<V extends object>(
  table: TomlTable,
  place: SourceLocation,
  fields: Fields<V>,
  traits: SectionTraits = {},
): SectionResult<V> {
  const good: { -readonly [K in keyof V]?: V[K] } = {};
  const keys = new Set<string>(traits.others);
  for (const name in fields) {
    const field = fields[name];
    keys.add(field.key);
    if (field.alias !== undefined) keys.add(field.alias);
    const accepted = readField(table, place, field, traits);
    if (accepted !== undefined) good[name] = accepted.value;
  }
  warnOfUnknownKeys(table, place, keys, traits.ignored ?? {});
  return { good, whole: isWhole<V>(good, fields) ? good : undefined };
}

function readField<T>(
  table: TomlTable,
  place: SourceLocation,
  field: Field<T>,
  traits: SectionTraits,
): Accepted<T> {
  const key = nameInFile(table, place, field);
  const at = place.child(key, traits.hintFor?.(field.key));
  const value = Object.hasOwn(table, key) ? table[key] : undefined;
  if (value !== undefined) return field.reader.read(value, at);
  if (field.fallback === undefined) at.problem("nothing", field.reader.expected);
  return field.fallback;
}

/** Which of a field's names the table has; both are a problem, and the first one counts. */
function nameInFile<T>(table: TomlTable, place: SourceLocation, { key, alias }: Field<T>): string {
  if (alias === undefined || !Object.hasOwn(table, alias)) return key;
  if (!Object.hasOwn(table, key)) return alias;
  place.child(alias).problem(`a second name of \`${key}\` beside it`, `either \`${key}\` or \`${alias}\``);
  return key;
}

function isWhole<V extends object>(values: Partial<V>, fields: Fields<V>): values is V {
  return Object.keys(fields).every((name) => Object.hasOwn(values, name));
}

function warnOfUnknownKeys(
  table: TomlTable,
  place: SourceLocation,
  known: ReadonlySet<string>,
  ignored: Readonly<Record<string, string>>,
): void {
  for (const key of Object.keys(table)) {
    if (known.has(key)) continue;
    const reason = Object.hasOwn(ignored, key) ? ignored[key] : undefined;
    if (reason !== undefined) {
      place.child(key).warning("a key without effect", "no such key", reason);
      continue;
    }
    const meant = nearestWord(key, known);
    const hint = meant === undefined ? undefined : `did you mean \`${meant}\`?`;
    place.child(key).warning("an unknown key, which is ignored", `a key of [${place.section}]`, hint);
  }
}
