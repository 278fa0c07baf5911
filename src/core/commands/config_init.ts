/** `config init`: writes a commented configuration for named chains. */
import { InvalidArgumentError, Option } from "commander";
import { type Command, configGroup, nothingWritten, type StandaloneRun, writeNew } from "./command.ts";
import { type NamedChain, namedChains } from "../config/live_network.ts";
import type { InitChain } from "../config/commented_file.ts";
import type { Checked } from "../config/diagnostics.ts";
import { KEYSTORE_PREFIX, REMOTE_PREFIX, shownText } from "../config/redact.ts";
import { nearestWord } from "../config/spelling.ts";
import { fileFailure } from "../config/toml.ts";
import { readUrl } from "../config/values.ts";
import { dirname } from "node:path";

/** Values by name of the chain. */
type ByChain = ReadonlyMap<string, readonly string[]>;

/** Options of the command. */
interface InitOptions {
  readonly out?: string;
  readonly chain?: readonly NamedChain[];
  readonly hubUrl?: string;
  readonly url?: ByChain;
  readonly signer?: ByChain;
  readonly signerAddress?: ByChain;
  readonly passwordFile?: ByChain;
}

/** The command. */
export const configInit: Command<StandaloneRun> = {
  group: configGroup,
  name: "init",
  description: "Writes a commented configuration file for chains of the live networks. Overwrites nothing.",
  examples: ["config init --out=file.toml --chain=ethereum,base --hub-url=wss://hub.example.org"],
  afterHelp: `Chains: ${namedChains.map(({ name }) => name).join(", ")}.
Host contracts, consensus ids and the hub are those of the live networks; chains of one network go
together. At a terminal, what is not given is asked for; elsewhere it is left blank, and named.`,
  exitStatus: { 0: "written", 1: "nothing was written" },
  without: ["config", "db"],
  addOptions: (parser) => {
    const ofChains = (flags: string, description: string): Option =>
      new Option(flags, `${description}; may be repeated`).argParser(addPair);
    parser
      .option("--out <path>", "file to write; its JSON schema, for editors, goes beside it")
      .addOption(
        new Option("--chain <names>", "chains, with commas between them; may be repeated").argParser(
          addChains,
        ),
      )
      .option("--hub-url <url>", "WebSocket URL of a node of the hub")
      .addOption(ofChains("--url <chain=url>", "endpoint of a chain"))
      .addOption(
        ofChains("--signer <chain=path>", "key file, keystore: or web3signer: of the account on a chain"),
      )
      .addOption(ofChains("--signer-address <chain=address>", "account of a Web3Signer"))
      .addOption(ofChains("--password-file <chain=path>", "file with the password of a keystore"));
  },
  run: initialize,
};

function initialize(run: StandaloneRun, options: InitOptions): void {
  const out = options.out ?? ask(run, "File to write: ", (text) => ({ value: text }));
  if (out === undefined) throw nothingWritten("No file is named: give --out");
  const chains = options.chain ?? ask(run, CHAINS_QUESTION, (text) => readChains(text));
  const [first] = chains ?? [];
  if (chains === undefined || first === undefined) throw nothingWritten("No chain is named: give --chain");
  refuseMistakes(options, chains);
  const { text, blanks } = run.file.writeInit({
    network: first.network,
    hubUrl: options.hubUrl ?? ask(run, "WebSocket URL of a node of the hub: (empty: later) ", urlOf(SOCKETS)),
    chains: chains.map((chain) => completeChain(run, options, chain)),
  });
  writeNew(run, out, text);
  run.print(`${out} is written`);
  writeSchema(run, `${dirname(out)}/${run.program}.schema.json`);
  if (blanks.length > 0) run.print(`To be filled in: ${blanks.join(", ")}`);
  run.print(`Then: ${run.program} --config=${out} config check`);
}

/** Writes what editors read beside the file, which is of use without it; one that is there stays. */
function writeSchema({ env, file, printError }: StandaloneRun, path: string): void {
  try {
    env.writeNewFile(path, file.writeJsonSchema());
  } catch (error) {
    printError(`${path} cannot be written: ${fileFailure(error)}; editors will not check the file`);
  }
}

