/**
 * The main job on the devnet with both compiled programs: `causeway-consensus` proves an L1, two rollups and a BSC-type
 * chain to the hub, with `--all` two rollups with super roots and a Polygon chain, too, and the hub to them and to a Substrate chain, through changes of the
 * relay chain's authorities; `causeway` carries messages between all of them on top of that, then claims their fees and has
 * them paid out. What is shown is read from the chains and the hub, not from the programs.
 * Usage: `deno task demo [--all] [--keep] [--verbose] [--count=20]`
 */
import { Command, InvalidArgumentError } from "commander";
import {
  type RelayerOptions,
  type RelayerProcess,
  startRelayer,
} from "../tests/scenario/support/relayer_process.ts";
import {
  feePerMessage,
  feesOnHub,
  feeTokenBalance,
  lowerMinimum,
  MoneyFault,
  moneySummary,
  runAccumulateFees,
} from "./demo/fees.ts";
import {
  beginFollowing,
  PROVING_ROLE,
  rotateBusily,
  rotateQuietly,
  showAllRotations,
} from "./demo/rotations.ts";
import { type Devnet, DevnetFault, type DevnetOptions, startDevnet } from "./devnet.ts";
import { AnvilFault } from "./evm/anvil.ts";
import { NoPortFault } from "./kept_port.ts";
import { chainFacts, describeChains } from "./terminal/facts.ts";
import { runInterruptibly, sentenceOf } from "./terminal/interruption.ts";
import type { PingOptions } from "./traffic/messages.ts";
import { Progress, standardOutput } from "./terminal/progress.ts";
import { relayerConfig } from "./programs/relayer_config.ts";
import type { ChainKind } from "./chains/proven_chains.ts";
import { ensurePrograms } from "./programs/relayer_build.ts";
import { hubViews, hubViewTable, RouteBoard } from "./terminal/route_board.ts";
import { followStandardInput, freezeByLine, readSendLine, SEND_LINE_HELP } from "./terminal/send_lines.ts";
import { MAX_WORK_MS, pause, untilAborted } from "./waiting.ts";

/** Messages of one route are sent in this many transactions, one after the other. */
const WAVES = 4;
/** From each chain to the hub, and from rollups to another chain. */
const FEW = 5;
/** In the order of their names, `A`, `B`, ...: the rollups stand on the L1. */
const KINDS: readonly ChainKind[] = ["beacon", "op_stack", "arbitrum", "bsc"];
/** With `--all`. */
const ALL_KINDS: readonly ChainKind[] = [
  ...KINDS,
  "op_stack_super",
  "op_stack_permissioned",
  "polygon",
  "polkadot_hub",
];
/** The last name, final by votes of its own. */
const SUBSTRATE = "SUBSTRATE-demo";
const SUBSTRATE_DECIMALS = 12;
/** Matters with `--keep`: what is earned then is paid out by the running relayer, a minute after its start. */
const PAYING_OUT = { withdrawal_frequency: 60, minimum_withdrawal_amount: 10 };

interface Arguments {
  readonly all: boolean;
  readonly keep: boolean;
  readonly verbose: boolean;
  readonly count: number;
}

function parseArguments(args: readonly string[]): Arguments {
  return new Command("deno task demo")
    .description(
      "EVM chains, a Substrate chain and a hub learn of each other by proofs, and messages cross; both compiled programs at work",
    )
    .option("--all", "rollups with super roots, a Polygon chain and Polkadot Hub as well", false)
    .option("--keep", "continue afterwards, so that more can be sent", false)
    .option("--verbose", "show the logs of both programs", false)
    .option("--count <n>", "messages each way between the L1 and BSC", readCount, 20)
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
  readonly followers: Awaited<ReturnType<typeof beginFollowing>>;
  /** The block of what happens has room for the hub's updates: it is redrawn in place. */
  readonly isTerminal: boolean;
  readonly signal: AbortSignal;
}

/** Relayers that run, to be ended when a second Ctrl-C leaves no time for order. */
const relayers = new Set<RelayerProcess>();
/** The one that was started last: its lines tell why something failed. */
let newest: RelayerProcess | undefined;
/** Belong to the devnet, which ends them: one tells EVM chains of the hub, the other the Substrate chain. */
const consensus: RelayerProcess[] = [];

