/**
 * Messages dispatched at once, from one chain through the hub to another, with proofs that follow by themselves: calls
 * to each endpoint, time and processor time until the last is delivered. What is polled meanwhile counts as well.
 */
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { sendPing, waitForDelivery } from "../../devnet/traffic/messages.ts";
import type { Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { type Aim, type Figure, figuresOf } from "./report.ts";
import { instantly } from "./stage.ts";
import { linesOf, openProxies, type Proxies, startSubject, trafficOf } from "./subject.ts";

/** What is dispatched how often. */
interface Burst {
  readonly count: number;
  readonly urls: number;
  readonly rounds: number;
}

const BURSTS: readonly Burst[] = [
  { count: 1, urls: 1, rounds: 3 },
  { count: 100, urls: 1, rounds: 3 },
  { count: 1_000, urls: 1, rounds: 2 },
  { count: 100, urls: 3, rounds: 2 },
];
/** Of all endpoints, for each message. */
const MAX_REQUESTS: Readonly<Record<number, number>> = { 100: 2, 1_000: 0.6 };
const MAX_CPU_MS: Readonly<Record<number, number>> = { 1: 180, 100: 400 };

/** See the head of the file. */
export const requests: Part = async (deps) => {
  await using devnet = await startDevnet();
  const figures: Figure[] = [];
  for (const urls of [1, 3]) {
    await using stack = new AsyncDisposableStack();
    const proxies = await openProxies(devnet.endpoints, {
      urls,
      keepsAnswersOf: devnet.chains.map(({ stateMachine }) => stateMachine),
    }, stack);
    const changes = { ...proxies.changes, disableFeeAccumulation: true };
    const relayer = stack.use(
      await startSubject(deps, devnet.endpoints, { folder: `urls-${urls}`, changes, legs: 4 }),
    );
    // What is read once in the life of a process is none of a delivery's cost.
    await measureBurst(devnet, proxies, relayer.pid, 1);
    for (const { count, rounds } of BURSTS.filter((burst) => burst.urls === urls)) {
      const measured: BurstCost[] = [];
      while (measured.length < rounds) {
        measured.push(await measureBurst(devnet, proxies, relayer.pid, count));
      }
      linesOf("the hub", proxies.hub.requests).forEach(deps.say);
      for (const { name, stateMachine } of devnet.chains) {
        linesOf(`chain ${name}`, proxies.requestsOf(stateMachine)).forEach(deps.say);
      }
      figures.push(...burstFigures(`${count} messages, ${urls} URLs`, count, measured));
    }
    await relayer.terminate();
  }
  return figures;
};

type BurstValue =
  | "firstSec"
  | "lastSec"
  | "cpuMs"
  | "requests"
  | "sourceCalls"
  | "targetCalls"
  | "hubCalls"
  | "sourceKb"
  | "targetKb"
  | "hubKb";

type BurstCost = Readonly<Record<BurstValue, number>>;

async function measureBurst(
  devnet: Devnet,
  proxies: Proxies,
  pid: number,
  count: number,
): Promise<BurstCost> {
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  proxies.clear();
  const cpuMs = readCpuMs(pid);
  const sent = await instantly(a, () => sendPing(devnet, { from: "A", to: "B", count }));
  const startMs = Date.now();
  let firstMs: number | undefined;
  await waitForDelivery(devnet, sent, {
    everyMs: 100,
    onDelivered: ({ length }) => {
      if (length > 0) firstMs ??= Date.now() - startMs;
    },
  });
  const [source, target, hub] = [proxies.requestsOf(a.stateMachine), proxies.requestsOf(b.stateMachine)]
    .concat([proxies.hub.requests]).map(trafficOf);
  if (source === undefined || target === undefined || hub === undefined) throw new Error("No requests");
  return {
    firstSec: (firstMs ?? NaN) / 1000,
    lastSec: (Date.now() - startMs) / 1000,
    cpuMs: readCpuMs(pid) - cpuMs,
    requests: (source.requests + target.requests + hub.requests) / count,
    sourceCalls: source.calls,
    targetCalls: target.calls,
    hubCalls: hub.calls,
    sourceKb: source.bytes / 1000,
    targetKb: target.bytes / 1000,
    hubKb: hub.bytes / 1000,
  };
}

function burstFigures(name: string, count: number, rounds: readonly BurstCost[]): readonly Figure[] {
  const aim = (most: number | undefined): Aim | undefined => most === undefined ? undefined : { most };
  return figuresOf(rounds, [
    ["firstSec", `${name}: dispatch to the first delivery`, "s"],
    ["lastSec", `${name}: dispatch to the last delivery`, "s"],
    ["cpuMs", `${name}: processor time until then`, "ms", aim(MAX_CPU_MS[count])],
    ["requests", `${name}: requests a message`, "", aim(MAX_REQUESTS[count])],
    ["sourceCalls", `${name}: calls to the source`, ""],
    ["targetCalls", `${name}: calls to the target`, ""],
    ["hubCalls", `${name}: calls to the hub`, ""],
    ["sourceKb", `${name}: calls and answers of the source`, "KB"],
    ["targetKb", `${name}: calls and answers of the target`, "KB"],
    ["hubKb", `${name}: calls and answers of the hub`, "KB"],
  ]);
}
