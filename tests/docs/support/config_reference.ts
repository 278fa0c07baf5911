/** The reference of a configuration file as Markdown, from the schemas. Pure. */
import { allKeys, type Key, type Section, UNUSED } from "../../../src/core/config/schema.ts";
import { inlineToml } from "../../../src/core/config/toml.ts";
import { CONSENSUS_SECTIONS, type ListedSection, MESSAGING_SECTIONS } from "./config_files.ts";

const COMMON =
  "Keys that are not listed here are ignored with a warning. How keys, environment and reloads work: " +
  "[README](README.md).";

/** `docs/configuration/messaging.md`. */
export function messagingReference(): string {
  return reference(
    "causeway",
    "[`config.example.toml`](../../config.example.toml), [`messaging.schema.json`](messaging.schema.json)",
    MESSAGING_SECTIONS,
    [],
  );
}

/** `docs/configuration/consensus.md`. */
export function consensusReference(): string {
  return reference(
    "causeway-consensus",
    "[`consensus.example.toml`](../../consensus.example.toml), [`consensus.schema.json`](consensus.schema.json)",
    CONSENSUS_SECTIONS,
    MESSAGING_SECTIONS.flatMap(({ section }) => allKeys(section)),
  );
}

/** @param others keys of the other file, which it describes. */
function reference(
  program: string,
  files: string,
  sections: readonly ListedSection[],
  others: readonly Key<unknown>[],
): string {
  const shown = new Map(others.map((key) => [rowOf(key), "In [messaging.md](messaging.md)"]));
  return [
    "<!-- Generated from the schema: `deno task docs:config`. -->",
    `# Configuration file of \`${program}\``,
    `${COMMON} Commented example and schema for editors: ${files}.`,
    ...sections.flatMap(({ header, section }) => {
      const { type } = Object.fromEntries(allKeys(section).map((key) => [key.name, key]));
      const kind = header === "<chain>"
        ? `, type ${kindsOf(type)}`
        : header === "<chain>.host"
        ? hostOf(section)
        : "";
      const names = header === "hub" ? "`[hub]` (or `[hyperbridge]`)" : `\`[${header}]\``;
      const meaning = section.description.replace(
        /^Of type `[a-z_]+`: (.)/,
        (_, first) => first.toUpperCase(),
      );
      return [`## ${names}${kind}`, meaning, ...listKeys(section, shown)];
    }),
  ].join("\n\n") + "\n";
}

function kindsOf(type: Key<unknown> | undefined): string {
  return type === undefined ? "" : type.type.expected.replaceAll(/"([a-z_]+)"/g, "`$1`");
}

function hostOf({ description }: ListedSection["section"]): string {
  const type = /^Of type (`[a-z_]+`)/.exec(description)?.[1];
  return type === undefined ? "" : ` of type ${type}`;
}

/** A table of the keys; those that are `shown` elsewhere as they are here, and those without effect, are named below it. */
function listKeys(section: Section<unknown>, shown: Map<string, string>): readonly string[] {
  const isIdle = ({ description }: Key<unknown>): boolean => description.startsWith(UNUSED);
  const used = allKeys(section).filter((key) => !isIdle(key));
  const rows = used.map((key) => ({ name: `\`${key.name}\``, text: rowOf(key) }));
  const fresh = rows.filter(({ text }) => !shown.has(text));
  const known = Map.groupBy(rows.filter((row) => !fresh.includes(row)), ({ text }) => shown.get(text));
  for (const { text } of fresh) shown.set(text, "Above");
  const head = "| key | value | default | meaning |\n| --- | --- | --- | --- |";
  const idle = allKeys(section).filter(isIdle).map(({ name, description }) =>
    `\`${name}\` (${description.slice(UNUSED.length, -1)})`
  );
  return [
    ...fresh.length === 0 ? [] : [[head, ...fresh.map(({ text }) => text)].join("\n")],
    ...[...known].map(([where, some]) => `${where}: ${some.map(({ name }) => name).join(", ")}.`),
    ...idle.length === 0 ? [] : [`Accepted without effect: ${idle.join(", ")}.`],
  ];
}

function rowOf(key: Key<unknown>): string {
  const alias = key.alias === undefined ? "" : ` (or \`${key.alias}\`)`;
  const cells = [`\`${key.name}\`${alias}`, key.type.expected, fallbackOf(key), key.description];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function fallbackOf({ fallback }: Key<unknown>): string {
  if (fallback === undefined) return "**required**";
  return fallback.value === undefined ? "none" : `\`${inlineToml(fallback.value)}\``;
}
