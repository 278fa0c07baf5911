/**
 * The main job on the devnet: the compiled relayer carries messages between two EVM chains and to the hub, then
 * claims their fees and has them paid out. What it shows is read from the chains, not from the relayer.
 * Usage: `deno task demo [--keep] [--verbose] [--count=20]`
 */
import { Command, InvalidArgumentError } from "commander";
import {
  type RelayerOptions,
  type RelayerProcess,
  startRelayer,
} from "../scenario/support/relayer_process.ts";
import {
  accumulateFees,
  feePerMessage,
  feesOnHub,
  feeTokenBalance,
  MoneyFault,
  moneySummary,
} from "./demo_money.ts";
import { type Devnet, startDevnet } from "./devnet.ts";
import { Interruption, runInterruptibly, untilAborted } from "./interruption.ts";
import type { PingOptions } from "./messages.ts";
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
/** How long the relayer may take to begin, and to end. */
const START_MS = 60_000;
const STOP_MS = 30_000;
/** Matters with `--keep`: what is earned then is paid out by the running relayer, a minute after its start. */
const PAYING_OUT = { withdrawal_frequency: 60, minimum_withdrawal_amount: 10 };

interface Arguments {
  readonly keep: boolean;
  readonly verbose: boolean;
  readonly count: number;
}

function parseArguments(args: readonly string[]): Arguments {
  return new Command("deno task demo")
    .description(
      "Messages cross between two EVM chains through the hub, carried by the compiled relayer, which is then paid",
    )
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

/** What the parts of the demo share. */
interface Stage {
  readonly devnet: Devnet;
  /** How the relayer is started. */
  readonly relayer: RelayerOptions;
  readonly progress: Progress;
  readonly board: RouteBoard;
  readonly signal: AbortSignal;
}

/** Relayers that run, to be ended when a second Ctrl-C leaves no time for order. */
const relayers = new Set<RelayerProcess>();
/** The one that was started last: its lines tell why something failed. */
let newest: RelayerProcess | undefined;

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
  for (const { name, stateMachine, rpcUrl } of devnet.chains) {
    progress.say(`  ${name}    ${stateMachine}    ${rpcUrl}`);
  }
  progress.say(`  hub  ${devnet.hub.identity.stateMachine}  ${devnet.hub.wsUrl}`);
  const folder = await Deno.makeTempDir({ prefix: "causeway-demo-" });
  const relayer: RelayerOptions = {
    config: relayerConfig(devnet.endpoints, { sections: { relayer: PAYING_OUT } }),
    folder,
    logFormat: "human",
    logLevel: "info",
    onLine: (line) => {
      if (options.verbose) progress.say(`  | ${line.text}`);
    },
  };
  const stage = { devnet, relayer, progress, board: new RouteBoard(devnet), signal };
  let isFine = false;
  try {
    isFine = await guarded(stage, options.count);
    if (isFine && options.keep) await keepRunning(stage);
  } finally {
    await Promise.all([...relayers].map(endRelayer));
    if (isFine || signal.aborted) await Deno.remove(folder, { recursive: true });
    else progress.say(`The relayer's configuration and database are in ${folder}`);
  }
  return isFine ? 0 : 1;
}

/** Runs the job; false, with the reason on the screen, when it does not succeed. */
async function guarded(stage: Stage, count: number): Promise<boolean> {
  const { devnet, progress, signal } = stage;
  const interrupted = untilAborted(signal).then(() => Promise.reject(new Interruption()));
  try {
    await Promise.race([job(stage, count), interrupted, devnet.oracle.failed]);
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    progress.finish();
    progress.say(`\nFailed: ${error instanceof Error ? error.message : error}`);
    for (const { stage: where, code, ismp, detail } of devnet.hub.rejections.slice(-5)) {
      progress.say(`The hub refused (${where}): ${code} ${ismp ?? ""} ${detail}`);
    }
    progress.say(`Last lines of the relayer:\n${newest?.tail(40) ?? "(it was not started)"}`);
    return false;
  }
}

