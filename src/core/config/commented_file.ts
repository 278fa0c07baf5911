/** Configuration files with a comment above every key, from the sections. Pure. */
import { allKeys, type Key, type Section } from "./schema.ts";
import { inlineToml } from "./toml.ts";
import type { NamedChain, Network } from "./live_network.ts";
import { evmStateMachine } from "../ismp/state_machine.ts";

/** A section as it is written. */
export interface CommentedSection {
  /** Begins a part of the file. */
  readonly title?: string;
  /** Stands above the section; default: what the schema says of it. */
  readonly comment?: string;
  readonly header: string;
  readonly section: Section<unknown>;
  /** Instead of the schema's examples, by key; `undefined`: left blank for the operator. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Which keys are written: all of them with their meaning (default), or those that have a value without it. */
  readonly shows?: "all" | "required";
  /** Optional keys that are switched on. */
  readonly switchedOn?: readonly string[];
  /** True: the section is shown and not part of the file. */
  readonly isComment?: boolean;
}

/** Columns of comments and rules. */
const WIDTH = 118;

/** A file: texts above it, and its sections. */
export function writeCommentedFile(
  { schema, head, sections }: {
    /** Where editors find the JSON schema. */
    readonly schema: string;
    readonly head: readonly string[];
    readonly sections: readonly CommentedSection[];
  },
): string {
  const parts = [`#:schema ${schema}`, head.map(comment).join("\n#\n"), ...sections.map(writeSection)];
  return parts.join("\n\n") + "\n";
}

function writeSection(of: CommentedSection): string {
  const { title, header, section, shows = "all", switchedOn = [] } = of;
  const rule = title === undefined ? [] : [`# ---- ${title} `.padEnd(WIDTH, "-"), ""];
  const keys = allKeys(section).filter(({ fallback, name }) =>
    fallback === undefined || switchedOn.includes(name) || shows !== "required"
  );
  const blocks = keys.map((key) =>
    shows === "all" ? `${meaning(key, of)}\n${setting(key, of)}` : setting(key, of)
  );
  const body = [`[${header}]`, blocks.join(shows === "all" ? "\n\n" : "\n")].join("\n");
  const shown = of.isComment === true ? body.replaceAll(/^#?/gm, "# ").replaceAll(/ +$/gm, "") : body;
  return [...rule, comment(of.comment ?? section.description), shown].join("\n");
}

function meaning(key: Key<unknown>, of: CommentedSection): string {
  const { expected } = key.type;
  const text = comment(`${key.description} ${expected.charAt(0).toUpperCase()}${expected.slice(1)}.`);
  const value = valueOf(key, of);
  const isEmpty = Array.isArray(value) && value.length === 0;
  return isEmpty ? `${text}\n# For example:\n#   ${inlineToml(key.example)}` : text;
}

function setting(key: Key<unknown>, of: CommentedSection): string {
  const { name, fallback } = key;
  const { switchedOn = [] } = of;
  const value = valueOf(key, of);
  const text = `${name} = ${inlineToml(value)}`;
  if (fallback === undefined || switchedOn.includes(name)) return text;
  const isUsual = JSON.stringify(value) === JSON.stringify(fallback.value);
  return `#${text}${isUsual ? " # default" : ""}`;
}

function valueOf({ name, example, fallback }: Key<unknown>, { values = {} }: CommentedSection): unknown {
  if (!Object.hasOwn(values, name)) return example ?? fallback?.value;
  return values[name] ?? (Array.isArray(example) ? [] : "");
}

/** Words in lines behind `# `; a text that is indented stays a line of its own. */
function comment(text: string): string {
  if (text.startsWith("  ")) return `# ${text}`;
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line.length + word.length + 3 > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map((line) => `# ${line}`).join("\n");
}

/** A chain with the operator's answers; missing ones become placeholders. */
export interface InitChain extends NamedChain {
  readonly urls: readonly string[] | undefined;
  /** Keys of its section that name the account, with their values. */
  readonly account: Readonly<Record<string, string | undefined>>;
}

/** What a file is written for. */
export interface InitAnswers {
  readonly network: Network;
  /** At least one, all of that network. */
  readonly chains: readonly InitChain[];
  readonly hubUrl: string | undefined;
}

/** The text of the file, and the keys that are left to be filled in. */
export interface InitFile {
  readonly text: string;
  readonly blanks: readonly string[];
}

/** In what the files of the two programs differ. */
export interface InitParts {
  readonly program: string;
  readonly role: string;
  /** Title of the chains. */
  readonly title: string;
  /** Sections before those of chains. */
  readonly before: readonly CommentedSection[];
  /** Section of a chain with its own values, and the one inside of it. */
  readonly ofChain: (
    chain: InitChain,
  ) => Pick<CommentedSection, "section" | "values"> & { readonly host?: Omit<CommentedSection, "header"> };
}

/** Writes a file for the operator's chains. */
export function writeInitFile(
  { chains }: Pick<InitAnswers, "chains">,
  { program, role, title, before, ofChain }: InitParts,
): InitFile {
  const head = [
    `Configuration of \`${program}\`, ${role}, written by \`${program} config init\`:`,
    `  ${program} --config=FILE config check`,
    'Empty values, but that of `etherscan_api_key`, are to be filled in. `#key = value` is optional; "default" behind it ' +
    "means that leaving it commented out is the same. `${NAME}` in a text is replaced from the environment.",
  ];
  const ofChains = chains.flatMap((chain, index): readonly CommentedSection[] => {
    const { section, values, host } = ofChain(chain);
    return [
      {
        ...index === 0 ? { title } : { shows: "required" },
        comment: describeChain(chain),
        header: chain.name,
        section,
        values: {
          state_machine: evmStateMachine(chain.chainId),
          consensus_state_id: chain.consensusStateId,
          etherscan_api_key: "",
          ismp_host: chain.ismpHost,
          ...values,
          ...chain.account,
        },
        switchedOn: Object.keys(chain.account),
      },
      ...host === undefined ? [] : [{ ...host, header: `${chain.name}.host` }],
    ];
  });
  const sections = [...before, ...ofChains];
  const blanks = sections.flatMap(({ header, values = {} }) =>
    Object.keys(values).flatMap((key) => values[key] === undefined ? [`[${header}].${key}`] : [])
  );
  return { text: writeCommentedFile({ schema: `./${program}.schema.json`, head, sections }), blanks };
}

function describeChain({ name, explorer, isRollup }: NamedChain): string {
  const node = isRollup
    ? " An L2 of Ethereum: its node must keep old state (an archive node), since the hub's view of it is behind by " +
      "more than other nodes remember."
    : "";
  return `${name}, explorer ${explorer}.${node}`;
}
