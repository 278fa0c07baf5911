/**
 * One relayer with many chains, many messages that cannot be delivered now, and several URLs of each chain: what it
 * takes while nothing happens, and how long a message takes beside all that and beside a slow chain. Then the ledger
 * with very many rows.
 */
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { type DevnetEndpoints } from "../../devnet/programs/relayer_config.ts";
import { pause, waitUntil } from "../../devnet/waiting.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { type RelayerProcess } from "../scenario/support/relayer_process.ts";
import { type ProxiedRequest } from "../scenario/support/rpc_proxy.ts";
import { measureWindow, type WindowCost } from "./idle.ts";
import { type ChainEndpoint, startIdleChains } from "./idle_chains.ts";
import { fillLedger, measureLedger, spareChains } from "./large_ledger.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readResidentMb } from "./process_usage.ts";
import { type Figure, figure, figuresOf, median } from "./report.ts";
import { HUB_MODULE, instantly, sendFromHub, updateAll } from "./stage.ts";
import { openProxies, type Proxies, startSubject } from "./subject.ts";

/** What a relayer is put beside. */
interface ScaleCase {
  readonly chains: number;
  /** Messages in its ledger that cannot be delivered now. */
  readonly pending: number;
  /** Of each EVM chain. */
  readonly urls: number;
}

/** The smallest one first; messages beside a slow chain are timed in the second. */
const CASES: readonly ScaleCase[] = [
  { chains: 4, pending: 1_000, urls: 1 },
  { chains: 16, pending: 1_000, urls: 1 },
  { chains: 64, pending: 1_000, urls: 1 },
  { chains: 4, pending: 100_000, urls: 3 },
];
/** Messages timed in each case. */
const SAMPLES = 8;
const ROWS = 1_000_000;
/** Poll interval of everything. */
const TICK_MS = 1_000;
/** Windows in which nothing happens, and ticks of each. */
const WINDOWS = 3;
const WINDOW = { sec: TICK_MS / 1_000, ticks: 5 };
/** Time in which a process comes to rest after its start, and after a message. */
const REST_MS = 5_000;
const REST_OF_MESSAGE_MS = 300;
const SLOW_MS = 5_000;
/** EVM chains of the ledger with very many rows: few, so that each has very many. */
const LEDGER_CHAINS = 4;
/** Queries that are named. */
const NAMED = 3;
/** Jitter of the poll interval over a short window. */
const MAX_REQUESTS_PER_TICK = 1.05;
const MAX_IDLE_CPU_PERCENT = 5;
const MAX_MB_PER_CHAIN = 0.7;
const MAX_SLOW_RATIO = 1.1;
const MAX_QUERY_MS = 5;
const MAX_OPEN_MS = 1_000;

/** See the head of the file. */
export const scale: Part = async (deps) => [...await measureNetwork(deps), ...measureRows(deps)];

async function measureNetwork(deps: BenchDeps): Promise<readonly Figure[]> {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  await using stack = new AsyncDisposableStack();
  const own = devnet.endpoints.chains;
  const most = Math.max(...CASES.map(({ chains }) => chains));
  const idle = await startIdleChains(devnet.hub, most - own.length, stack);
  await updateAll(devnet);
  deps.say(`   ${most} chains are ready`);
  const figures: Figure[] = [];
  const residents: number[] = [];
  for (const [at, each] of CASES.entries()) {
    const others = idle.slice(0, each.chains - own.length);
    await using running = await startCase(deps, devnet, others, each);
    const { idleFigures, residentMb } = await measureIdle(running, each);
    residents.push(residentMb);
    figures.push(...idleFigures, await measureMessages(running, nameOf(each)));
    if (at === 1) figures.push(await besideSlowChain(running));
    await running.relayer.terminate();
  }
  const widest = CASES.findIndex(({ chains }) => chains === most);
  const further = ((residents[widest] ?? NaN) - (residents[0] ?? NaN)) / (most - (CASES[0]?.chains ?? NaN));
  return [
    ...figures,
    figure(`${most} chains: memory of a further one`, "MB", further, { most: MAX_MB_PER_CHAIN }),
  ];
}

/** A relayer in one case. */
interface RunningCase extends AsyncDisposable {
  readonly devnet: Devnet;
  readonly relayer: RelayerProcess;
  readonly proxies: Proxies;
  readonly idle: readonly ChainEndpoint[];
}

