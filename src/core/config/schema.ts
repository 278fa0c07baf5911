/**
 * Sections of configuration files as zod schemas. A section lists its keys; each key has a type, a name in the file, a
 * default and a description, and nothing of that stands anywhere else: the types of the programs, the checks, the
 * reference in `docs/configuration`, the example files and the JSON schemas come from here.
 */
import * as z from "zod";
import type { InvalidValue, KeyPath, SourceLocation, Statement } from "./diagnostics.ts";
import { type ConfigFiles, isTable, type TomlTable } from "./toml.ts";
import { shownText } from "./redact.ts";
import { nearestWord } from "./spelling.ts";

/** What is written about a key beside its type. */
export interface KeyText {
  /** Name in the file. */
  readonly name: string;
  /** Another name that files may have for it. */
  readonly alias?: string;
  /** Whole sentences for operators: the effect, and what applies without the key where that is no default. */
  readonly description: string;
  /** A value for the example files, as the file has it. */
  readonly example?: unknown;
}

/** A key of a section. */
export interface Key<T> extends KeyText {
  /** The type with the default. */
  readonly schema: z.ZodType<T>;
  /** The type of values that the file has. */
  readonly type: z.ZodType;
  /** The type with the default, where other keys of the section count; else {@link schema} does. */
  readonly schemaIn?: (section: TomlTable) => z.ZodType<T>;
  /** Keys that only serve to read this one; they have no values of their own. */
  readonly companions?: readonly Key<unknown>[];
  /** Why the key has no effect beside the other keys of the section; `undefined`: it has one. Absent: it always has. */
  readonly idleReason?: (section: TomlTable) => string | undefined;
  readonly isRequired: boolean;
  /** True: another key of the section may make it needless, so that editors do not ask for it. */
  readonly mayBeIdle?: boolean;
  /** What applies without the key; `undefined`: nothing does. */
  readonly fallback: unknown;
}

/** Keys of a section under the names that their values have in the program. */
export type Keys<V> = { readonly [K in keyof V]: Key<V[K]> };

/** The values that the program gets of keys. */
export type SectionValues<K> = { readonly [N in keyof K]: K[N] extends Key<infer T> ? T : never };

/** A section of a file. */
export interface Section<V> {
  /** Whole sentences for operators. */
  readonly description: string;
  readonly keys: Keys<V>;
  /** Keys that this program accepts and checks, and does nothing with. */
  readonly withoutEffect?: readonly Key<unknown>[];
  /** Keys of other files and sections, each with what to say of it; they are warned about. */
  readonly foreign?: Readonly<Record<string, string>>;
  /** Names of sections inside of this one. */
  readonly inner?: readonly string[];
  /** Advice for problems of a key that have none of their own; `undefined`: none. */
  readonly hintFor?: (key: string) => string | undefined;
}

/** A type that depends on other keys of the section. */
export interface TypeIn<T> {
  readonly of: (section: TomlTable) => z.ZodType<T>;
  readonly companions: readonly Key<unknown>[];
}

/** A key that must be there, and whose type depends on others. */
export function requiredIn<T>({ of, companions }: TypeIn<T>, text: KeyText): Key<T> {
  return { ...required(of({}), text), schemaIn: of, companions };
}

/** A key that may be missing, which gives `undefined`, and whose type depends on others. */
export function optionalIn<T>({ of, companions }: TypeIn<T>, text: KeyText): Key<T | undefined> {
  return { ...optional(of({}), text), schemaIn: (section) => of(section).optional(), companions };
}

/** A key that must be there. */
export function required<T>(type: z.ZodType<T>, text: KeyText): Key<T> {
  return { ...text, type, schema: type, isRequired: true, fallback: undefined };
}

/** A key that may be missing, which gives `undefined`. */
export function optional<T>(type: z.ZodType<T>, text: KeyText): Key<T | undefined> {
  return { ...text, type, schema: type.optional(), isRequired: false, fallback: undefined };
}

/** A key that may be missing, which gives `fallback`. */
export function withDefault<T>(
  type: z.ZodType<T>,
  fallback: z.core.util.NoUndefined<T>,
  text: KeyText,
): Key<T> {
  return { ...text, type, schema: type.default(fallback), isRequired: false, fallback };
}

/** How a type is described behind "expected ..."; it is the message of the type's own errors. */
export function expectedText(type: z.ZodType): string {
  return type.safeParse(undefined).error?.issues[0]?.message ?? "";
}

/** Every key that a section may have, in the order of the schema. */
export function allKeys({ keys, withoutEffect = [] }: Section<unknown>): readonly Key<unknown>[] {
  return [...Object.values<Key<unknown>>(keys), ...withoutEffect]
    .flatMap((key) => [key, ...key.companions ?? []]);
}

/** A warning or note about a value that was accepted, or about one in it. */
export type Remark = Statement & { readonly path: KeyPath };

const remarkers = z.registry<{ readonly remarksOn: (given: unknown) => readonly Remark[] }>();

