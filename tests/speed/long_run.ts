/**
 * Ten thousand messages through one pair, wave by wave: memory over time, processor time and disk of a message, and how
 * long a relayer that was killed takes to be at work again.
 */
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { type ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs, readMemoryMb, readResidentMb } from "./process_usage.ts";
import { type Figure, figure, type Reading, slopeOf } from "./report.ts";
import { HUB_MODULE, instantly, sendFromHub, updateAll } from "./stage.ts";
import { startSubject } from "./subject.ts";

/** Waves, and those of them in which buffers and caches grow to their size. */
const WAVES = 10;
const WARM_UP_WAVES = 4;
const MESSAGES_OF_WAVE = 1_000;
/** What an hour of a busy pair is taken to be: the run is as much faster as it carries more. */
const MESSAGES_OF_HOUR = 1_000;
const MAX_SLOPE_MB = 1;
const MAX_CPU_MS = 1.5;
const MAX_RESIDENT_MB = 115;
const LOOK_EVERY_MS = 250;

/** See the head of the file. */
export const longRun: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  await updateAll(devnet);
  const changes: ConfigChanges = { without: [a.stateMachine], moduleFilter: [HUB_MODULE] };
  const sections = { hub: { initial_height: devnet.hub.finalized.number } };
  await using relayer = await startSubject(deps, devnet.endpoints, {
    changes: { ...changes, sections },
    legs: 2,
  });
  const readings: Reading[] = [];
  const cpuMs: number[] = [];
  let firstMb: readonly number[] = [];
  for (let wave = 0; wave < WAVES; wave++) {
    const beforeMs = readCpuMs(relayer.pid);
    await sendWave(devnet, b);
    await untilArrived(b, (wave + 1) * MESSAGES_OF_WAVE, (count) => {
      if (wave >= WARM_UP_WAVES) readings.push({ at: count, value: readMemoryMb(relayer.pid, "VmRSS") });
    });
    if (wave >= WARM_UP_WAVES) cpuMs.push((readCpuMs(relayer.pid) - beforeMs) / MESSAGES_OF_WAVE);
    if (wave === 0) firstMb = await readResidentMb(relayer.pid);
  }
  const total = WAVES * MESSAGES_OF_WAVE;
  const bytes = (await Deno.stat(relayer.dbPath)).size / total;
  const figures = [
    figure(`resident after ${MESSAGES_OF_WAVE} messages`, "MB", firstMb, { most: MAX_RESIDENT_MB }),
    figure("highest until all have arrived", "MB", readMemoryMb(relayer.pid, "VmHWM")),
    figure(
      `memory slope at ${MESSAGES_OF_HOUR} messages an hour`,
      "MB/h",
      slopeOf(readings) * MESSAGES_OF_HOUR,
      {
        most: MAX_SLOPE_MB,
      },
    ),
    figure(`${total} messages, hub -> B: processor time of a message`, "ms", cpuMs, { most: MAX_CPU_MS }),
    figure(`${total} messages, hub -> B: database, a message`, "KB", bytes / 1000),
  ];
  const since = relayer.lines.length;
  await sendWave(devnet, b);
  await relayer.waitForLine("batch_sent", { since });
  await relayer.kill();
  return [...figures, ...await recovery(deps, devnet, changes, total)];
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
  }, { everyMs: LOOK_EVERY_MS });
}

/** Starts the relayer on the database that it was killed beside, in the middle of a wave. */
async function recovery(
  deps: BenchDeps,
  devnet: Devnet,
  changes: ConfigChanges,
  total: number,
): Promise<readonly Figure[]> {
  const startMs = Date.now();
  await using successor = await startSubject(deps, devnet.endpoints, { changes, legs: 2 });
  const legs = await successor.waitForLine("leg_started");
  const sent = await successor.waitForLine("batch_sent");
  await untilArrived(devnet.chain("B"), total + MESSAGES_OF_WAVE, () => undefined);
  const doneMs = Date.now();
  await successor.terminate();
  const since = (what: string, atMs: number): Figure =>
    figure(`kill -9 with ${total} rows, start to ${what}`, "s", (atMs - startMs) / 1000);
  return [
    since("legs", legs.atMs),
    since("the next batch", sent.atMs),
    since(`all of ${MESSAGES_OF_WAVE} delivered`, doneMs),
  ];
}