async function startCase(
  deps: BenchDeps,
  devnet: Devnet,
  idle: readonly ChainEndpoint[],
  { chains, pending, urls }: ScaleCase,
): Promise<RunningCase> {
  await using stack = new AsyncDisposableStack();
  const endpoints: DevnetEndpoints = { ...devnet.endpoints, chains: [...devnet.endpoints.chains, ...idle] };
  const folder = `${chains}-${pending}-${urls}`;
  await Deno.mkdir(`${deps.folder}/${folder}`);
  fillLedger(`${deps.folder}/${folder}/relayer.db`, {
    rows: pending,
    chains: endpoints.chains.map(({ stateMachine }) => parseStateMachine(stateMachine)),
    hub: devnet.hub.identity.stateMachine,
    nowMs: Date.now(),
    areHeld: true,
  });
  const keepsAnswersOf = devnet.chains.map(({ stateMachine }) => stateMachine);
  const proxies = await openProxies(endpoints, { urls, keepsAnswersOf }, stack);
  const changes = { ...proxies.changes, moduleFilter: [HUB_MODULE] };
  const relayer = stack.use(await startSubject(deps, endpoints, { folder, changes, legs: 2 * chains }));
  const owned = stack.move();
  return { devnet, relayer, proxies, idle, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function measureIdle(
  { relayer, proxies, idle }: RunningCase,
  each: ScaleCase,
): Promise<{ readonly idleFigures: readonly Figure[]; readonly residentMb: number }> {
  await pause(REST_MS);
  const rounds: WindowCost[] = [];
  while (rounds.length < WINDOWS) {
    rounds.push(await measureWindow({ chains: idle }, proxies, relayer.pid, WINDOW));
  }
  const residentMb = await readResidentMb(relayer.pid);
  const name = nameOf(each);
  const idleFigures = [
    ...figuresOf(rounds, [
      ["cpuPercent", `${name}: idle, of a core`, "%", { most: MAX_IDLE_CPU_PERCENT }],
      ["requests", `${name}: requests of an idle chain and tick`, "", { most: MAX_REQUESTS_PER_TICK }],
      ["calls", `${name}: calls of an idle chain and tick`, ""],
    ]),
    figure(`${name}: resident`, "MB", residentMb),
  ];
  return { idleFigures, residentMb: median(residentMb) };
}

async function measureMessages(running: RunningCase, name: string): Promise<Figure> {
  // What is read once in the life of a process is none of a message's time.
  await timeMessage(running);
  const times: number[] = [];
  while (times.length < SAMPLES) times.push(await timeMessage(running));
  return figure(`${name}: a message, from the answer that shows its update to its transaction`, "ms", times);
}

/** Messages in turns beside a chain that answers at once, and beside the same chain when it is slow. */
async function besideSlowChain(running: RunningCase): Promise<Figure> {
  const { proxies, idle: [other] } = running;
  const slow = proxies.chains.get(other?.stateMachine ?? "") ?? [];
  const times = { delay: [] as number[], pass: [] as number[] };
  for (let sample = 0; sample < 2 * SAMPLES; sample++) {
    const kind = sample % 2 === 0 ? "delay" : "pass";
    for (const proxy of slow) await proxy.setMode(kind === "pass" ? { kind } : { kind, delayMs: SLOW_MS });
    // Until the relayer waits for the slow chain, or no longer.
    await pause(2 * TICK_MS);
    times[kind].push(await timeMessage(running));
  }
  const ratio = median(times.delay) / median(times.pass);
  return figure("a message beside a slow chain / without", "", ratio, { most: MAX_SLOW_RATIO });
}

/**
 * Sends a message of the hub to chain B and waits until it has arrived and the relayer is at rest.
 * @returns the time from the answer that told the relayer of the update to the request that sends the transaction: its
 * own work and the trips of it, milliseconds.
 */
async function timeMessage({ devnet, proxies }: RunningCase): Promise<number> {
  const chain = devnet.chain("B");
  const received = await countReceived(chain.host);
  await sendFromHub(devnet, chain, 1);
  proxies.clear();
  const direction = { from: devnet.hub.identity.stateMachine, to: chain.stateMachine };
  const height = await instantly(chain, () => devnet.oracle.step(direction));
  const requests = (): readonly ProxiedRequest[] =>
    proxies.requestsOf(chain.stateMachine).toSorted((a, b) => a.atMs - b.atMs);
  const hasArrived = async (): Promise<boolean> => await countReceived(chain.host) > received;
  await waitUntil("the message", hasArrived, { everyMs: 10 });
  const sentMs = requests().find(isSending)?.atMs ?? NaN;
  const seenMs = requests().find(({ answer }) => answer?.includes(wordOf(height)))?.endedAtMs ?? NaN;
  await devnet.mine(chain, 3);
  // Then any moment between two polls is as likely as another.
  await pause(REST_OF_MESSAGE_MS + Math.random() * TICK_MS);
  return sentMs - seenMs;
}

function isSending({ calls }: ProxiedRequest): boolean {
  return calls.some(({ method }) => method === "eth_sendRawTransaction");
}

/** A number as contracts return it, alone or among other values. */
function wordOf(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}

function nameOf({ chains, pending, urls }: ScaleCase): string {
  return `${chains} chains, ${pending} pending, ${urls} URLs`;
}

function measureRows(deps: BenchDeps): readonly Figure[] {
  const { bytes, openMs, queries } = measureLedger(`${deps.folder}/large.db`, {
    rows: ROWS,
    chains: spareChains(LEDGER_CHAINS),
    hub: parseStateMachine("KUSAMA-4009"),
    nowMs: Date.now(),
  });
  return [
    figure(`${ROWS} rows: open`, "ms", openMs, { most: MAX_OPEN_MS }),
    figure(`${ROWS} rows: file, a row`, "KB", bytes / ROWS / 1000),
    ...queries.slice(0, NAMED).map(({ name, p95Ms }) =>
      figure(`${ROWS} rows: p95 of the slowest queries: ${name}`, "ms", p95Ms, { most: MAX_QUERY_MS })
    ),
  ];
}