async function job(stage: Stage, count: number): Promise<void> {
  const { devnet, progress, board } = stage;
  const fee = feePerMessage(count);
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const expected = await Promise.all([a, b].map(async (chain) => ({
    chain,
    fees: fee * BigInt(count),
    before: await feeTokenBalance(chain),
  })));
  await deliver(stage, count, fee);
  for (const line of ["", ...board.summary(), ""]) progress.say(line);
  await collect(stage);
  const { lines, isPaid } = await moneySummary(devnet, expected);
  for (const line of ["", ...lines]) progress.say(line);
  if (!isPaid) throw new MoneyFault("balance_wrong", "The relayer did not get the fees of its deliveries");
}

/** Sends everything while the relayer runs; resolves when all has arrived and the relayer has ended. */
async function deliver(stage: Stage, count: number, fee: bigint): Promise<void> {
  const { progress, board } = stage;
  const relayer = await launch(stage);
  const relayerEnded = relayer.ended.then(({ code }) =>
    Promise.reject(new Error(`The relayer ended with status ${code}`))
  );
  progress.say("The relayer is running. Messages are on their way, those between the chains with a fee:");
  const routes = [
    { from: "A", to: "B", count, fee },
    { from: "B", to: "A", count, fee },
    { from: "A", to: "hub", count: TO_HUB },
    { from: "B", to: "hub", count: TO_HUB },
  ];
  for (const route of routes) board.plan(route);
  const end = new AbortController();
  const following = follow(stage, AbortSignal.any([end.signal, stage.signal]));
  const sending = Promise.all(routes.map((route) => sendInWaves(board, route)));
  const arrival = sending.then(() => board.untilAllDelivered(DEADLINE_MS)).finally(() => end.abort());
  await Promise.race([Promise.all([arrival, following]), relayerEnded]);
  progress.finish();
  const code = await relayer.terminate(STOP_MS);
  relayers.delete(relayer);
  if (code !== 0) throw new Error(`The relayer ended with status ${code} after SIGTERM`);
}

/** What was earned is claimed on the hub and paid out; the table of the command on the screen. */
async function collect({ devnet, relayer, progress, signal }: Stage): Promise<void> {
  const claimed = devnet.chains.map((chain) => `${chain.name} ${feesOnHub(devnet, chain)}`).join(", ");
  progress.say(`The relayer is stopped (SIGTERM). Fees that it has claimed on the hub so far: ${claimed}`);
  progress.say("causeway ... accumulate-fees --wait --withdraw");
  const shown = await accumulateFees(relayer, (command) => {
    relayers.add(command);
    newest = command;
  });
  // Ended by Ctrl-C, it has nothing to tell.
  signal.throwIfAborted();
  if (newest !== undefined) relayers.delete(newest);
  for (const line of shown) progress.say(`  ${line}`);
}

/** Starts the relayer; resolves when it works. */
async function launch({ relayer: options }: Stage): Promise<RelayerProcess> {
  const relayer = await startRelayer(options);
  relayers.add(relayer);
  newest = relayer;
  await relayer.waitForLine("Relaying", { deadlineMs: START_MS });
  return relayer;
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
  { count, ...route }: Omit<PingOptions, "count"> & { readonly count: number },
): Promise<void> {
  await Promise.all(
    spread(count).map(async (some, wave) => {
      await new Promise((resolve) => setTimeout(resolve, wave * 1_000));
      await board.send({ ...route, count: some });
    }),
  );
}

/** Sends what lines ask for until Ctrl-C. */
async function keepRunning(stage: Stage): Promise<void> {
  const { devnet, progress, board, signal } = stage;
  const relayer = await launch(stage);
  progress.say(`\nThe relayer runs again, and everything else keeps running. ${SEND_LINE_HELP}`);
  void followStandardInput(async (line) => {
    // The typed line stands below the block: the next one begins below it.
    progress.finish();
    const wanted = readSendLine(line, devnet.chains.map(({ name }) => name));
    if (typeof wanted === "string") progress.say(wanted);
    else if (wanted !== undefined) await board.send({ ...wanted, fee: feeOf(wanted) });
  }, signal);
  await Promise.race([follow(stage, signal), relayer.ended, devnet.oracle.failed]);
  progress.finish();
}

/** Nobody pays for messages to the hub. */
function feeOf({ to, count = 1 }: PingOptions): bigint {
  return to === "hub" ? 0n : feePerMessage(count);
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
