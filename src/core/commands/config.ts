/** `config show`, `config check` and `config schema`: what the configuration file says, and whether it can be used. */
import { countOf, type EffectiveValue, renderRemark } from "../config/diagnostics.ts";
import { inlineToml } from "../config/toml.ts";
import { type Command, configGroup, readUsable, type StandaloneRun } from "./command.ts";

/** The command. */
export const configShow: Command<StandaloneRun> = {
  group: configGroup,
  name: "show",
  description: "Shows the values that apply, and where each comes from. Shows no secret.",
  afterHelp:
    `Every key of every section, as TOML, with the line that sets it or "default". Private keys and API keys
are shown as [secret], of endpoints only scheme and host.`,
  exitStatus: { 0: "shown", 1: "the file cannot be used" },
  without: ["db"],
  addOptions: (parser) => void parser.option("--json", "one JSON object per key instead of TOML"),
  run: (run, { json = false }: { readonly json?: boolean }) =>
    run.print(writeEffective(readUsable(run, run.file.read).values, json ? "json" : "toml")),
};

/** Writes all values in their order. */
export function writeEffective(values: readonly EffectiveValue[], format: "toml" | "json"): string {
  return format === "json" ? values.map(toJson).join("\n") : toToml(values);
}

function toJson(effective: EffectiveValue): string {
  const { section, key, shown = null, origin, line, variables } = effective;
  return JSON.stringify(
    { section, key, value: shown, origin, line, variables },
    (_, value: unknown) => typeof value === "bigint" ? String(value) : value,
  );
}

function toToml(values: readonly EffectiveValue[]): string {
  const sections = new Map<string, string[]>();
  for (const effective of values) {
    const lines = sections.get(effective.section) ?? [];
    sections.set(effective.section, [...lines, toLine(effective)]);
  }
  return [...sections].map(([section, lines]) => [`[${section}]`, ...lines].join("\n")).join("\n\n");
}

function toLine(effective: EffectiveValue): string {
  const { key, shown } = effective;
  return shown === undefined
    ? `#${key} # not set`
    : `${key} = ${inlineToml(shown)} # ${describeOrigin(effective)}`;
}

function describeOrigin({ origin, line, variables }: EffectiveValue): string {
  if (origin !== "file") return origin;
  return [`line ${line ?? "?"}`, ...variables.map((name) => `\${${name}}`)].join(", ");
}

/** The command. */
export const configCheck: Command<StandaloneRun> = {
  group: configGroup,
  name: "check",
  description: "Checks the configuration file offline and lists everything that is wrong with it.",
  afterHelp:
    `The same problems, warnings and notes as at the start of the program; keys that are named by path are
read. Connects to nothing.`,
  exitStatus: { 0: "the file can be used", 1: "it cannot" },
  without: ["db"],
  run: (run) => {
    const { remarks, path } = readUsable(run, run.file.read);
    for (const remark of remarks) run.print(renderRemark(path, remark));
    const warnings = remarks.filter(({ kind }) => kind === "warning");
    run.print(`${path}: no problems${warnings.length === 0 ? "" : `, ${countOf(warnings, "warning")}`}`);
  },
};

/** The command. */
export const configSchema: Command<StandaloneRun> = {
  group: configGroup,
  name: "schema",
  description: "Prints the JSON schema of the configuration file, for editors.",
  afterHelp:
    `Editors with TOML support (Taplo, Even Better TOML) use it when the first line of the file names it:
  #:schema ./causeway.schema.json`,
  without: ["config", "db"],
  run: ({ file, print }) => print(file.writeJsonSchema().trimEnd()),
};
