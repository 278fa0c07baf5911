/**
 * `${NAME}` in the texts of a file: values from the environment, so that keys stay out of files. They are put in after
 * the file is parsed, so that a value cannot change the structure of the file. `$${` stands for `${`.
 */
import type { Diagnostics, KeyPath, UsedVariable } from "./diagnostics.ts";
import { quoted } from "./redact.ts";
import type { ConfigFiles } from "./files.ts";
import { isTable, type TomlTable, type TomlValue } from "./toml.ts";

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
  const used: { readonly path: KeyPath; readonly variable: UsedVariable }[] = [];

  const fillText = (text: string, path: KeyPath): string =>
    // The name up to its bracket, which may be missing.
    text.replaceAll(/\$(\$?)\{([^}]*)(\}?)/g, (whole, escape: string, name: string, end: string) => {
      if (escape !== "") return whole.slice(1);
      const isName = end !== "" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
      const value = isName ? files.readVariable?.(name) : undefined;
      if (value !== undefined) {
        used.push({ path, variable: { name, value } });
        return value;
      }
      const found = isName
        ? `\`\${${name}}\`, and no variable ${quoted(name)} in the environment`
        : "`${` without a name and a bracket behind it";
      diagnostics.unresolved(path, {
        found,
        expected: isName ? "a variable that is set when the program starts" : EXPECTED,
      });
      return whole;
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

  return {
    table: fillTable(table, []),
    variablesAt: (path) =>
      used.filter((use) => path.every((step, at) => use.path[at] === step)).map(({ variable }) => variable),
  };
}
