/**
 * Sections of configuration files. A section lists its keys; each key has a type, a name in the file, a default and a
 * description, and nothing of that stands anywhere else: the types of the programs, the checks, the reference in
 * `docs/configuration`, the example files and the JSON schemas come from here.
 */
import type { Accepted, Checked, SourceLocation } from "./diagnostics.ts";
import { type ConfigFiles, isTable, type TomlTable, type TomlValue } from "./toml.ts";
import { shownText } from "./redact.ts";
import { nearestWord } from "./spelling.ts";

/** A type of values. */
export interface Type<T> {
  /** Stands behind "expected ...", in messages and in the reference. */
  readonly expected: string;
  /** JSON schema of the values that the file has. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Keys that only serve to read values of this type; they have no values of their own. */
  readonly companions?: readonly Key<unknown>[];
  /**
   * Reads a value of the file, and reports at its place what is wrong with it and what else there is to say of it.
   * `section` has the keys beside it. `undefined`: it is wrong.
   */
  readonly read: (given: TomlValue, at: SourceLocation, section: TomlTable) => Accepted<T> | undefined;
}

/** A type whose values `check` accepts, or describes what it found instead. */
export function checkedType<T>(
  of: Omit<Type<T>, "read">,
  check: (given: TomlValue, section: TomlTable) => Checked<T>,
): Type<T> {
  return {
    ...of,
    read: (given, at, section) => {
      const checked = check(given, section);
      if ("found" in checked) {
        at.problem(checked.found, of.expected, checked.hint);
        return undefined;
      }
      for (const remark of checked.remarks ?? []) at.report(remark);
      return checked;
    },
  };
}

/** What is written about a key beside its name and type. */
export interface KeyText {
  /** Another name that files may have for it. */
  readonly alias?: string;
  /** Whole sentences for operators: the effect, and what applies without the key where that is no default. */
  readonly description: string;
  /** A value for the example files, as the file has it. */
  readonly example?: unknown;
}

/** A key of a section. */
export interface Key<T> extends KeyText {
  /** Name in the file. */
  readonly name: string;
  readonly type: Type<T>;
  /** What applies without the key; absent: it must be there. */
  readonly fallback?: Accepted<T>;
  /** What applies where `reason` says why the other keys of the section leave the key without effect; it is not read then. */
  readonly idle?: Accepted<T> & { readonly reason: (section: TomlTable) => string | undefined };
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
  /** Sections inside of this one, by their names. */
  readonly inner?: Readonly<Record<string, Section<unknown>>>;
  /** Advice for problems of a key that have none of their own; `undefined`: none. */
  readonly hintFor?: (key: string) => string | undefined;
}

/** A key that must be there. */
export function required<T>(name: string, type: Type<T>, text: KeyText): Key<T> {
  return { ...text, name, type };
}

/** A key that may be missing, which gives `undefined`. */
export function optional<T>(name: string, type: Type<T>, text: KeyText): Key<T | undefined> {
  return { ...text, name, type, fallback: { value: undefined } };
}

/** A key that may be missing, which gives `fallback`. */
export function withDefault<T>(name: string, type: Type<T>, fallback: T, text: KeyText): Key<T> {
  return { ...text, name, type, fallback: { value: fallback } };
}

/** Begins the description of a key that the program accepts and checks, and does nothing with. */
export const UNUSED = "Has no effect in this program: ";

/** The key in a program that does nothing with it. */
export function unused<T>(key: Key<T>, why: string): Key<T> {
  return { ...key, description: `${UNUSED}${why}.` };
}

/** Every key that a section may have, in the order of the schema. */
export function allKeys({ keys }: Section<unknown>): readonly Key<unknown>[] {
  return Object.values<Key<unknown>>(keys).flatMap((key) => [key, ...key.type.companions ?? []]);
}

/** What a section holds. */
export interface SectionResult<V> {
  /** The values that are good, and the place of the section, for checks over several sections. */
  readonly known: Partial<V> & { readonly location: SourceLocation };
  /** The values of all keys; `undefined` when one is missing or wrong. */
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
  const { keys, hintFor = () => undefined } = section;
  const at = { table, location, hintFor };
  for (const name in keys) {
    const read = readKey(at, keys[name]);
    if (read !== undefined) partial[name] = read.value;
    for (const companion of keys[name].type.companions ?? []) readKey(at, companion);
  }
  warnOfUnknownKeys(table, location, section);
  return { known: { ...partial, location }, complete: hasAll<V>(partial, keys) ? partial : undefined };
}

function hasAll<V extends object>(values: Partial<V>, keys: Keys<V>): values is V {
  return Object.keys(keys).every((name) => Object.hasOwn(values, name));
}

function readKey<T>({ table, location, hintFor }: ReadSection, key: Key<T>): Accepted<T> | undefined {
  const name = nameInFile(table, location, key);
  const at = location.child(name);
  if (at.isUnresolved) return undefined;
  const given = table[name];
  const idleReason = key.idle?.reason(table);
  const read = idleReason === undefined
    ? readValue(key, given, { table, location: at.advising(explainHome(given) ?? hintFor(key.name)) })
    : key.idle;
  if (read === undefined) return undefined;
  at.applies(key.name, { value: read.value, given });
  if (given !== undefined) reportTexts(given, at);
  if (given !== undefined && idleReason !== undefined) {
    at.warning("a key without effect", undefined, idleReason);
  }
  return read;
}