/** @throws {CommandRefusal} where options do not fit each other */
function refuseMistakes(
  { hubUrl, url = new Map(), signer, signerAddress, passwordFile }: InitOptions,
  chains: readonly NamedChain[],
): void {
  const [first] = chains;
  const other = chains.find(({ network }) => network !== first?.network);
  if (other !== undefined) {
    throw nothingWritten(`${first?.name} and ${other.name} belong to different hubs: write a file for each`);
  }
  const stray = [url, signer, signerAddress, passwordFile].flatMap((given) => [...given?.keys() ?? []])
    .find((name) => !chains.some((chain) => chain.name === name));
  if (stray === "") {
    throw nothingWritten("--url, --signer and the other options of a chain need its name, = and a value");
  }
  if (stray !== undefined) throw nothingWritten(`${stray} is not among the chains of --chain`);
  const reads = [
    ...hubUrl === undefined ? [] : [{ option: "--hub-url", ...readUrl(hubUrl, SOCKETS) }],
    ...[...url].flatMap(([name, urls]) =>
      urls.map((each) => ({ option: `--url of ${name}`, ...readUrl(each, ANY) }))
    ),
  ];
  for (const read of reads) if ("found" in read) throw nothingWritten(`${read.option}: ${read.found}`);
}

const SOCKETS = ["ws", "wss"];
const ANY = ["http", "https", ...SOCKETS];

const CHAINS_QUESTION = `Chains:
${namedChains.map(({ name, network }) => `  ${name} (${network})`).join("\n")}
Which ones, with commas between them? `;

/** Number of times that a question is asked. */
const TRIES = 3;

/** Asks at the terminal until the answer can be used; `undefined`: there is none, or it is empty. */
function ask<T>({ env }: StandaloneRun, question: string, read: (text: string) => Checked<T>): T | undefined {
  for (let n = 0; n < TRIES; n++) {
    const text = env.terminal?.ask(question)?.trim() ?? "";
    if (text === "") return undefined;
    const answer = read(text);
    if ("value" in answer) return answer.value;
    env.writeError(`That is ${answer.found}.\n`);
  }
  return undefined;
}

/** A URL as it is typed. */
const urlOf = (schemes: readonly string[]) => (text: string): Checked<string> => {
  const read = readUrl(text, schemes);
  return "found" in read
    ? { found: `${read.found}, where ${schemes.join(" or ")} is expected` }
    : { value: text };
};

/** What was given of a chain, and what is typed at the terminal for the rest; an empty answer leaves a blank. */
function completeChain(run: StandaloneRun, options: InitOptions, chain: NamedChain): InitChain {
  const { name } = chain;
  const typed = (kind: string, read: (text: string) => Checked<string>): readonly string[] | undefined => {
    const answer = ask(run, `${kind} of ${name}: (empty: later) `, read);
    return answer === undefined ? undefined : [answer];
  };
  const one = (kind: string, given: ByChain | undefined): string | undefined =>
    (given?.get(name) ?? typed(kind, (text) => ({ value: text })))?.at(-1);
  const urls = options.url?.get(name) ?? typed("Endpoint", urlOf(ANY));
  const signer = one("Key file, or keystore: or web3signer: and its place, of the account", options.signer);
  const account = {
    signer,
    ...signer?.startsWith(REMOTE_PREFIX) &&
      { signer_address: one("Address of the account", options.signerAddress) },
    ...signer?.startsWith(KEYSTORE_PREFIX) &&
      { keystore_password_file: one("File with the password of the keystore", options.passwordFile) },
  };
  return { ...chain, urls, account };
}

/** Reads names of chains; they may be state machines or chain ids, too. */
function readChains(text: string): Checked<readonly NamedChain[]> {
  const found: NamedChain[] = [];
  for (const name of text.split(",").map((each) => each.trim()).filter((each) => each !== "")) {
    const chain = namedChains.find((each) =>
      [each.name, `EVM-${each.chainId}`, `${each.chainId}`].includes(name)
    );
    if (chain === undefined) return { found: explainUnknown(name) };
    found.push(chain);
  }
  return { value: found };
}

/** Names what is not known, and the chains that may be meant: near ones, and those of the same first word. */
function explainUnknown(name: string): string {
  const names = namedChains.map((each) => each.name);
  const near = nearestWord(name, names);
  const [word] = name.toLowerCase().split(/[-_]/);
  const meant = near === undefined ? names.filter((each) => each.split("-")[0] === word) : [near];
  const hint = meant.length === 0 ? "see --help for the names" : `did you mean ${meant.join(" or ")}?`;
  return `${shownText(name)}, which is no chain that is known here: ${hint}`;
}

/** @throws {InvalidArgumentError} */
function addChains(text: string, before: readonly NamedChain[] = []): readonly NamedChain[] {
  const read = readChains(text);
  if ("found" in read) throw new InvalidArgumentError(`It is ${read.found}`);
  return [...new Set([...before, ...read.value])];
}

/** What is no pair goes under an empty name: an error of the parser would repeat the text, which may hold a key. */
function addPair(text: string, before: ByChain = new Map()): ByChain {
  const [, name, value] = /^([a-z-]+)=(.+)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) return new Map([...before, ["", []]]);
  return new Map([...before, [name, [...before.get(name) ?? [], value]]]);
}