async function run(signal: AbortSignal): Promise<number> {
  const options = parseArguments(Deno.args);
  const screen = standardOutput();
  const progress = new Progress(screen);
  await ensurePrograms({
    onBuild: () => progress.say("Building both programs (build/causeway, build/causeway-consensus) ..."),
    signal,
  });
  const playOnce = (): Promise<void> => play(options, { progress, isTerminal: screen.isTerminal, signal });
  try {
    await playOnce();
  } catch (error) {
    if (signal.aborted || !isOfMachine(error)) throw error;
    progress.say(`\n${sentenceOf(error)}. That can happen on a crowded machine: once more from the start.\n`);
    consensus.length = 0;
    newest = undefined;
    await playOnce();
  }
  return 0;
}

/** True for what the machine does to nodes, whatever the programs do. */
function isOfMachine(error: unknown): boolean {
  return error instanceof DevnetFault || error instanceof AnvilFault || error instanceof NoPortFault;
}

/** The whole demo, on a devnet of its own. @throws what it failed by */
async function play(
  options: Arguments,
  scene: Pick<Stage, "progress" | "isTerminal" | "signal">,
): Promise<void> {
  const { progress, signal } = scene;
  const kinds = options.all
    ? "two more with super roots, a BSC-type, a Polygon and a Substrate chain, Polkadot Hub"
    : "a BSC-type and a Substrate chain";
  progress.say(`Starting an L1, two rollups, ${kinds}, a hub and its relay chain,`);
  progress.say(
    "and causeway-consensus twice: [hub] type beefy is for EVM chains, grandpa for Substrate chains ...",
  );
  await using devnet = await startDevnet(devnetOptions(options, progress));
  signal.throwIfAborted();
  progress.say("Both run; the hub knows every chain by proofs that it has verified:");
  for (const line of describeChains(chainFacts(devnet))) progress.say(line);
  progress.say("  (no program proves standalone Substrate chains to the hub: the devnet does)");
  await payForPolkadotHub(devnet, progress);
  const folder = await Deno.makeTempDir({ prefix: "causeway-demo-" });
  const relayer: RelayerOptions = {
    config: relayerConfig(devnet.endpoints, { sections: { relayer: PAYING_OUT } }),
    folder,
    logFormat: "human",
    logLevel: "info",
    onLine: (line) => {
      if (options.verbose) progress.say(`causeway | ${line.text}`);
    },
  };
  const board = new RouteBoard(devnet);
  const stage = { ...scene, devnet, relayer, board, followers: await beginFollowing(devnet) };
  let isKept = false;
  try {
    const interrupted = untilAborted(signal).then(() => Promise.reject(signal.reason));
    await Promise.race([job(stage, options.count), interrupted, devnet.failed]);
    if (options.keep) await keepRunning(stage);
    await endConsensus(stage);
  } catch (error) {
    isKept = !signal.aborted;
    progress.finish();
    throw await devnet.findBroken() ?? error;
  } finally {
    await Promise.all([...relayers].map(endRelayer));
    if (isKept) await keepLogs(stage);
    else await Deno.remove(folder, { recursive: true });
  }
}

/** Leaves behind what explains a failure. */
async function keepLogs({ devnet, relayer: { folder }, progress }: Stage): Promise<void> {
  const logs = new Map([
    ["causeway", newest?.text ?? ""],
    ...consensus.map((program, at) => [`causeway-consensus-${at + 1}`, program.text] as const),
    ["refused-by-hub", devnet.hub.rejections.map((refused) => `${JSON.stringify(refused)}\n`).join("")],
  ]);
  for (const [name, text] of logs) await Deno.writeTextFile(`${folder}/${name}.log`, text);
  progress.say(
    `Logs of the programs, and what causeway was started with, are in ${folder}; --verbose shows more.`,
  );
}

function devnetOptions({ all, verbose }: Arguments, progress: Progress): DevnetOptions {
  return {
    kinds: all ? ALL_KINDS : KINDS,
    feeds: "together",
    substrateChains: [{ stateMachine: SUBSTRATE, feeTokenDecimals: SUBSTRATE_DECIMALS }],
    // Nobody tells a chain of the hub but the programs.
    hubFeed: "program",
    consensusRelayer: {
      signer: PROVING_ROLE,
      logFormat: "human",
      logLevel: "info",
      onStarted: (process) => {
        consensus.push(process);
      },
      onLine: (line) => {
        if (verbose) progress.say(`consensus | ${line.text}`);
      },
    },
  };
}

