/**
 * A devnet to start and leave running: prints what there is, writes configuration files into build/devnet/, sends
 * what lines on standard input ask for. Ctrl-C ends everything.
 * Usage: `deno task devnet [--json] [--nexus] [--ports=A,B,HUB]`
 */
import { Command, InvalidArgumentError } from "commander";
import { type Devnet, type DevnetOptions, startDevnet } from "./devnet.ts";
import { describeFacts, devnetFacts } from "./facts.ts";
import { INTERRUPTED, runInterruptibly, untilAborted } from "./interruption.ts";
import { sendPing, type SentMessage, waitForDelivery } from "./messages.ts";
import { freeOr } from "./ports.ts";
import { relayerConfig } from "./relayer_config.ts";
import { REPOSITORY } from "./repository.ts";
import { followStandardInput, readSendLine, SEND_LINE_HELP } from "./send_lines.ts";

/** Where ready configuration files and the facts go, from the top of the repository. */
const FOLDER = "build/devnet";
const DEFAULT_PORTS = [8545, 8546, 9944] as const;

interface Arguments {
  readonly json: boolean;
  readonly nexus: boolean;
  /** Of chain A, chain B and the hub. */
  readonly ports: readonly [number, number, number];
}

function parseArguments(args: readonly string[]): Arguments {
  return new Command("deno task devnet")
    .description("Two EVM chains and a hub, left running until Ctrl-C")
    .option("--json", "print the facts as one line of JSON, and nothing else", false)
    .option("--nexus", "run the hub with the nexus runtime (POLKADOT-3367)", false)
    .option(
      "--ports <A,B,HUB>",
      "ports to use where they are free; others otherwise",
      readPorts,
      DEFAULT_PORTS,
    )
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

function devnetOptions({ nexus, ports }: Arguments): DevnetOptions {
  const [a, b, hub] = ports;
  return {
    hub: nexus ? "nexus" : "gargantua",
    ports: { evm: [freeOr(a), freeOr(b)], hub: freeOr(hub) },
  };
}

/** Writes a configuration per relayer account and the facts; databases of earlier devnets go, their chains are gone. */
async function writeFiles(devnet: Devnet): Promise<Record<string, string>> {
  const folder = `${REPOSITORY}/${FOLDER}`;
  await Deno.remove(folder, { recursive: true }).catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(folder, { recursive: true });
  const configs: Record<string, string> = {};
  for (const role of ["relayer", "relayer2"] as const) {
    configs[role] = `${FOLDER}/${role}.toml`;
    await Deno.writeTextFile(
      `${REPOSITORY}/${configs[role]}`,
      relayerConfig(devnet.endpoints, { signer: role }),
    );
  }
  const facts = devnetFacts(devnet, configs);
  await Deno.writeTextFile(`${folder}/devnet.json`, `${JSON.stringify(facts, null, 2)}\n`);
  return configs;
}

async function run(signal: AbortSignal): Promise<number> {
  const options = parseArguments(Deno.args);
  if (!options.json) say("Starting two EVM chains and a hub ...");
  await using devnet = await startDevnet(devnetOptions(options));
  signal.throwIfAborted();
  const configs = await writeFiles(devnet);
  const facts = devnetFacts(devnet, configs);
  if (options.json) say(JSON.stringify(facts));
  else for (const line of ["", ...describeFacts(facts), "", ...howToRun(configs)]) say(line);
  const tell = options.json ? (): void => {} : say;
  void followStandardInput((line) => send(devnet, line, tell, signal), signal);
  await Promise.race([untilAborted(signal), devnet.oracle.failed]);
  if (!options.json) say("Stopping ...");
  return 0;
}

function howToRun(configs: Readonly<Record<string, string>>): string[] {
  return [
    "Run the relayer (after `deno task build`)",
    `  build/causeway --config=${configs.relayer} --db=${FOLDER}/relayer.db`,
    "",
    SEND_LINE_HELP,
  ];
}

/** Sends what a line asks for and tells when it arrived. */
async function send(
  devnet: Devnet,
  line: string,
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const wanted = readSendLine(line, devnet.chains.map(({ name }) => name));
  if (wanted === undefined) return;
  if (typeof wanted === "string") return tell(wanted);
  const route = `${wanted.from} -> ${wanted.to}`;
  let messages: readonly SentMessage[];
  try {
    messages = await sendPing(devnet, wanted);
  } catch (error) {
    return tell(`${route}  not sent: ${error}`);
  }
  tell(`${route}  sent ${messages.length}`);
  const startMs = Date.now();
  // Not awaited: more can be sent meanwhile; without a relayer it waits until the end.
  void waitForDelivery(devnet, messages, { deadlineMs: Infinity, signal }).then(
    () =>
      tell(`${route}  delivered ${messages.length} after ${((Date.now() - startMs) / 1000).toFixed(1)} s`),
    (error: unknown) => {
      if (!signal.aborted) tell(`${route}  ${error}`);
    },
  );
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) {
  const code = await runInterruptibly(run);
  // Ctrl-C is how this program is meant to end.
  Deno.exit(code === INTERRUPTED ? 0 : code);
}
