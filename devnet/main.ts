/**
 * A devnet to start and leave running: prints what there is, writes configuration files into build/devnet/, runs
 * `causeway-consensus` so that hub and chains learn of each other, sends what lines on standard input ask for. Ctrl-C
 * ends everything.
 * Usage: `deno task devnet [--json] [--rollups] [--polygon] [--polkadot-hub] [--substrate] [--no-consensus] [--nexus] [--ports=A,B,HUB]
 * [--verbose] [--folder=PATH]`
 */
import { Command, InvalidArgumentError } from "commander";
import type { RelayerProcess } from "../tests/scenario/support/relayer_process.ts";
import { consensusConfig } from "./programs/consensus_config.ts";
import { type Devnet, type DevnetOptions, startDevnet } from "./devnet.ts";
import { describeFacts, type DevnetFacts, devnetFacts } from "./terminal/facts.ts";
import { INTERRUPTED, runInterruptibly } from "./terminal/interruption.ts";
import { sendPing, type SentMessage, waitForDelivery } from "./traffic/messages.ts";
import { ensurePrograms } from "./programs/relayer_build.ts";
import { relayerConfig } from "./programs/relayer_config.ts";
import { followStandardInput, freezeByLine, readSendLine, SEND_LINE_HELP } from "./terminal/send_lines.ts";
import { untilAborted } from "./waiting.ts";

/** Where ready configuration files and the facts go; tasks run at the top of the repository. */
const DEFAULT_FOLDER = "build/devnet";
const DEFAULT_PORTS = [8545, 8546, 9944] as const;
/** Blocks of the relay chain, four a second, after which its authorities change. */
const SESSION_BLOCKS = 240;
/** Whose account brings proofs of the hub to EVM chains: not one that messages are delivered with. */
const CONSENSUS_SIGNER = "oracle";
/** With `--substrate`. */
const SUBSTRATE_CHAIN = "SUBSTRATE-demo";

interface Arguments {
  readonly json: boolean;
  readonly nexus: boolean;
  readonly rollups: boolean;
  readonly polygon: boolean;
  readonly polkadotHub: boolean;
  readonly substrate: boolean;
  readonly consensus: boolean;
  readonly verbose: boolean;
  readonly folder: string;
  /** Of chain A, chain B and the hub. */
  readonly ports: readonly [number, number, number];
}

function parseArguments(args: readonly string[]): Arguments {
  return new Command("deno task devnet")
    .description("EVM chains and a hub that learns of them by proofs, left running until Ctrl-C")
    .option("--json", "print the facts as one line of JSON, and nothing else", false)
    .option("--nexus", "run the hub with the nexus runtime (POLKADOT-3367)", false)
    .option(
      "--rollups",
      "beside the L1 (A) and BSC (B) also an OP-stack (C) and an Arbitrum (D) rollup",
      false,
    )
    .option("--polygon", "also a Polygon chain, final by milestones of a simulated Heimdall", false)
    .option("--polkadot-hub", "also Polkadot Hub, final by its heads on the relay chain", false)
    .option("--substrate", `also a standalone Substrate chain, ${SUBSTRATE_CHAIN}`, false)
    .option("--no-consensus", "do not run causeway-consensus: nobody learns anything until somebody does")
    .option(
      "--ports <A,B,HUB>",
      "ports to use where they are free; others otherwise",
      readPorts,
      DEFAULT_PORTS,
    )
    .option("--verbose", "show the log of causeway-consensus, and where a failure happened", false)
    .option("--folder <path>", "where configuration files go", DEFAULT_FOLDER)
    .parse([...args], { from: "user" })
    .opts<Arguments>();
}

function readPorts(text: string): Arguments["ports"] {
  const [a, b, hub, ...rest] = text.split(",").map(Number);
  const isPort = (port: number | undefined): port is number =>
    port !== undefined && Number.isInteger(port) && port >= 0 && port <= 65_535;
  if (!isPort(a) || !isPort(b) || !isPort(hub) || rest.length > 0) {
    throw new InvalidArgumentError(`Expected three ports such as ${DEFAULT_PORTS.join(",")}`);
  }
  return [a, b, hub];
}

function devnetOptions(
  { nexus, rollups, polygon, polkadotHub, substrate, consensus, ports, verbose }: Arguments,
): DevnetOptions {
  const [a, b, hub] = ports;
  return {
    kinds: [
      "beacon",
      "bsc",
      ...rollups ? ["op_stack", "arbitrum"] as const : [],
      ...polygon ? ["polygon"] as const : [],
      ...polkadotHub ? ["polkadot_hub"] as const : [],
    ],
    substrateChains: substrate ? [{ stateMachine: SUBSTRATE_CHAIN }] : [],
    feeds: consensus ? "together" : "none",
    hubFeed: consensus ? "program" : "none",
    relay: { sessionBlocks: SESSION_BLOCKS },
    consensusRelayer: {
      signer: CONSENSUS_SIGNER,
      logFormat: "human",
      logLevel: "info",
      onStarted: (started) => {
        consensusRelayers.push(started);
      },
      onLine: ({ text }) => {
        if (verbose) Deno.stderr.writeSync(new TextEncoder().encode(`consensus | ${text}\n`));
      },
    },
    hub: nexus ? "nexus" : "gargantua",
    ports: { evm: [a, b], hub },
  };
}