/** Gives the hub the runtime that it lacked in August 2026: without it no claim with Polkadot Hub is paid. */
async function payForPolkadotHub({ chains, hub }: Devnet, progress: Progress): Promise<void> {
  const found = chains.find(({ proven }) => proven.kind === "polkadot_hub");
  if (found === undefined) return;
  await hub.governance.readWordsOf(found.stateMachine);
  progress.say(
    `  The hub reads words of ${found.stateMachine}, as a runtime after August 2026 has to, and so pays.`,
  );
}

async function job(stage: Stage, count: number): Promise<void> {
  const { devnet, progress, board } = stage;
  const views = hubViews(devnet);
  await rotateQuietly(stage);
  const routes = planRoutes(devnet, count);
  const chains = [...devnet.chains, ...devnet.substrateChains];
  await Promise.all(devnet.substrateChains.map((chain) => lowerMinimum(devnet, chain)));
  const expected = await Promise.all(chains.map(async (chain) => ({
    chain,
    fees: routes.filter(({ from }) => from === chain.name)
      .reduce((sum, route) => sum + route.fee * BigInt(route.count), 0n),
    before: await feeTokenBalance(chain),
  })));
  await deliver(stage, routes);
  const newViews = hubViews(devnet);
  for (const line of ["", ...hubViewTable(views, newViews), "", ...board.summary()]) progress.say(line);
  const unproved = newViews.filter(({ height }, at) => height === views[at]?.height);
  if (unproved.length > 0) {
    throw new Error(`The hub accepted no update of ${unproved.map(({ chain }) => chain).join(", ")}`);
  }
  await showAllRotations(stage);
  await collect(stage);
  const { lines, isPaid } = await moneySummary(devnet, expected);
  for (const line of ["", ...lines]) progress.say(line);
  if (!isPaid) throw new MoneyFault("balance_wrong", "The relayer did not get the fees of its deliveries");
}

/** A route with its messages. */
type PlannedRoute = PingOptions & { readonly count: number; readonly fee: bigint };

/** Between the L1 and BSC, from rollups to another chain, both ways with all others, and from all to the hub. */
function planRoutes(devnet: Devnet, count: number): readonly PlannedRoute[] {
  const paid = (from: string, to: string, some: number): PlannedRoute => {
    return { from, to, count: some, fee: feePerMessage(some, decimalsOn(devnet, from)) };
  };
  const names = namesOf(devnet);
  const l1 = nameOf(devnet, "beacon");
  const bsc = nameOf(devnet, "bsc");
  const arbitrum = nameOf(devnet, "arbitrum");
  const others = names.slice(KINDS.length);
  return [
    paid(l1, bsc, count),
    paid(bsc, l1, count),
    paid(nameOf(devnet, "op_stack"), arbitrum, FEW),
    paid(arbitrum, bsc, FEW),
    ...others.flatMap((other) => [paid(l1, other, FEW), paid(other, bsc, FEW)]),
    ...names.map((from) => ({ from, to: "hub", count: FEW, fee: 0n })),
  ];
}

function nameOf({ chains }: Devnet, kind: ChainKind): string {
  const found = chains.find(({ proven }) => proven.kind === kind);
  if (found === undefined) throw new RangeError(`No chain of the demo is of kind ${kind}`);
  return found.name;
}

/** Of all chains but the hub, in alphabetical order. */
function namesOf({ chains, substrateChains }: Devnet): readonly string[] {
  return [...chains, ...substrateChains].map(({ name }) => name);
}

