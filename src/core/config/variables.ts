/**
 * `${NAME}` in the texts of a file: values from the environment, so that keys stay out of files. They are put in after
 * the file is parsed, so that a value cannot change the structure of the file. `$${` stands for `${`.
 */
import type { Diagnostics, KeyPath, UsedVariable } from "./diagnostics.ts";
import { quoted } from "./redact.ts";
import { type ConfigFiles, isTable, type TomlTable, type TomlValue } from "./toml.ts";

/** What was put into a file. */
export interface Substitution {
  readonly table: TomlTable;
  /** Variables of a value, of everything below it included. */
  readonly variablesAt: (path: KeyPath) => readonly UsedVariable[];
}

const EXPECTED = "`${NAME}` with a name of letters, digits and underscores, or `$${` for the text `${`";

/** Puts values into all texts of a document. What cannot be put in is reported, and its text stays as it is. */
export function substituteVariables(
  table: TomlTable,
  files: ConfigFiles,
  diagnostics: Diagnostics,
): Substitution {
  const substitution = new VariableSubstitution(files, diagnostics);
  return {
    table: substitution.table(table, []),
    variablesAt: (path) => substitution.usedAt(path),
  };
}

class VariableSubstitution {
  readonly #files: ConfigFiles;
  readonly #diagnostics: Diagnostics;
  readonly #used: { readonly path: KeyPath; readonly variable: UsedVariable }[] = [];

  constructor(files: ConfigFiles, diagnostics: Diagnostics) {
    this.#files = files;
    this.#diagnostics = diagnostics;
  }

  usedAt(path: KeyPath): readonly UsedVariable[] {
    return this.#used.filter((used) => path.every((step, at) => used.path[at] === step))
      .map(({ variable }) => variable);
  }

  table(table: TomlTable, path: KeyPath): TomlTable {
    const filled: { [key: string]: TomlValue } = Object.create(null);
    for (const [key, value] of Object.entries(table)) filled[key] = this.#value(value, [...path, key]);
    return filled;
  }

  #value(value: TomlValue, path: KeyPath): TomlValue {
    if (typeof value === "string") return this.#text(value, path);
    if (Array.isArray(value)) return value.map((element, index) => this.#value(element, [...path, index]));
    return isTable(value) ? this.table(value, path) : value;
  }

  #text(text: string, path: KeyPath): string {
    // The name up to its bracket, which may be missing.
    return text.replaceAll(/\$(\$?)\{([^}]*)(\}?)/g, (whole, escape: string, name: string, end: string) => {
      if (escape !== "") return whole.slice(1);
      if (end === "" || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        this.#diagnostics.unresolved(path, {
          found: "`${` without a name and a bracket behind it",
          expected: EXPECTED,
        });
        return whole;
      }
      const value = this.#files.readVariable?.(name);
      if (value === undefined) {
        const found = `\`\${${name}}\`, and no variable ${quoted(name)} in the environment`;
        this.#diagnostics.unresolved(path, {
          found,
          expected: "a variable that is set when the program starts",
        });
        return whole;
      }
      this.#used.push({ path, variable: { name, value } });
      return value;
    });
  }
}
