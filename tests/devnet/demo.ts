/**
 * The main job on the devnet: the compiled relayer carries messages between two EVM chains and to the hub. What it
 * shows is read from the chains, not from the relayer.
 * Usage: `deno task demo [--keep] [--verbose] [--count=20]`
 */
import { Command, InvalidArgumentError } from "commander";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import { type Devnet, startDevnet } from "./devnet.ts";
import { Interruption, runInterruptibly, untilAborted } from "./interruption.ts";
import { Progress, standardOutput } from "./progress.ts";
import { relayerConfig } from "./relayer_config.ts";
import { buildRelayer, isRelayerOutdated } from "./relayer_build.ts";
import { RouteBoard } from "./route_board.ts";
import { followStandardInput, readSendLine, SEND_LINE_HELP } from "./send_lines.ts";

/** Messages of one route are sent in this many transactions, one after the other. */
const WAVES = 4;
/** From each chain to the hub. */
const TO_HUB = 5;
/** After the last message was sent. */
const DEADLINE_MS = 180_000;
/** How long the relayer may take to begin. */
const START_MS = 60_000;

interface Arguments {
  readonly keep: boolean;
  readonly verbose: boolean;
  readonly count: number;
}

function parseArguments(args: readonly string[]): Arguments {
  return new Command("deno task demo")
    .description("Messages cross between two EVM chains through the hub, carried by the compiled relayer")
    .option("--keep", "go on afterwards, so that more can be sent", false)
    .option("--verbose", "show the relayer's log", false)
    .option("--count <n>", "messages each way between the chains", readCount, 20)
    .parse([...args], { from: "user" })
    .opts<Arguments>();
}

function readCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1000) {
    throw new InvalidArgumentError("Expected a number from 1 to 1000");
  }
  return count;
}

/** Everything that runs, in the order in which it was started. */
interface Stage {
  readonly devnet: Devnet;
  readonly relayer: RelayerProcess;
  readonly progress: Progress;
  readonly board: RouteBoard;
  readonly signal: AbortSignal;
}

/** Relayers that run, to be ended when a second Ctrl-C leaves no time for order. */
const relayers = new Set<RelayerProcess>();

async function run(signal: AbortSignal): Promise<number> {
  const options = parseArguments(Deno.args);
  const progress = new Progress(standardOutput());
  if (await isRelayerOutdated()) {
    progress.say("Building the relayer (build/causeway) ...");
    await buildRelayer(signal);
  }
  progress.say("Starting two EVM chains and a hub ...");
  await using devnet = await startDevnet();
  signal.throwIfAborted();
  for (const { name, stateMachine, node } of devnet.chains) {
    progress.say(`  ${name}    ${stateMachine}    ${node.rpcUrl}`);
  }
  progress.say(`  hub  ${devnet.hub.identity.stateMachine}  ${devnet.hub.wsUrl}`);
  const folder = await Deno.makeTempDir({ prefix: "causeway-demo-" });
  const relayer = await startRelayer({
    config: relayerConfig(devnet.endpoints),
    folder,
    logFormat: "human",
    logLevel: "info",
    onLine: (line) => {
      if (options.verbose) progress.say(`  | ${line.text}`);
    },
  });
  relayers.add(relayer);
  const board = new RouteBoard(devnet);
  let isFine = false;
  try {
    const stage = { devnet, relayer, progress, board, signal };
    isFine = await guarded(stage, options.count);
    if (isFine && options.keep) await keepRunning(stage);
  } finally {
    await endRelayer(relayer);
    if (isFine || signal.aborted) await Deno.remove(folder, { recursive: true });
    else progress.say(`The relayer's configuration and database are in ${folder}`);
  }
  return isFine ? 0 : 1;
}

/** Runs the job; false, with the reason on the screen, when it does not succeed. */
async function guarded(stage: Stage, count: number): Promise<boolean> {
  const { devnet, relayer, progress, signal } = stage;
  const interrupted = untilAborted(signal).then(() => Promise.reject(new Interruption()));
  const relayerEnded = relayer.ended.then(({ code }) =>
    Promise.reject(new Error(`The relayer ended with status ${code}`))
  );
  try {
    await Promise.race([job(stage, count), interrupted, relayerEnded, devnet.oracle.failed]);
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    progress.finish();
    progress.say(`\nFailed: ${error instanceof Error ? error.message : error}`);
    for (const { stage: where, code, ismp, detail } of devnet.hub.rejections.slice(-5)) {
      progress.say(`The hub refused (${where}): ${code} ${ismp ?? ""} ${detail}`);
    }
    progress.say(`Last lines of the relayer:\n${relayer.tail(40)}`);
    return false;
  }
}

async function job(stage: Stage, count: number): Promise<void> {
  const { relayer, progress, board } = stage;
  await relayer.waitForLine("Relaying", { deadlineMs: START_MS });
  progress.say("The relayer is running. Messages are on their way:");
  const routes = [
    { from: "A", to: "B", count },
    { from: "B", to: "A", count },
    { from: "A", to: "hub", count: TO_HUB },
    { from: "B", to: "hub", count: TO_HUB },
  ];
  for (const route of routes) board.plan(route);
  const end = new AbortController();
  const following = follow(stage, AbortSignal.any([end.signal, stage.signal]));
  const sending = Promise.all(routes.map((route) => sendInWaves(board, route)));
  const arrival = sending.then(() => board.untilAllDelivered(DEADLINE_MS)).finally(() => end.abort());
  await Promise.all([arrival, following]);
  progress.finish();
  progress.say("");
  for (const line of board.summary()) progress.say(line);
}

/** Shows what is on the board until `signal` is aborted. */
async function follow({ board, progress }: Stage, signal: AbortSignal): Promise<void> {
  await board.follow({ signal, onChange: () => progress.update(board.lines()) });
}

/** The parts of `count` that go into each wave. */
function spread(count: number): number[] {
  return Array.from({ length: WAVES }, (_, wave) => {
    return Math.floor((count * (wave + 1)) / WAVES) - Math.floor((count * wave) / WAVES);
  }).filter((some) => some > 0);
}

/** A part each second, so that there is something to see. */
async function sendInWaves(
  board: RouteBoard,
  { from, to, count }: { readonly from: string; readonly to: string; readonly count: number },
): Promise<void> {
  await Promise.all(
    spread(count).map(async (some, wave) => {
      await new Promise((resolve) => setTimeout(resolve, wave * 1_000));
      await board.send({ from, to, count: some });
    }),
  );
}

/** Sends what lines ask for until Ctrl-C. */
async function keepRunning(stage: Stage): Promise<void> {
  const { devnet, progress, board, relayer, signal } = stage;
  progress.say(`\nEverything keeps running. ${SEND_LINE_HELP}`);
  void followStandardInput(async (line) => {
    // The typed line stands below the block: the next one begins below it.
    progress.finish();
    const wanted = readSendLine(line, devnet.chains.map(({ name }) => name));
    if (typeof wanted === "string") progress.say(wanted);
    else if (wanted !== undefined) await board.send(wanted);
  }, signal);
  await Promise.race([follow(stage, signal), relayer.ended, devnet.oracle.failed]);
  progress.finish();
}

async function endRelayer(relayer: RelayerProcess): Promise<void> {
  try {
    await relayer.terminate(10_000);
  } catch {
    await relayer.kill();
  } finally {
    relayers.delete(relayer);
  }
}

if (import.meta.main) {
  const code = await runInterruptibly(run, () => {
    for (const relayer of relayers) relayer.signal("SIGKILL");
  });
  Deno.exit(code);
}