/** Sends everything while the relayer runs; resolves when all has arrived and the relayer has ended. */
async function deliver(stage: Stage, routes: readonly PlannedRoute[]): Promise<void> {
  const { progress, board } = stage;
  const relayer = await launch(stage);
  const relayerEnded = relayer.ended.then(({ code }) =>
    Promise.reject(new Error(`causeway ended with status ${code}`))
  );
  progress.say("causeway runs, too. Messages are on their way, those between the chains with a fee:");
  for (const route of routes) board.plan(route);
  const end = new AbortController();
  const following = follow(stage, AbortSignal.any([end.signal, stage.signal]));
  const sending = Promise.all([
    ...routes.map((route) => sendInWaves(board, route)),
    rotateBusily(stage),
  ]);
  const arrival = sending.then(() => board.untilAllDelivered()).finally(() => end.abort());
  await Promise.race([Promise.all([arrival, following]), relayerEnded]);
  progress.finish();
  const code = await relayer.terminate(MAX_WORK_MS);
  relayers.delete(relayer);
  if (code !== 0) throw new Error(`causeway ended with status ${code} after SIGTERM`);
}

/** What was earned is claimed on the hub and paid out; the table of the command on the screen. */
async function collect({ devnet, relayer, progress, signal }: Stage): Promise<void> {
  const chains = [...devnet.chains, ...devnet.substrateChains];
  const claimed = chains.map((chain) => `${chain.name} ${feesOnHub(devnet, chain)}`).join(", ");
  progress.say(`causeway is stopped (SIGTERM). The hub holds for it, claimed while it ran: ${claimed}`);
  progress.say("The command claims the rest, and confirms claims that were not final, in one table:");
  progress.say("causeway ... accumulate-fees --wait --withdraw");
  const shown = await runAccumulateFees(relayer, (command) => {
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
  await relayer.waitForLine("program_started", { deadlineMs: MAX_WORK_MS });
  return relayer;
}

/** Shows what is on the boards until `signal` is aborted. */
async function follow({ devnet, board, progress, isTerminal }: Stage, signal: AbortSignal): Promise<void> {
  const views = (): string[] =>
    hubViews(devnet).map(({ chain, height }) => `hub's view of ${chain}  height ${height}`);
  const onChange = (): void => progress.update([...board.lines(), ...isTerminal ? ["", ...views()] : []]);
  await board.follow({ signal, onChange });
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
  { count, ...route }: PlannedRoute,
): Promise<void> {
  await Promise.all(
    spread(count).map(async (some, wave) => {
      await pause(wave * 1_000);
      await board.send({ ...route, count: some });
    }),
  );
}

/** Sends what lines ask for until Ctrl-C. */
async function keepRunning(stage: Stage): Promise<void> {
  const { devnet, progress, board, signal } = stage;
  const relayer = await launch(stage);
  progress.say(`\ncauseway runs again, and everything else keeps running. ${SEND_LINE_HELP}`);
  void followStandardInput(async (line) => {
    // The typed line stands below the block: the next one begins below it.
    progress.finish();
    const wanted = readSendLine(line, namesOf(devnet));
    if (typeof wanted === "string") progress.say(wanted);
    else if (wanted !== undefined && "isFrozen" in wanted) {
      progress.say(await freezeByLine(devnet.chains, wanted));
    } else if (wanted !== undefined) await board.send({ ...wanted, fee: feeOf(devnet, wanted) });
  }, signal);
  await Promise.race([follow(stage, signal), relayer.ended, devnet.failed]);
  progress.finish();
}

/** Nobody pays for messages to the hub. */
function feeOf(devnet: Devnet, { from, to, count = 1 }: PingOptions): bigint {
  return to === "hub" ? 0n : feePerMessage(count, decimalsOn(devnet, from));
}

/** Decimals of the fee token of a chain with that name. */
function decimalsOn({ substrateChains }: Devnet, name: string): number | undefined {
  return substrateChains.find((chain) => chain.name === name)?.feeTokenDecimals;
}

/** Ends causeway-consensus, which has to end in order. */
async function endConsensus({ devnet, progress }: Stage): Promise<void> {
  await devnet.oracle.stop();
  for (const program of consensus) {
    const { code } = await program.ended;
    if (code !== 0) throw new Error(`causeway-consensus ended with status ${code} after SIGTERM`);
  }
  progress.say("\ncauseway-consensus is stopped (SIGTERM). All programs ended in order.");
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
  const code = await runInterruptibly(run, {
    beforeExit: () => {
      for (const program of [...relayers, ...consensus]) program.signal("SIGKILL");
    },
    isVerbose: Deno.args.includes("--verbose"),
  });
  Deno.exit(code);
}
