/**
 * What a relayer asks while nothing happens: two EVM chains and the hub, everything switched on, each chain polled once
 * a second.
 */
import { startDevnet } from "../../devnet/devnet.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { pause } from "../../devnet/waiting.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import { countCalls, linesOf } from "./call_counts.ts";
import { clearAll, openProxies, untilQuiet } from "./crossing.ts";
import { measureFloor } from "./idle_floor.ts";
import type { Part } from "./part.ts";
import { readCpuMs, readMemoryMb } from "./process_usage.ts";
import { atMost } from "./report.ts";
import { updateAll } from "./stage.ts";

const WINDOW_MS = 10_000;
const MAX_REQUESTS = 10;
const MAX_CALLS = 10;
/** The hub makes 20 blocks in that time: a view of all chains and the events of final blocks, each polled ten times. */
const MAX_HUB_CALLS = 30;
const MAX_CPU_MS = 150;
const MAX_RESIDENT_MB = 90;
/** Time in which a process comes to rest after its start. */
const REST_MS = 5_000;

/** See the head of the file. */
export const idle: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  await using stack = new AsyncDisposableStack();
  const proxies = await openProxies(devnet, 1, stack);
  await updateAll(devnet);
  const relayer = stack.use(
    await startRelayer({
      executable: deps.executable,
      folder: deps.folder,
      config: relayerConfig(devnet.endpoints, {
        rpcUrls: Object.fromEntries(
          [...proxies.chains].map(([chain, some]) => [chain, some.map(({ httpUrl }) => httpUrl)]),
        ),
        hubUrl: proxies.hub.wsUrl,
      }),
    }),
  );
  const legs = new Set<unknown>();
  await relayer.waitForLine(({ record }) => {
    if (record?.event === "leg_started") legs.add(record.leg);
    return legs.size === 4;
  });
  await pause(REST_MS);
  await untilQuiet(proxies);
  clearAll(proxies);
  const cpuMs = readCpuMs(relayer.pid);
  await pause(WINDOW_MS);
  const usedMs = readCpuMs(relayer.pid) - cpuMs;
  const chains = devnet.chains.map(({ name, stateMachine }) =>
    [name, countCalls((proxies.chains.get(stateMachine) ?? []).flatMap(({ requests }) => requests))] as const
  );
  const hub = countCalls(proxies.hub.requests);
  for (const [name, counts] of [...chains, ["the hub", hub] as const]) {
    linesOf(name, counts).forEach(deps.say);
  }
  const residentMb = readMemoryMb(relayer.pid, "VmRSS");
  await relayer.terminate();
  const floor = await measureFloor(deps.folder, {
    hubUrl: proxies.hub.wsUrl,
    chainUrls: [...proxies.chains.values()].flatMap((some) => some.map(({ httpUrl }) => httpUrl)),
    restMs: REST_MS,
    windowMs: WINDOW_MS,
  });
  const plain = (value: number): string => `${value}`;
  return [
    ...chains.flatMap(([name, { requests, calls }]) => [
      atMost(`idle 10 s: requests to chain ${name}`, requests, MAX_REQUESTS, plain),
      atMost(`idle 10 s: calls to chain ${name}`, calls, MAX_CALLS, plain),
    ]),
    { name: "idle 10 s: messages to the hub", value: plain(hub.requests) },
    atMost("idle 10 s: calls to the hub", hub.calls, MAX_HUB_CALLS, plain),
    atMost("idle 10 s: processor time", usedMs, MAX_CPU_MS, (ms) => `${ms.toFixed(0)} ms`),
    {
      name: "idle 10 s: processor time of a program with these requests and blocks alone",
      value: `${floor.cpuMs.toFixed(0)} ms`,
    },
    atMost("idle: resident", residentMb, MAX_RESIDENT_MB, (mb) => `${mb.toFixed(0)} MB`),
    { name: "idle: resident, that program", value: `${floor.residentMb.toFixed(0)} MB` },
  ];
};
