/** The reference of a configuration file as Markdown, from the schemas. Pure. */
import { allKeys, expectedText, type Key } from "../../../src/core/config/schema.ts";
import { inlineToml, toWritable } from "../../../src/core/config/toml_text.ts";
import { CONSENSUS_SECTIONS, type ListedSection, MESSAGING_SECTIONS } from "./config_files.ts";

const COMMON =
  "Every key has its name, what its value may be, what applies without it, and its meaning. All wrong " +
  "values of a file are listed at once, each with its line; nothing is started before they are right. Keys that are " +
  "not listed here are ignored with a warning. A private key (`signer`) is given as hex, as the path of a file " +
  'with that hex, or as an encrypted keystore ("keystore:" and its path); that of an EVM account may also be held by ' +
  'a Web3Signer ("web3signer:" and its URL).';

/** `docs/configuration/messaging.md`. */
export function messagingReference(): string {
  return reference(
    "causeway",
    "[`config.example.toml`](../../config.example.toml), [`messaging.schema.json`](messaging.schema.json)",
    MESSAGING_SECTIONS,
  );
}

/** `docs/configuration/consensus.md`. */
export function consensusReference(): string {
  return reference(
    "causeway-consensus",
    "[`consensus.example.toml`](../../consensus.example.toml), [`consensus.schema.json`](consensus.schema.json)",
    CONSENSUS_SECTIONS,
  );
}

function reference(program: string, files: string, sections: readonly ListedSection[]): string {
  return [
    "<!-- Generated from the schema: `deno task docs:config`. -->",
    `# Configuration file of \`${program}\``,
    `${COMMON} The same as a commented example and for editors: ${files}.`,
    ...sections.flatMap(({ header, section }) => {
      const { type } = Object.fromEntries(allKeys(section).map((key) => [key.name, key]));
      const kind = header === "<chain>"
        ? `, type ${kindsOf(type)}`
        : header === "<chain>.host"
        ? hostOf(section)
        : "";
      const names = header === "hub" ? "`[hub]` (or `[hyperbridge]`)" : `\`[${header}]\``;
      return [`## ${names}${kind}`, section.description, table(allKeys(section))];
    }),
  ].join("\n\n") + "\n";
}

function kindsOf(type: Key<unknown> | undefined): string {
  return type === undefined ? "" : expectedText(type.type).replaceAll(/"([a-z_]+)"/g, "`$1`");
}

function hostOf({ description }: ListedSection["section"]): string {
  const type = /^Of type (`[a-z_]+`)/.exec(description)?.[1];
  return type === undefined ? "" : ` of type ${type}`;
}

function table(keys: readonly Key<unknown>[]): string {
  const rows = keys.map((key) => {
    const alias = key.alias === undefined ? "" : ` (or \`${key.alias}\`)`;
    return [`\`${key.name}\`${alias}`, expectedText(key.type), fallbackOf(key), key.description];
  });
  return [["key", "value", "default", "meaning"], ["---", "---", "---", "---"], ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
}

function fallbackOf({ isRequired, fallback }: Key<unknown>): string {
  if (isRequired) return "**required**";
  return fallback === undefined ? "none" : `\`${inlineToml(toWritable(fallback))}\``;
}