/** Reads a value that may be missing: then the fallback applies, or there is a problem. */
export function readValue<T>(
  { type, fallback }: Pick<Key<T>, "type" | "fallback">,
  given: TomlValue | undefined,
  { table, location }: Omit<ReadSection, "hintFor">,
): Accepted<T> | undefined {
  if (given !== undefined) return type.read(given, location, table);
  if (fallback === undefined) location.problem("nothing", type.expected);
  return fallback;
}

/** Warns of texts that were accepted, and probably are not what is meant. */
function reportTexts(given: TomlValue, at: SourceLocation): void {
  if (Array.isArray(given)) {
    for (const element of given) reportTexts(element, at);
  }
  if (typeof given !== "string") return;
  const [placeholder] = /YOUR-[A-Z-]*[A-Z]/.exec(given) ?? [];
  // Within a word it may be part of a password.
  const [, name] = /(?<![\w$])\$([A-Z_][A-Z0-9_]{2,40})/.exec(given) ?? [];
  if (placeholder !== undefined) at.warning(`the placeholder ${placeholder}`, "a value of yours");
  else if (name !== undefined) {
    at.warning(`$${name}, which is not replaced`, "the variable in braces", `write \${${name}}`);
  }
}

/** Why a path may not be found; `undefined`: it does not seem to be one of those. */
function explainHome(given: unknown): string | undefined {
  const isHome = typeof given === "string" && /^(?:keystore:)?~\//.test(given.trim());
  return isHome ? "~ is not replaced by a home directory: write the whole path" : undefined;
}

/** Which of a key's names the table has; both are a problem, and the first one counts. */
function nameInFile(table: TomlTable, location: SourceLocation, { name, alias }: Key<unknown>): string {
  if (alias === undefined || table[alias] === undefined) return name;
  if (table[name] === undefined) return alias;
  const { line } = location.child(name);
  location.child(alias).problem(
    `a second name of \`${name}\`, which is ${line === undefined ? "there too" : `in line ${line}`}`,
    `either \`${name}\` or \`${alias}\``,
  );
  return name;
}

/** What is meant by keys of the other program's file, and of the network's own relayer. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "it belongs in [relayer] of the file of causeway":
      "minimum_profit_percentage delivery_endpoints module_filter retry_modules withdrawal_frequency",
    "it belongs in the file of causeway-consensus, as its `config init` writes it":
      "consensus consensus_chains",
    "it belongs in [relayer] of the file of causeway-consensus":
      "maximum_update_intervals enable_hub_consensus",
    "only EVM chains in the file of causeway-consensus have it": "host",
    "write `inbound_only = true` in the sections of chains to which nothing is delivered": "outbound",
    "EVM chains have `rpc_urls`, Substrate chains `rpc_ws`, the hub of causeway-consensus in [hub.substrate]":
      "rpc_urls rpc_ws",
  }).flatMap(([hint, keys]) => keys.split(" ").map((key) => [key, hint] as const)),
);

function warnOfUnknownKeys(table: TomlTable, location: SourceLocation, section: Section<unknown>): void {
  const known = new Set([
    ...Object.keys(section.inner ?? {}),
    ...allKeys(section).flatMap(({ name, alias }) => alias === undefined ? [name] : [name, alias]),
  ]);
  for (const key of Object.keys(table)) {
    if (known.has(key)) continue;
    const meant = nearestWord(key, known);
    const hint = ELSEWHERE.get(key) ?? (meant && `did you mean \`${meant}\`?`);
    location.child(key).warning("an unknown key, which is ignored", undefined, hint);
  }
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

/** The schema of a file: of its two sections with fixed names, and of those of chains. */
export function writeSchema(
  title: string,
  { hub, relayer, chains, required }: {
    readonly hub: Section<unknown>;
    readonly relayer: Section<unknown>;
    readonly chains: readonly JsonSchema[];
    readonly required?: readonly string[];
  },
): string {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title,
    type: "object",
    properties: { hub: objectOf(hub), hyperbridge: objectOf(hub), relayer: objectOf(relayer) },
    required,
    additionalProperties: objectByType(chains),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

/**
 * A section of one of several kinds, by its `type`: of a mistake an editor names the key in the kind that is meant, not
 * what each of them would have.
 */
function objectByType(kinds: readonly JsonSchema[]): Readonly<Record<string, unknown>> {
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

/** A section as an object with those inside of it; keys that other names stand for are listed under both. */
export function objectOf(section: Section<unknown>): JsonSchema {
  const keys = allKeys(section);
  const properties = keys.flatMap(({ name, alias, type, fallback, description, example }) => {
    const examples = example === undefined ? {} : { examples: [example] };
    // The defaults are values of the program; those of other types than the file's are empty lists only.
    const usual = fallback?.value === undefined ? {} : { default: fallback.value };
    const property = { description, ...type.json, ...usual, ...examples };
    return alias === undefined ? [[name, property]] : [[name, property], [alias, property]];
  });
  const inner = Object.entries(section.inner ?? {}).map(([name, each]) => [name, objectOf(each)]);
  const isAlwaysNeeded = ({ fallback, idle, alias }: Key<unknown>): boolean =>
    fallback === undefined && idle === undefined && alias === undefined;
  return {
    type: "object",
    description: section.description,
    properties: { ...Object.fromEntries(properties), ...Object.fromEntries(inner) },
    required: keys.filter(isAlwaysNeeded).map(({ name }) => name),
    additionalProperties: false,
  };
}