/** A type whose accepted values are remarked upon, further ones too; `more` gets the value as the file has it. */
export function withRemarks<T>(
  type: z.ZodType<T>,
  more: (given: unknown) => readonly Remark[],
): z.ZodType<T> {
  const remarked = type.meta({});
  remarkers.add(remarked, { remarksOn: (given) => [...remarksOn(type, given), ...more(given)] });
  return remarked;
}

/** What is to be said of an accepted value. */
export function remarksOn(type: z.ZodType, given: unknown): readonly Remark[] {
  return remarkers.get(type)?.remarksOn(given) ?? [];
}

/** What a section holds. */
export interface SectionResult<V> {
  /** The values that are good, for checks over several sections. */
  readonly partial: Partial<V>;
  /** The values of all keys that have an effect; `undefined` when one is missing or wrong. */
  readonly complete: V | undefined;
}

/** A section while it is read. */
interface ReadSection {
  readonly table: TomlTable;
  readonly location: SourceLocation;
  readonly hintFor: (key: string) => string | undefined;
}

/**
 * Reads `table` as `section` and says at `location` what is wrong and what is unknown.
 */
export function readSection<V extends object>(
  table: TomlTable,
  location: SourceLocation,
  section: Section<V>,
): SectionResult<V> {
  const partial: { -readonly [K in keyof V]?: V[K] } = {};
  const { keys, withoutEffect = [], hintFor = () => undefined } = section;
  const at = { table, location, hintFor };
  for (const name in keys) {
    const read = readKey(at, keys[name]);
    if (read !== undefined) partial[name] = read.value;
    for (const companion of keys[name].companions ?? []) readKey(at, companion);
  }
  for (const key of withoutEffect) readKey(at, key);
  warnOfUnknownKeys(table, location, section);
  return { partial, complete: hasAll<V>(partial, keys) ? partial : undefined };
}

function hasAll<V extends object>(values: Partial<V>, keys: Keys<V>): values is V {
  return Object.keys(keys).every((name) => Object.hasOwn(values, name));
}

function readKey<T>(
  { table, location, hintFor }: ReadSection,
  key: Key<T>,
): { readonly value: T } | undefined {
  const name = nameInFile(table, location, key);
  const at = location.child(name);
  if (at.isUnresolved) return undefined;
  const given = Object.hasOwn(table, name) ? table[name] : undefined;
  const result = (key.schemaIn?.(table) ?? key.schema).safeParse(given, { reportInput: true });
  if (!result.success) {
    for (const { path, found, expected, hint } of result.error.issues.map(explain)) {
      at.child(...path).problem(found, expected, explainHome(given) ?? hint ?? hintFor(key.name));
    }
    return undefined;
  }
  at.applies(key.name, { value: result.data, given });
  if (given !== undefined) {
    for (const { path, ...remark } of remarksOn(key.type, given)) at.child(...path).report(remark);
    for (const remark of remarksOnTexts(given)) at.warning(...remark);
    const reason = key.idleReason?.(table);
    if (reason !== undefined) at.warning("a key without effect", "no such key", reason);
  }
  return { value: result.data };
}

/** What is said of texts that were accepted, and probably are not what is meant. */
function remarksOnTexts(
  given: unknown,
): readonly (readonly [found: string, expected: string, hint?: string])[] {
  if (Array.isArray(given)) return given.flatMap(remarksOnTexts);
  if (typeof given !== "string") return [];
  const [placeholder] = /YOUR-[A-Z-]*[A-Z]/.exec(given) ?? [];
  if (placeholder !== undefined) return [[`the placeholder ${placeholder}`, "a value of yours"]];
  // Within a word it may be part of a password.
  const [, name] = /(?<![\w$])\$([A-Z_][A-Z0-9_]{2,40})/.exec(given) ?? [];
  if (name === undefined) return [];
  return [[`$${name}, which is not replaced`, "the variable in braces", `write \${${name}}`]];
}

/** Why a path may not be found; `undefined`: it does not seem to be one of those. */
function explainHome(given: unknown): string | undefined {
  const isHome = typeof given === "string" && /^(?:keystore:)?~\//.test(given.trim());
  return isHome ? "~ is not replaced by a home directory: write the whole path" : undefined;
}

/** Which of a key's names the table has; both are a problem, and the first one counts. */
function nameInFile(table: TomlTable, location: SourceLocation, { name, alias }: KeyText): string {
  if (alias === undefined || !Object.hasOwn(table, alias)) return name;
  if (!Object.hasOwn(table, name)) return alias;
  const { line } = location.child(name);
  location.child(alias).problem(
    `a second name of \`${name}\`, which is ${line === undefined ? "there too" : `in line ${line}`}`,
    `either \`${name}\` or \`${alias}\``,
  );
  return name;
}

