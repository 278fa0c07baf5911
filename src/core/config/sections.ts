/**
 * From a file to its sections, the same for both programs: the document, the names of its tables, the section of the
 * hub under either name, and what is said of missing sections and of types that do not exist.
 */
import { type ConfigResult, type Diagnostic, Diagnostics, type KeyPath } from "./diagnostics.ts";
import {
  type ConfigFiles,
  describeExposure,
  fileProblem,
  isTable,
  parseToml,
  readTextFile,
  type TomlTable,
  type TomlValue,
} from "./toml.ts";
import { quoted } from "./redact.ts";
import {
  describeValue,
  readSection,
  readValue,
  type Section,
  type SectionResult,
  type Type,
} from "./schema.ts";
import { isInlineKey } from "./secrets.ts";
import { nearestWord } from "./spelling.ts";

/** Names of the hub's section: the spec's and that of the reference's files. */
const HUB_SECTIONS = ["hub", "hyperbridge"] as const;

/** A file while it is read. */
export interface ConfigDocument {
  /** Top-level tables by name; `undefined` for a top-level key that is no table (and was reported). */
  readonly sections: ReadonlyMap<string, TomlTable | undefined>;
  readonly diagnostics: Diagnostics;
}

/** A section with its name. */
export interface NamedTable {
  readonly name: string;
  readonly table: TomlTable;
}

/** Reads the file at `path` with `parse`. A file that cannot be read is a problem too, not an exception. */
export function readConfigFile<C>(
  files: ConfigFiles,
  path: string,
  parse: (files: ConfigFiles, text: string) => ConfigResult<C>,
): ConfigResult<C> {
  const file = readTextFile(files, path);
  if ("found" in file) {
    const expected = file.line === undefined ? "a readable TOML file" : "a TOML file in UTF-8";
    return unreadable(fileProblem(file.found, expected, file.line));
  }
  const reading = parse(files, file.value);
  const hasKey = reading.values.some(isInlineKey);
  const exposure = describeExposure(files.readMode?.(path), { isSecret: hasKey });
  if (exposure === undefined) return reading;
  const found = hasKey ? `a private key in ${exposure}` : exposure;
  const warning = { ...fileProblem(found, "mode 600 or 640"), kind: "warning", hint: "chmod 600" } as const;
  return { ...reading, remarks: [warning, ...reading.remarks] };
}

/**
 * Reads a TOML text with `read`, which reports what is wrong. Top-level keys that are no tables are problems. `files`
 * has the variables that the text names.
 */
export function readDocument<C>(
  files: ConfigFiles,
  text: string,
  read: (document: ConfigDocument) => C | undefined,
): ConfigResult<C> {
  const parsed = parseToml(text);
  if ("problem" in parsed) return unreadable(parsed.problem);
  const diagnostics = new Diagnostics(parsed.lineOf);
  const table = substituteVariables(parsed.table, files, diagnostics);
  return diagnostics.toResult(read({ sections: findSections(table, diagnostics), diagnostics }));
}

function unreadable<C>(problem: Diagnostic): ConfigResult<C> {
  return { config: undefined, problems: [problem], remarks: [], values: [], secrets: [] };
}

function findSections(table: TomlTable, diagnostics: Diagnostics): ConfigDocument["sections"] {
  const sections = new Map<string, TomlTable | undefined>();
  for (const [name, value] of Object.entries(table)) {
    const section = isTable(value) ? value : undefined;
    sections.set(name, section);
    if (section !== undefined) continue;
    const isArrayOfTables = Array.isArray(value) && value.length > 0 && value.every(isTable);
    diagnostics.section().child(name).problem(
      isArrayOfTables ? "an array of sections (double brackets)" : "a value outside of any section",
      "a section in single brackets",
    );
  }
  return sections;
}

/** The section of the hub; its absence and its presence under both names are reported. */
export function findHubSection(document: ConfigDocument): NamedTable | undefined {
  const { sections, diagnostics } = document;
  const [name, other] = HUB_SECTIONS.filter((candidate) => sections.has(candidate));
  if (name === undefined) {
    reportMissing("hub", document);
    return undefined;
  }
  if (other !== undefined) {
    diagnostics.section(other).problem(
      `a second section for the hub beside [${name}]`,
      `either [${name}] or [${other}]`,
    );
  }
  const table = sections.get(name);
  return table === undefined ? undefined : { name, table };
}

/** A section inside of a section, by its name in there. */
export interface InnerSection<V> {
  readonly name: string;
  readonly section: Section<V>;
}

