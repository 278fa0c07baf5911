/** `config init`: writes a commented configuration for named chains. */
import { InvalidArgumentError, Option } from "commander";
import { configGroup, defineStandalone, type StandaloneRun } from "./command.ts";
import { type NamedChain, namedChains } from "../config/live_network.ts";
import type { InitAnswers } from "../config/commented_file.ts";
import { isRemote } from "../config/redact.ts";
import { nearestWord } from "../config/spelling.ts";
import { fileFailure } from "../config/toml.ts";
import type { Terminal } from "../runtime/terminal.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";

const AFTER_HELP = `
Chains: ${namedChains.map(({ name }) => name).join(", ")}.
Host contracts, consensus ids and the hub are those of the live networks; chains of one network go
together. At a terminal, what is not given is asked for; elsewhere it is left blank, and named.

Example, behind the name of the program:
  config init --out=file.toml --chain=ethereum,base --hub-url=wss://hub.example.org

Exit status: 0 written, 1 nothing was written, 2 wrong command line.`;

/** Options of the command. */
interface InitOptions {
  readonly out: string;
  readonly chain?: readonly NamedChain[];
  readonly hubUrl?: string;
  readonly url?: ReadonlyMap<string, readonly string[]>;
  readonly signer?: ReadonlyMap<string, readonly string[]>;
  readonly signerAddress?: ReadonlyMap<string, readonly string[]>;
}

/** The command. */
export const configInit = defineStandalone<InitOptions>({
  group: configGroup,
  name: "init",
  description: "Writes a commented configuration file for chains of the live networks. Overwrites nothing.",
  summary: "write a commented configuration file for named chains",
  afterHelp: AFTER_HELP,
  without: ["config", "db"],
  addOptions: (parser, choose) =>
    void parser
      .requiredOption("--out <path>", "file to write")
      .addOption(
        new Option("--chain <names>", "chains, with commas between them; may be repeated").argParser(
          addChains,
        ),
      )
      .option("--hub-url <url>", "WebSocket URL of a node of the hub")
      .addOption(
        new Option("--url <chain=url>", "endpoint of a chain; may be repeated").argParser(addPair),
      )
      .addOption(
        new Option(
          "--signer <chain=path>",
          "key file, keystore: or web3signer: of the account on a chain; may be repeated",
        )
          .argParser(addPair),
      )
      .addOption(
        new Option("--signer-address <chain=address>", "account of a Web3Signer; may be repeated")
          .argParser(addPair),
      )
      .action((options: InitOptions) => choose(options)),
  run: (run, options) => Promise.resolve(initialize(run, options)),
});

function initialize(run: StandaloneRun, options: InitOptions): ExitCode {
  const { terminal } = run.env;
  const chains = options.chain ?? askChains(terminal);
  if (typeof chains === "string") return fail(run, chains);
  const [first] = chains;
  if (first === undefined) return fail(run, "No chain is named: give --chain");
  const other = chains.find(({ network }) => network !== first.network);
  if (other !== undefined) {
    return fail(run, `${first.name} and ${other.name} belong to different hubs: write a file for each`);
  }
  const { signer, signerAddress, url } = options;
  const stray = [url, signer, signerAddress].flatMap((given) => [...given?.keys() ?? []])
    .find((name) => !chains.some((chain) => chain.name === name));
  if (stray === "") {
    return fail(run, "--url, --signer and --signer-address need the name of a chain, = and a value");
  }
  if (stray !== undefined) return fail(run, `${stray} is not among the chains of --chain`);
  const answers = { network: first.network, chains, ...complete(options, chains, terminal) };
  return write(run, options.out, run.file.writeInit(answers));
}

function write(
  run: StandaloneRun,
  out: string,
  { text, blanks }: { readonly text: string; readonly blanks: readonly string[] },
): ExitCode {
  try {
    if (!run.env.writeNewFile(out, text)) return fail(run, `${out} exists and is not overwritten`);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return fail(run, `${out} cannot be written: ${fileFailure(error)}`);
  }
  run.print(`${out} is written`);
  if (blanks.length > 0) run.print(`To be filled in: ${blanks.join(", ")}`);
  run.print(`Then: ${run.program} --config=${out} config check`);
  return exitCodes.ok;
}

function fail({ env }: StandaloneRun, why: string): ExitCode {
  env.writeError(`${why}; nothing was written\n`);
  return exitCodes.failed;
}

/** Chains that are typed, or why there are none. */
function askChains(terminal: Terminal | undefined): readonly NamedChain[] | string {
  if (terminal === undefined) return "No chain is named: give --chain";
  const names = namedChains.map(({ name, network }) => `  ${name} (${network})`).join("\n");
  const answer = terminal.ask(`Chains:\n${names}\nWhich ones, with commas between them? `) ?? "";
  try {
    return addChains(answer);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return error.message;
  }
}

/** What was given, and what is typed at the terminal for the rest; an empty answer leaves a blank. */
function complete(
  { hubUrl, url, signer, signerAddress }: InitOptions,
  chains: readonly NamedChain[],
  terminal: Terminal | undefined,
): Omit<InitAnswers, "network" | "chains"> {
  const ask = (question: string): string | undefined =>
    terminal?.ask(`${question} (empty: later) `)?.trim() || undefined;
  const named = (kind: string, given: typeof url, of = chains) =>
    of.flatMap(({ name }) => {
      const answer = given?.get(name) ?? [ask(`${kind} of ${name}:`)].filter((text) => text !== undefined);
      return answer.length === 0 ? [] : [[name, answer] as const];
    });
  const lastOf = (found: ReturnType<typeof named>): ReadonlyMap<string, string> =>
    new Map(found.map(([name, values]) => [name, values.at(-1) ?? ""]));
  const answeredUrl = hubUrl ?? ask("WebSocket URL of a node of the hub:");
  const urls = new Map(named("Endpoint", url));
  const signers = lastOf(
    named("Key file, or keystore: or web3signer: and its place, of the account", signer),
  );
  const remote = chains.filter(({ name }) => isRemote(signers.get(name) ?? ""));
  const signerAddresses = lastOf(named("Address of the account", signerAddress, remote));
  return { hubUrl: answeredUrl, urls, signers, signerAddresses };
}

/** @throws {InvalidArgumentError} */
function addChains(text: string, before: readonly NamedChain[] = []): readonly NamedChain[] {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const found = names.map((name) => {
    const chain = namedChains.find((each) => each.name === name);
    if (chain !== undefined) return chain;
    const meant = nearestWord(name, namedChains.map((each) => each.name));
    throw new InvalidArgumentError(
      meant === undefined ? "Expected names of chains, see --help" : `Did you mean ${meant}?`,
    );
  });
  return [...new Set([...before, ...found])];
}

/** Arguments that are not name=value get an empty name, so that the parser's error does not repeat a key. */
function addPair(
  text: string,
  before: ReadonlyMap<string, readonly string[]> = new Map(),
): ReadonlyMap<string, readonly string[]> {
  const [, name, value] = /^([a-z-]+)=(.+)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) return new Map([...before, ["", []]]);
  return new Map([...before, [name, [...before.get(name) ?? [], value]]]);
}
