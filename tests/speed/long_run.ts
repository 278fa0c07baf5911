/**
 * Ten thousand messages through one pair, wave by wave: memory over time, processor time of a message, and how long
 * a relayer that was killed takes to be at work again.
 */
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { type ConfigChanges, relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs, readMemoryMb } from "./process_usage.ts";
import { atMost, type Measure } from "./report.ts";
import { type Reading, slopeOf } from "./slope.ts";
import { HUB_MODULE, instantly, sendFromHub, updateAll } from "./stage.ts";

const WAVES = 10;
const MESSAGES_OF_WAVE = 1_000;
/** Waves in which buffers and caches grow to their size. */
const WARM_UP_WAVES = 4;
/** What an hour of a busy pair is taken to be: the run is as much faster as it carries more. */
const MESSAGES_OF_HOUR = 1_000;
const MAX_SLOPE_MB = 1;
const MAX_CPU_MS = 1.5;
const LOOK_EVERY_MS = 250;

/** See the head of the file. */
export const longRun: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  await updateAll(devnet);
  const changes: ConfigChanges = { without: [a.stateMachine], moduleFilter: [HUB_MODULE] };
  const start = { sections: { hub: { initial_height: devnet.hub.finalized.number } } };
  const options = {
    executable: deps.executable,
    folder: deps.folder,
    config: relayerConfig(devnet.endpoints, changes),
    logLevel: "info",
  } as const;
  await using relayer = await startRelayer({
    ...options,
    config: relayerConfig(devnet.endpoints, { ...changes, ...start }),
  });
  await relayer.waitForLine(({ record }) => record?.event === "leg_started");
  const readings: Reading[] = [];
  let cpuMs = 0;
  for (let wave = 0; wave < WAVES; wave++) {
    if (wave === WARM_UP_WAVES) cpuMs = readCpuMs(relayer.pid);
    await sendWave(devnet, b);
    await untilArrived(b, (wave + 1) * MESSAGES_OF_WAVE, (count) => {
      if (wave >= WARM_UP_WAVES) readings.push({ at: count, value: readMemoryMb(relayer.pid, "VmRSS") });
    });
    deps.say(`   wave ${wave + 1}: ${readMemoryMb(relayer.pid, "VmRSS").toFixed(0)} MB`);
  }
  const measured = (WAVES - WARM_UP_WAVES) * MESSAGES_OF_WAVE;
  const cpuPerMessage = (readCpuMs(relayer.pid) - cpuMs) / measured;
  const slopeMb = slopeOf(readings) * MESSAGES_OF_HOUR;
  const total = WAVES * MESSAGES_OF_WAVE;
  return [
    atMost(
      `${total} messages, hub -> B: processor time of a message`,
      cpuPerMessage,
      MAX_CPU_MS,
      (ms) => `${ms.toFixed(2)} ms`,
    ),
    {
      name: `${total} messages, hub -> B: memory at the end; highest`,
      value: `${readMemoryMb(relayer.pid, "VmRSS").toFixed(0)} MB; ${
        readMemoryMb(relayer.pid, "VmHWM").toFixed(0)
      } MB`,
    },
    atMost(
      `memory slope after ${WARM_UP_WAVES * MESSAGES_OF_WAVE} messages, at ${MESSAGES_OF_HOUR} an hour`,
      slopeMb,
      MAX_SLOPE_MB,
      (mb) => `${mb.toFixed(2)} MB/h`,
    ),
    ...await recovery(deps, { devnet, b, relayer, options, total }),
  ];
};

async function sendWave(devnet: Devnet, b: DevnetChain): Promise<void> {
  await sendFromHub(devnet, b, MESSAGES_OF_WAVE);
  const direction = { from: devnet.hub.identity.stateMachine, to: b.stateMachine };
  await instantly(b, () => devnet.oracle.step(direction));
}

async function untilArrived(b: DevnetChain, goal: number, onPoll: (count: number) => void): Promise<void> {
  await waitUntil(`${goal} messages`, async () => {
    const count = Number(await countReceived(b.host));
    onPoll(count);
    return count >= goal;
  }, { deadlineMs: DEADLINE_MS, everyMs: LOOK_EVERY_MS });
}

/** Kills the relayer in the middle of a wave and starts it again on the same database. */
async function recovery(
  deps: BenchDeps,
  work: {
    readonly devnet: Devnet;
    readonly b: DevnetChain;
    readonly relayer: RelayerProcess;
    readonly options: Parameters<typeof startRelayer>[0];
    readonly total: number;
  },
): Promise<readonly Measure[]> {
  const { devnet, b, relayer, options, total } = work;
  const sentBefore = relayer.lines.length;
  await sendWave(devnet, b);
  await waitUntil(
    "work under way",
    () => relayer.lines.slice(sentBefore).some(({ record }) => record?.event === "batch_sent"),
    { everyMs: 5 },
  );
  await relayer.kill();
  const startMs = Date.now();
  await using successor = await startRelayer(options);
  const legs = await successor.waitForLine(({ record }) => record?.event === "leg_started");
  const sent = await successor.waitForLine(({ record }) => record?.event === "batch_sent");
  await untilArrived(b, total + MESSAGES_OF_WAVE, () => undefined);
  const doneMs = Date.now() - startMs;
  await successor.terminate();
  const sec = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  deps.say(`   after kill -9: legs ${sec(legs.atMs - startMs)}, sent ${sec(sent.atMs - startMs)}`);
  return [{
    name:
      `kill -9 with ${total} rows: start to legs; to the next batch; to all of ${MESSAGES_OF_WAVE} delivered`,
    value: `${sec(legs.atMs - startMs)}; ${sec(sent.atMs - startMs)}; ${sec(doneMs)}`,
  }];
}