/** Reads a section inside of a section, which must be there. */
export function readInner<V extends object>(
  outer: NamedTable,
  { name, section }: InnerSection<V>,
  { diagnostics }: ConfigDocument,
): SectionResult<V> {
  const location = diagnostics.section(outer.name, name);
  const value = outer.table[name];
  if (value !== undefined && isTable(value)) return readSection(value, location, section);
  location.problem(
    value === undefined ? "no such section" : describeValue(value),
    `a section [${location.section}]`,
  );
  const none: Partial<V> = {};
  return { known: { ...none, location }, complete: undefined };
}

/** Reads a section inside of a section, where it is there; `undefined`: it is not, or it is wrong. */
export function readOptional<V extends object>(
  outer: NamedTable,
  inner: InnerSection<V>,
  document: ConfigDocument,
): V | undefined {
  return outer.table[inner.name] === undefined ? undefined : readInner(outer, inner, document).complete;
}

/** All sections that are not reserved; that there is none is reported. */
export function findChainSections(document: ConfigDocument, expectedTypes: string): readonly NamedTable[] {
  const reserved = new Set<string>([...HUB_SECTIONS, "relayer"]);
  const entries = [...document.sections].filter(([name]) => !reserved.has(name));
  if (entries.length === 0) {
    const expected = `at least one section of a chain (type = ${expectedTypes})`;
    document.diagnostics.section().problem("no chain", expected);
  }
  return entries.flatMap(([name, table]) => table === undefined ? [] : [{ name, table }]);
}

/** Reports that a section is missing, and which one may be it under a misspelt name. */
export function reportMissing(name: string, { sections, diagnostics }: ConfigDocument): void {
  const untyped = [...sections].flatMap(([other, table]) =>
    table && table["type"] === undefined ? [other] : []
  );
  const misspelt = nearestWord(name, untyped);
  const hint = misspelt === undefined ? undefined : `is [${diagnostics.section(misspelt).section}] meant?`;
  diagnostics.section(name).problem("no such section", `a section [${name}]`, hint);
}

/** Reads `type` of a section. */
export function readType<W>(
  { name, table }: NamedTable,
  type: Type<W>,
  document: ConfigDocument,
): W | undefined {
  const location = document.diagnostics.section(name).child("type");
  return location.isUnresolved ? undefined : readValue({ type }, table["type"], { table, location })?.value;
}

/**
 * Puts values of the environment into all texts of a document, so that keys stay out of files; after it is parsed, so
 * that a value cannot change its structure. What cannot be put in is reported, and its text stays as it is.
 */
function substituteVariables(table: TomlTable, files: ConfigFiles, diagnostics: Diagnostics): TomlTable {
  const fillText = (text: string, path: KeyPath): string =>
    // The name up to its bracket, which may be missing.
    text.replaceAll(/\$(\$?)\{([^}]*)(\}?)/g, (whole, escape: string, name: string, end: string) => {
      if (escape !== "") return whole.slice(1);
      const isName = end !== "" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
      const value = isName ? files.readVariable?.(name) : undefined;
      diagnostics.variables.push({ path, name, value });
      if (value === undefined) reportVariable(isName ? name : undefined, path, diagnostics);
      return value ?? whole;
    });
  const fill = (value: TomlValue, path: KeyPath): TomlValue => {
    if (typeof value === "string") return fillText(value, path);
    if (Array.isArray(value)) return value.map((element, index) => fill(element, [...path, index]));
    return isTable(value) ? fillTable(value, path) : value;
  };
  const fillTable = (given: TomlTable, path: KeyPath): TomlTable => {
    const filled: { [key: string]: TomlValue } = Object.create(null);
    for (const [key, value] of Object.entries(given)) filled[key] = fill(value, [...path, key]);
    return filled;
  };
  return fillTable(table, []);
}

/** Reports a text without its variable; nothing more is said of its key. @param name `undefined`: it is no name */
function reportVariable(name: string | undefined, path: KeyPath, diagnostics: Diagnostics): void {
  const element = path.findIndex((step) => typeof step === "number");
  const key = (element < 0 ? path.length : element) - 1;
  const at = diagnostics.section(...path.slice(0, key)).child(...path.slice(key));
  if (name === undefined) {
    const expected = "`${NAME}` with a name of letters, digits and underscores, or `$${` for the text `${`";
    at.problem("`${` without a name and a bracket behind it", expected);
    return;
  }
  const found = `\`\${${name}}\`, and no variable ${quoted(name)} in the environment`;
  at.problem(found, "a variable that is set when the program starts");
}
