/**
 * From a file to its sections, the same for both programs: the document, the names of its tables, the section of the
 * hub under either name, and what is said of missing sections and of types that do not exist.
 */
import { isTable, type TomlTable, type TomlValue } from "./toml.ts";
import type { ConfigResult, Diagnostic } from "./diagnostics.ts";
import { shownText } from "./redact.ts";
import { Diagnostics, type SourceLocation } from "./diagnostics.ts";
import { type Fields, readSection, type SectionResult, type SectionTraits } from "./section.ts";
import { nearestWord } from "./spelling.ts";
import { type ConfigFiles, parseToml, readTextFile } from "./toml.ts";
import { describeKind } from "./value_readers.ts";

/** Names of the hub's section: the spec's and that of the reference's files. */
const HUB_SECTIONS = ["hub", "hyperbridge"] as const;

/** Top-level tables by name; `undefined` for a top-level key that is no table (and was reported). */
export type Sections = ReadonlyMap<string, TomlTable | undefined>;

/** Reads the file at `path` with `parse`. A file that cannot be read is a problem too, not an exception. */
export function readConfigFile<C>(
  files: ConfigFiles,
  path: string,
  parse: (text: string) => ConfigResult<C>,
): ConfigResult<C> {
  const file = readTextFile(files, path);
  return "problem" in file ? unreadable(file.problem) : parse(file.text);
}

/** Reads a TOML text with `read`, which reports what is wrong. */
export function readDocument<C>(
  text: string,
  read: (table: TomlTable, diagnostics: Diagnostics) => C | undefined,
): ConfigResult<C> {
  const document = parseToml(text);
  if ("problem" in document) return unreadable(document.problem);
  const diagnostics = new Diagnostics(document.lineOf);
  const config = read(document.table, diagnostics);
  const { problems, warnings, notes } = diagnostics;
  return { config: problems.length === 0 ? config : undefined, problems, warnings, notes };
}

function unreadable<C>(problem: Diagnostic): ConfigResult<C> {
  return { config: undefined, problems: [problem], warnings: [], notes: [] };
}

/** Top-level tables by name. Every other top-level key is a problem. */
export function findSections(table: TomlTable, diagnostics: Diagnostics): Sections {
  const sections = new Map<string, TomlTable | undefined>();
  for (const [name, value] of Object.entries(table)) {
    const section = isTable(value) ? value : undefined;
    sections.set(name, section);
    if (section === undefined) {
      const isArrayOfTables = Array.isArray(value) && value.length > 0 && value.every(isTable);
      diagnostics.file.child(name).problem(
        isArrayOfTables
          ? "an array of sections (double brackets)"
          : `${describeKind(value)} outside of any section`,
        "a section in single brackets",
      );
    }
  }
  return sections;
}

/** The section of the hub; its absence and its presence under both names are reported. */
export function findHubSection(
  sections: Sections,
  diagnostics: Diagnostics,
): { readonly name: string; readonly table: TomlTable } | undefined {
  const [name, other] = HUB_SECTIONS.filter((candidate) => sections.has(candidate));
  if (name === undefined) {
    reportMissing("hub", sections, diagnostics);
    return undefined;
  }
  if (other !== undefined) {
    diagnostics.section([other]).problem(
      `a second section for the hub beside [${name}]`,
      `either [${name}] or [${other}]`,
    );
  }
  const table = sections.get(name);
  return table === undefined ? undefined : { name, table };
}

/** A table inside of a section, which must be there. */
export function readInner<V extends object>(
  outer: { readonly name: string; readonly table: TomlTable },
  inner: { readonly name: string; readonly fields: Fields<V>; readonly ignored?: SectionTraits["ignored"] },
  diagnostics: Diagnostics,
): SectionResult<V> & { readonly place: SourceLocation } {
  const place = diagnostics.section([outer.name, inner.name]);
  const value = Object.hasOwn(outer.table, inner.name) ? outer.table[inner.name] : undefined;
  if (value !== undefined && isTable(value)) {
    return { place, ...readSection(value, place, inner.fields, { ignored: inner.ignored ?? {} }) };
  }
  const found = value === undefined ? "no such section" : describeKind(value);
  place.problem(found, `a section [${place.section}]`);
  return { place, good: {}, whole: undefined };
}

/** All sections that are not reserved; that there is none is reported. */
export function findChainSections(
  sections: Sections,
  diagnostics: Diagnostics,
  expectedTypes: string,
): readonly (readonly [string, TomlTable])[] {
  const reserved = new Set<string>([...HUB_SECTIONS, "relayer"]);
  const entries = [...sections].filter(([name]) => !reserved.has(name));
  if (entries.length === 0) {
    diagnostics.file.problem("no chain", `at least one section of a chain (type = ${expectedTypes})`);
  }
  return entries.flatMap(([name, table]) => table === undefined ? [] : [[name, table] as const]);
}

/** Reports that a section is missing, and which one may be it under a misspelt name. */
export function reportMissing(
  name: string,
  sections: Sections,
  diagnostics: Diagnostics,
): void {
  const untyped = [...sections].flatMap(([other, table]) =>
    table && !Object.hasOwn(table, "type") ? [other] : []
  );
  const misspelt = nearestWord(name, untyped);
  const hint = misspelt === undefined ? undefined : `is [${diagnostics.section([misspelt]).section}] meant?`;
  diagnostics.section([name]).problem("no such section", `a section [${name}]`, hint);
}

/** Which values of `type` exist. */
export interface TypeNames {
  readonly expected: string;
  readonly words: readonly string[];
  /** For values that exist elsewhere. */
  readonly advice: Readonly<Record<string, string>>;
}

/** Reports a `type` that is missing or unknown. */
export function reportType(type: TomlValue | undefined, at: SourceLocation, types: TypeNames): void {
  if (type === undefined) at.problem("nothing", types.expected);
  else if (typeof type !== "string") at.problem(describeKind(type), types.expected);
  else {
    const meant = nearestWord(type, types.words);
    const advice = Object.hasOwn(types.advice, type) ? types.advice[type] : undefined;
    at.problem(
      advice === undefined ? shownText(type) : `the unsupported type "${type}"`,
      types.expected,
      advice ?? (meant && `did you mean "${meant}"?`),
    );
  }
}