function warnOfUnknownKeys(table: TomlTable, location: SourceLocation, section: Section<unknown>): void {
  const { foreign = {}, inner = [] } = section;
  const known = new Set([
    ...inner,
    ...allKeys(section).flatMap(({ name, alias }) => alias === undefined ? [name] : [name, alias]),
  ]);
  for (const key of Object.keys(table)) {
    if (known.has(key)) continue;
    const reason = Object.hasOwn(foreign, key) ? foreign[key] : undefined;
    if (reason !== undefined) {
      location.child(key).warning("a key without effect", "no such key", reason);
      continue;
    }
    const meant = nearestWord(key, known);
    const hint = meant === undefined ? undefined : `did you mean \`${meant}\`?`;
    location.child(key).warning("an unknown key, which is ignored", `a key of [${location.section}]`, hint);
  }
}

/** An error of a value in words. */
interface Explanation {
  readonly path: KeyPath;
  readonly found: string;
  readonly expected: string;
  readonly hint: string | undefined;
}

/** The issue with its input, as all parsing of this file asks for. Texts never show what may be a secret. */
function explain({ input, ...issue }: z.core.$ZodIssue): Explanation {
  const path = issue.path.map((step) => typeof step === "symbol" ? String(step) : step);
  const found = describeValue(input);
  const of = { path, expected: issue.message, found, hint: undefined };
  switch (issue.code) {
    case "custom":
      return { ...of, found: String(issue.params?.["found"]), hint: issue.params?.["hint"] };
    case "invalid_value": {
      const words = issue.values.filter((word) => typeof word === "string");
      const meant = typeof input === "string" ? nearestWord(input, words) : undefined;
      return { ...of, hint: meant && `did you mean "${meant}"?` };
    }
    case "invalid_type":
      // An integer may be a key whose quotes are missing.
      if (typeof input === "bigint" && issue.expected === "string") {
        return { ...of, found: "an integer", hint: "put it in quotes" };
      }
      if (typeof input === "number" && issue.expected === "bigint") {
        return { ...of, found: `${Number.isInteger(input) ? input.toFixed(1) : input} (not an integer)` };
      }
      return typeof input === "string" && issue.expected === "array"
        ? { ...of, hint: "put it in square brackets" }
        : of;
    default:
      return of;
  }
}

/** The issue of a value that a type refuses in its own words. */
export function refusal(
  input: unknown,
  expected: string,
  { found, hint }: InvalidValue,
): z.core.$ZodRawIssue<z.core.$ZodIssueCustom> {
  return { code: "custom", input, message: expected, params: { found, hint } };
}

/** What a value is, in words. A misplaced private key may be any text or integer, so long ones are not shown. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return shownText(value);
  if (typeof value === "bigint") {
    return value >= -(2n ** 63n) && value < 2n ** 64n ? String(value) : "an integer of more than 64 bits";
  }
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : `an array of ${value.length}`;
  return isTable(value) ? "a table" : "a date or time";
}

/** For sections that are described, not read: there are no files. */
export const noFiles: ConfigFiles = {
  readFile: () => {
    throw new Error("no file is read for a description");
  },
};

/** A part of a JSON schema. */
export interface JsonSchema {
  readonly [key: string]: unknown;
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The schema of a file. */
export function writeSchema(title: string, body: JsonSchema): string {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title, type: "object" };
  return `${JSON.stringify({ ...head, ...body }, undefined, 2)}\n`;
}

/**
 * A section of one of several kinds, by its `type`: of a mistake an editor names the key in the kind that is meant, not
 * what each of them would have.
 */
export function objectByType(kinds: readonly JsonSchema[]): Readonly<Record<string, unknown>> {
  const typesOf = ({ properties }: JsonSchema): readonly unknown[] => {
    const types: unknown = properties["type"]?.["enum"];
    return Array.isArray(types) ? types : [];
  };
  return {
    type: "object",
    required: ["type"],
    properties: { type: { enum: kinds.flatMap(typesOf) } },
    allOf: kinds.map((kind) => ({
      if: { required: ["type"], properties: { type: { enum: typesOf(kind) } } },
      then: kind,
    })),
  };
}

/** A section as an object; keys that other names stand for are listed under both. */
export function objectOf(section: Section<unknown>, inner: JsonSchema["properties"] = {}): JsonSchema {
  const keys = allKeys(section);
  const properties = keys.flatMap(({ name, alias, type, fallback, description, example }) => {
    const examples = example === undefined ? {} : { examples: [example] };
    // The defaults are values of the program; those of other types than the file's are empty lists only.
    const usual = fallback === undefined ? {} : { default: fallback };
    const { $schema: _, ...json } = z.toJSONSchema(type, { io: "input", unrepresentable: "any" });
    const property = { description, ...json, ...usual, ...examples };
    return alias === undefined ? [[name, property]] : [[name, property], [alias, property]];
  });
  return {
    type: "object",
    description: section.description,
    properties: { ...Object.fromEntries(properties), ...inner },
    required: keys.filter(({ isRequired, mayBeIdle, alias }) =>
      isRequired && !mayBeIdle && alias === undefined
    )
      .map(({ name }) => name),
    additionalProperties: false,
  };
}
