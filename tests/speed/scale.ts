/**
 * One relayer with many chains, many messages that cannot be delivered now, and several URLs of each chain: what it
 * takes while nothing happens, and how long a message takes beside all that. Then a slow chain, more and more messages,
 * and the ledger with very many rows. Everything is compared with the smallest case of the same run.
 */
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { type DevnetEndpoints, relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { pause } from "../../devnet/waiting.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import { type RpcProxy, startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { countCalls } from "./call_counts.ts";
import { clearAll, type Proxies, untilQuiet } from "./crossing.ts";
import { type ChainEndpoint, startIdleChains } from "./idle_chains.ts";
import { fillLedger, measureLedger, spareChains } from "./large_ledger.ts";
import { type MessageLatency, timeMessage } from "./message_latency.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs, readMemoryMb } from "./process_usage.ts";
import { median, percentile } from "./report.ts";
import { drawScale } from "./scale_plots.ts";
import { type CaseResult, nameOf, type ScaleCase, scaleMeasures, type ScaleResult } from "./scale_result.ts";
import { sendWaiting, timeRelayer } from "./timed_relayer.ts";
import { HUB_MODULE, updateAll } from "./stage.ts";

/** How much is measured. */
interface Extent {
  /** The smallest one first. */
  readonly cases: readonly ScaleCase[];
  /** Messages timed in each case. */
  readonly samples: number;
  readonly windowMs: number;
  readonly waiting: readonly number[];
  readonly rows: number;
}

const whole: Extent = {
  cases: [
    { chains: 4, pending: 1_000, urls: 1 },
    { chains: 16, pending: 1_000, urls: 1 },
    { chains: 64, pending: 1_000, urls: 1 },
    { chains: 4, pending: 10_000, urls: 1 },
    { chains: 4, pending: 100_000, urls: 1 },
    { chains: 4, pending: 1_000, urls: 3 },
  ],
  samples: 8,
  windowMs: 10_000,
  waiting: [500, 2_000],
  rows: 1_000_000,
};

const small: Extent = {
  cases: [
    { chains: 3, pending: 100, urls: 1 },
    { chains: 6, pending: 100, urls: 1 },
    { chains: 3, pending: 1_000, urls: 3 },
  ],
  samples: 2,
  windowMs: 5_000,
  waiting: [50, 200],
  rows: 20_000,
};

/** Poll interval of everything. */
const TICK_MS = 1_000;
/** Time in which a process comes to rest after its start. */
const REST_MS = 5_000;
const READINGS = 5;
const READ_EVERY_MS = 400;
const SLOW_MS = 5_000;
/** Until the relayer waits for a slow chain, or no longer. */
const TURN_MS = 2 * TICK_MS;
/** EVM chains of the ledger with very many rows: few, so that each has very many. */
const LEDGER_CHAINS = 4;

/** See the head of the file. */
export const scale: Part = async (deps) => {
  const extent = deps.isSmall ? small : whole;
  const result = { ...await measureNetwork(deps, extent), ledger: await measureRows(deps, extent) };
  if (deps.writesPlots) await writePlots(deps, result);
  return scaleMeasures(result);
};

async function measureNetwork(
  deps: BenchDeps,
  extent: Extent,
): Promise<Pick<ScaleResult, "cases" | "cpuPerMessage" | "slowChainRatio">> {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  await using stack = new AsyncDisposableStack();
  const own = devnet.endpoints.chains;
  const most = Math.max(...extent.cases.map(({ chains }) => chains));
  const idle = await startIdleChains(devnet.hub, most - own.length, stack);
  await updateAll(devnet);
  deps.say(`   ${most} chains are ready`);
  const cases: CaseResult[] = [];
  let slowChainRatio = NaN;
  for (const each of extent.cases) {
    const endpoints = { ...devnet.endpoints, chains: [...own, ...idle.slice(0, each.chains - own.length)] };
    await using bench = await startCase(deps, { each, devnet, endpoints });
    cases.push(await measureCase(bench, each, extent));
    deps.say(`   ${nameOf(each)}: measured`);
    if (cases.length === 2) slowChainRatio = await besideSlowChain(bench, idle, extent.samples);
    await bench.relayer.terminate();
  }
  return { cases, slowChainRatio, cpuPerMessage: await measureCpu(deps, devnet, extent) };
}

/** A relayer in one case. */
interface RunningCase extends AsyncDisposable {
  readonly devnet: Devnet;
  readonly target: DevnetChain;
  readonly relayer: RelayerProcess;
  readonly proxies: Proxies;
  readonly idle: readonly ChainEndpoint[];
}

async function startCase(
  deps: BenchDeps,
  { each, devnet, endpoints }: {
    readonly each: ScaleCase;
    readonly devnet: Devnet;
    readonly endpoints: DevnetEndpoints;
  },
): Promise<RunningCase> {
  await using stack = new AsyncDisposableStack();
  const folder = `${deps.folder}/${each.chains}-${each.pending}-${each.urls}`;
  await Deno.mkdir(folder, { recursive: true });
  fillLedger(`${folder}/relayer.db`, {
    rows: each.pending,
    chains: endpoints.chains.map(({ stateMachine }) => parseStateMachine(stateMachine)),
    hub: devnet.hub.identity.stateMachine,
    nowMs: Date.now(),
    isAllHeld: true,
  });
  const busy = new Set<string>(devnet.chains.map(({ stateMachine }) => stateMachine));
  const chains = new Map<string, readonly RpcProxy[]>();
  for (const { stateMachine, rpcUrl } of endpoints.chains) {
    const keepsAnswers = busy.has(stateMachine);
    const some: RpcProxy[] = [];
    for (let url = 0; url < each.urls; url++) {
      some.push(stack.use(await startRpcProxy({ upstream: rpcUrl, keepsAnswers })));
    }
    chains.set(stateMachine, some);
  }
  const hub = stack.use(await startRpcProxy({ upstream: devnet.hub.httpUrl }));
  const relayer = stack.use(
    await startRelayer({
      executable: deps.executable,
      folder,
      logLevel: "info",
      config: relayerConfig(endpoints, {
        rpcUrls: Object.fromEntries(
          [...chains].map(([chain, some]) => [chain, some.map(({ httpUrl }) => httpUrl)]),
        ),
        hubUrl: hub.wsUrl,
        moduleFilter: [HUB_MODULE],
      }),
    }),
  );
  const legs = new Set<unknown>();
  await relayer.waitForLine(({ record }) => {
    if (record?.event === "leg_started") legs.add(record.leg);
    return legs.size === 2 * each.chains;
  });
  const owned = stack.move();
  return {
    devnet,
    target: devnet.chain("B"),
    relayer,
    proxies: { chains, hub },
    idle: endpoints.chains.filter(({ stateMachine }) => !busy.has(stateMachine)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function measureCase(
  bench: RunningCase,
  each: ScaleCase,
  { samples, windowMs }: Extent,
): Promise<CaseResult> {
  const { devnet, target, relayer, proxies, idle } = bench;
  await pause(REST_MS);
  await untilQuiet(proxies);
  clearAll(proxies);
  const cpuMs = readCpuMs(relayer.pid);
  await pause(windowMs);
  const idleCpuPercent = (readCpuMs(relayer.pid) - cpuMs) / windowMs * 100;
  const counts = countCalls(
    idle.flatMap(({ stateMachine }) => proxies.chains.get(stateMachine) ?? []).flatMap(({ requests }) =>
      requests
    ),
  );
  const ticks = windowMs / TICK_MS * idle.length;
  const residentMb = await residentOf(relayer);
  // What is read once in the life of a process is none of a message's time.
  await timeMessage(devnet, target, proxies);
  const latencies: MessageLatency[] = [];
  for (let sample = 0; sample < samples; sample++) {
    latencies.push(await timeMessage(devnet, target, proxies));
    clearAll(proxies);
  }
  const [waits, works] = [
    latencies.map(({ sinceUpdateMs }) => sinceUpdateMs),
    latencies.map(({ sinceSeenMs }) => sinceSeenMs),
  ];
  return {
    ...each,
    idleCpuPercent,
    residentMb,
    requestsPerTick: counts.requests / ticks,
    callsPerTick: counts.calls / ticks,
    latencyP50Ms: median(waits),
    latencyP95Ms: percentile(waits, 0.95),
    workP50Ms: median(works),
    workP95Ms: percentile(works, 0.95),
  };
}

async function residentOf(relayer: RelayerProcess): Promise<number> {
  const readings: number[] = [];
  for (let reading = 0; reading < READINGS; reading++) {
    readings.push(readMemoryMb(relayer.pid, "VmRSS"));
    await pause(READ_EVERY_MS);
  }
  return median(readings);
}

/** Messages in turns beside a chain that answers at once, and beside the same chain when it is slow. */
async function besideSlowChain(
  { devnet, target, proxies }: RunningCase,
  idle: readonly ChainEndpoint[],
  samples: number,
): Promise<number> {
  const slow = idle.slice(0, 1).flatMap(({ stateMachine }) => proxies.chains.get(stateMachine) ?? []);
  const times = { slow: [] as number[], quick: [] as number[] };
  for (let sample = 0; sample < 2 * samples; sample++) {
    const turn = sample % 2 === 0 ? "slow" : "quick";
    for (const proxy of slow) {
      await proxy.setMode(turn === "slow" ? { kind: "delay", delayMs: SLOW_MS } : { kind: "pass" });
    }
    await pause(TURN_MS);
    times[turn].push((await timeMessage(devnet, target, proxies)).sinceSeenMs);
    clearAll(proxies);
  }
  return median(times.slow) / median(times.quick);
}

async function measureCpu(
  deps: BenchDeps,
  devnet: Devnet,
  { waiting }: Extent,
): Promise<ScaleResult["cpuPerMessage"]> {
  const found: { readonly messages: number; readonly ms: number }[] = [];
  let arrived = Number(await countReceived(devnet.chain("B").host));
  for (const messages of waiting) {
    const work = await sendWaiting(devnet, devnet.chain("B"), messages);
    const before = arrived;
    const { cpuMs } = await timeRelayer(deps, devnet, {
      ...work,
      folder: `waiting-${messages}`,
      countArrived: async () => await work.countArrived() - before,
    });
    arrived += messages;
    found.push({ messages, ms: cpuMs / messages });
  }
  return found;
}

async function measureRows(deps: BenchDeps, { rows }: Extent): Promise<ScaleResult["ledger"]> {
  const path = `${deps.folder}/large.db`;
  await Deno.mkdir(deps.folder, { recursive: true });
  const { bytes, openMs, queries } = measureLedger(path, {
    rows,
    chains: spareChains(LEDGER_CHAINS),
    hub: parseStateMachine("KUSAMA-4009"),
    nowMs: Date.now(),
  });
  for (const { name, p50Ms, p95Ms } of queries) {
    deps.say(`   ${rows} rows: p50 ${p50Ms.toFixed(2)}, p95 ${p95Ms.toFixed(2)} ms: ${name}`);
  }
  return { rows, megabytes: bytes / 1e6, openMs, queries };
}

/** Where figures and plots of the documents are. */
const PLOTS = `${REPOSITORY}/docs/performance`;

async function writePlots(deps: BenchDeps, result: ScaleResult): Promise<void> {
  await Deno.mkdir(PLOTS, { recursive: true });
  await Deno.writeTextFile(`${PLOTS}/scale.json`, `${JSON.stringify(result, null, 2)}\n`);
  for (const [name, svg] of drawScale(result)) await Deno.writeTextFile(`${PLOTS}/${name}.svg`, svg);
  deps.say(`   written: ${PLOTS}`);
}
