/** What a relayer asks and takes while nothing happens, everything switched on: EVM chains and the hub. */
import { startDevnet } from "../../devnet/devnet.ts";
import { type DevnetEndpoints } from "../../devnet/programs/relayer_config.ts";
import { pause } from "../../devnet/waiting.ts";
import { startIdleChains } from "./idle_chains.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs, readResidentMb } from "./process_usage.ts";
import { type Figure, figure, figuresOf } from "./report.ts";
import { updateAll } from "./stage.ts";
import { linesOf, openProxies, type Proxies, startSubject, trafficOf } from "./subject.ts";

/** A `poll_interval` that is measured with so many chains, and the windows in which requests are counted. */
interface Interval {
  readonly sec: number;
  readonly chains: number;
  readonly ticks: number;
  readonly windows: number;
}

/** A second, as all other parts have it; and the default with as many chains as there are mainnets. */
const INTERVALS: readonly Interval[] = [
  { sec: 1, chains: 2, ticks: 10, windows: 3 },
  { sec: 10, chains: 9, ticks: 5, windows: 2 },
];
/** Of a core: what 150 ms in ten seconds are. */
const MAX_CPU_PERCENT = 1.5;
const MAX_RESIDENT_MB = 95;
/** Ticks in which a process comes to rest after its start. */
const REST_TICKS = 6;
const REST_MS = 5_000;

/** See the head of the file. */
export const idle: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  await using stack = new AsyncDisposableStack();
  await updateAll(devnet);
  const own = devnet.endpoints.chains;
  const most = Math.max(...INTERVALS.map(({ chains }) => chains));
  const all = [...own, ...await startIdleChains(devnet.hub, most - own.length, stack)];
  const figures: Figure[] = [];
  for (const interval of INTERVALS) {
    const endpoints = { ...devnet.endpoints, chains: all.slice(0, interval.chains) };
    figures.push(...await measureInterval(deps, endpoints, interval));
  }
  return figures;
};

async function measureInterval(
  deps: BenchDeps,
  endpoints: DevnetEndpoints,
  { sec, chains, ticks, windows }: Interval,
): Promise<readonly Figure[]> {
  await using stack = new AsyncDisposableStack();
  const keepsAnswersOf = endpoints.chains.map(({ stateMachine }) => stateMachine);
  const proxies = await openProxies(endpoints, { keepsAnswersOf }, stack);
  const relayer = stack.use(
    await startSubject(deps, endpoints, {
      folder: `every-${sec}`,
      changes: { ...proxies.changes, pollIntervalSec: sec },
      legs: 2 * chains,
    }),
  );
  await pause(REST_MS + REST_TICKS * sec * 1000);
  const rounds: WindowCost[] = [];
  while (rounds.length < windows) {
    rounds.push(await measureWindow(endpoints, proxies, relayer.pid, { sec, ticks }));
  }
  linesOf("the hub", proxies.hub.requests).forEach(deps.say);
  const residentMb = await readResidentMb(relayer.pid);
  await relayer.terminate();
  const name = `idle, ${chains} chains, poll_interval ${sec}`;
  return [
    ...figuresOf(rounds, [
      ["requests", `${name}: requests of a chain and tick`, "", { most: 1 }],
      ["calls", `${name}: calls of a chain and tick`, "", { most: 1 }],
      ["bytes", `${name}: calls and answers of a chain and tick`, "B"],
      ["hubCalls", `${name}: calls to the hub, a second`, ""],
      ["hubBytes", `${name}: calls and answers of the hub, a second`, "B"],
      ["cpuPercent", `${name}: processor time, of a core`, "%", { most: MAX_CPU_PERCENT }],
    ]),
    figure(`${name}: resident`, "MB", residentMb, { most: MAX_RESIDENT_MB }),
  ];
}

/** What a relayer asks and takes in a window in which nothing happens; bytes and calls of a chain and tick. */
export type WindowCost = Readonly<
  Record<"requests" | "calls" | "bytes" | "hubCalls" | "hubBytes" | "cpuPercent", number>
>;

/** Measures a window. @param chains those whose requests count */
export async function measureWindow(
  { chains }: { readonly chains: readonly { readonly stateMachine: string }[] },
  proxies: Proxies,
  pid: number,
  { sec, ticks }: Pick<Interval, "sec" | "ticks">,
): Promise<WindowCost> {
  const windowSec = sec * ticks;
  proxies.clear();
  const cpuMs = readCpuMs(pid);
  await pause(windowSec * 1000);
  const usedMs = readCpuMs(pid) - cpuMs;
  const hub = trafficOf(proxies.hub.requests);
  const all = trafficOf(chains.flatMap(({ stateMachine }) => proxies.requestsOf(stateMachine)));
  const chainTicks = ticks * chains.length;
  return {
    requests: all.requests / chainTicks,
    calls: all.calls / chainTicks,
    bytes: all.bytes / chainTicks,
    hubCalls: hub.calls / windowSec,
    hubBytes: hub.bytes / windowSec,
    cpuPercent: usedMs / windowSec / 10,
  };
}