/** To be ended when a second Ctrl-C leaves no time for order; else the devnet does it. */
const consensusRelayers: RelayerProcess[] = [];

/** Writes a configuration per relayer account, those of the consensus relayer, and the facts. */
async function writeFiles(devnet: Devnet, folder: string): Promise<DevnetFacts> {
  await Deno.mkdir(folder, { recursive: true });
  await forgetOldDatabase(`${folder}/relayer.db`);
  const configs: Record<string, string> = {};
  for (const role of ["relayer", "relayer2"] as const) {
    const path = `${folder}/${role}.toml`;
    await Deno.writeTextFile(path, relayerConfig(devnet.endpoints, { signer: role }), { mode: 0o600 });
    configs[role] = path;
  }
  const consensus = { beefy: `${folder}/consensus.toml`, grandpa: `${folder}/consensus-grandpa.toml` };
  const endpoints = devnet.consensusEndpoints;
  const beefy = consensusConfig(endpoints, { enablesHubConsensus: true, signer: CONSENSUS_SIGNER });
  await Deno.writeTextFile(consensus.beefy, beefy, { mode: 0o600 });
  const hasOthers = endpoints.substrate.length > 0;
  if (hasOthers) {
    await Deno.writeTextFile(consensus.grandpa, consensusConfig(endpoints, { hubType: "grandpa" }), {
      mode: 0o600,
    });
  }
  const facts = devnetFacts(devnet, {
    configs,
    consensusConfig: consensus.beefy,
    ...hasOthers && { grandpaConfig: consensus.grandpa },
  });
  await Deno.writeTextFile(`${folder}/devnet.json`, `${JSON.stringify(facts, null, 2)}\n`);
  return facts;
}

/** The chains of an earlier devnet are gone, so a database about them would only mislead. */
async function forgetOldDatabase(path: string): Promise<void> {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    await Deno.remove(file).catch((error: unknown) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}

async function run(signal: AbortSignal): Promise<number> {
  const options = parseArguments(Deno.args);
  const note = options.json ? (): void => {} : say;
  if (options.consensus) await ensurePrograms({ onBuild: () => note("Building both programs ..."), signal });
  note("Starting the chains, a hub and its relay chain ...");
  await using devnet = await startDevnet(devnetOptions(options));
  signal.throwIfAborted();
  const facts = await writeFiles(devnet, options.folder);
  if (options.json) say(JSON.stringify(facts));
  else for (const line of ["", ...describeFacts(facts), "", ...howToRun(options)]) say(line);
  void followStandardInput((line) => send(devnet, line, note, signal), signal);
  await Promise.race([untilAborted(signal), devnet.failed]);
  note("Stopping ...");
  return 0;
}

function howToRun({ folder, consensus, substrate }: Arguments): string[] {
  const files = ["consensus.toml", ...substrate ? ["consensus-grandpa.toml"] : []];
  return [
    "Run the messaging relayer (after `deno task build`)",
    `  build/causeway --config=${folder}/relayer.toml --db=${folder}/relayer.db`,
    consensus
      ? "causeway-consensus runs already (not with --no-consensus): hub and chains learn of each other"
      : "Run the consensus relayer, without which hub and chains learn nothing of each other",
    ...consensus ? [] : files.map((file) => `  build/causeway-consensus --config=${folder}/${file}`),
    "The relay chain's authorities, which make the hub final, change every minute",
    "",
    SEND_LINE_HELP,
  ];
}

/** Sends what a line asks for and tells when it arrived. */
async function send(
  devnet: Devnet,
  line: string,
  print: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const wanted = readSendLine(
    line,
    [...devnet.chains, ...devnet.substrateChains].map(({ name }) => name),
  );
  if (wanted === undefined) return;
  if (typeof wanted === "string") return print(wanted);
  if ("isFrozen" in wanted) return print(await freezeByLine(devnet.chains, wanted));
  const route = `${wanted.from} -> ${wanted.to}`;
  let messages: readonly SentMessage[];
  try {
    messages = await sendPing(devnet, wanted);
  } catch (error) {
    return print(`${route}  not sent: ${error}`);
  }
  print(`${route}  sent ${messages.length}`);
  const startMs = Date.now();
  // Not awaited: more can be sent meanwhile; without a relayer it waits until the end.
  void waitForDelivery(devnet, messages, { deadlineMs: Infinity, signal }).then(
    () =>
      print(`${route}  delivered ${messages.length} after ${((Date.now() - startMs) / 1000).toFixed(1)} s`),
    (error: unknown) => {
      if (!signal.aborted) print(`${route}  ${error}`);
    },
  );
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) {
  const code = await runInterruptibly(run, {
    beforeExit: () => {
      for (const relayer of consensusRelayers) relayer.signal("SIGKILL");
    },
    isVerbose: Deno.args.includes("--verbose"),
  });
  // Ctrl-C is how this program is meant to end.
  Deno.exit(code === INTERRUPTED ? 0 : code);
}
