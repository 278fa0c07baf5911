/**
 * Resident memory of the relayer: with nothing to do, and with 10,000 messages that it knows and cannot deliver,
 * because the receiving host is frozen. Each reading is of a process of its own on the same devnet.
 */
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { freezeHost } from "../../devnet/evm/host_admin.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { type ConfigChanges, relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { readLedger } from "../scenario/support/ledger_reader.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readMemoryMb } from "./process_usage.ts";
import { atMost, median } from "./report.ts";
import { HUB_MODULE, instantly, sendFromHub, updateAll } from "./stage.ts";

const PENDING = 10_000;
const MAX_MB = 32;
/** Time in which a process comes to rest, then readings. */
const REST_MS = 4_000;
const READINGS = 9;
const READ_EVERY_MS = 400;

interface Resident {
  /** Median of the readings, MiB. */
  readonly mb: number;
  /** Highest since the process began, MiB. */
  readonly peakMb: number;
}

/** See the head of the file. */
export const memory: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const direction = { from: devnet.hub.identity.stateMachine, to: b.stateMachine };
  const config: ConfigChanges = { without: [a.stateMachine], moduleFilter: [HUB_MODULE] };
  await updateAll(devnet);
  const start = { sections: { hub: { initial_height: devnet.hub.finalized.number } } };
  const idle = await residentOf(deps, devnet, { folder: "idle", config: { ...config, ...start }, rows: 0 });
  await sendFromHub(devnet, b, PENDING);
  await instantly(b, () => devnet.oracle.step(direction));
  await freezeHost(b.host, "incoming");
  const work = { folder: "pending", rows: PENDING };
  const found = await residentOf(deps, devnet, { ...work, config: { ...config, ...start } });
  const known = await residentOf(deps, devnet, { ...work, config });
  return [
    { name: "resident memory, idle; highest", value: `${show(idle.mb)}; ${show(idle.peakMb)}` },
    {
      name: `resident memory after finding ${PENDING} messages; highest`,
      value: `${show(found.mb)}; ${show(found.peakMb)}`,
    },
    {
      name: `resident memory after a restart with ${PENDING}; highest`,
      value: `${show(known.mb)}; ${show(known.peakMb)}`,
    },
    atMost(`memory for ${PENDING} pending, just found`, found.mb - idle.mb, MAX_MB, show),
    atMost(`memory for ${PENDING} pending, after a restart`, known.mb - idle.mb, MAX_MB, show),
  ];
};

function show(mb: number): string {
  return `${mb.toFixed(0)} MB`;
}

/** Starts a relayer, waits until its database has `rows` messages and it is at rest, and reads its memory. */
async function residentOf(
  deps: BenchDeps,
  devnet: Devnet,
  work: { readonly folder: string; readonly config: ConfigChanges; readonly rows: number },
): Promise<Resident> {
  await using relayer = await startRelayer({
    executable: deps.executable,
    folder: `${deps.folder}/${work.folder}`,
    config: relayerConfig(devnet.endpoints, work.config),
    logLevel: "info",
  });
  await relayer.waitForLine(({ record }) => record?.event === "leg_started");
  await waitUntil(`${work.rows} rows`, async () => {
    return (await readLedger(relayer.dbPath)).messages.length >= work.rows;
  }, { everyMs: 500 });
  await pause(REST_MS);
  const readings: number[] = [];
  for (let reading = 0; reading < READINGS; reading++) {
    readings.push(readMemoryMb(relayer.pid, "VmRSS"));
    await pause(READ_EVERY_MS);
  }
  const resident = { mb: median(readings), peakMb: readMemoryMb(relayer.pid, "VmHWM") };
  await relayer.terminate();
  return resident;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
