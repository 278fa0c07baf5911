/**
 * Resident memory of the relayer with 10,000 messages that it knows and cannot deliver, because the receiving host is
 * frozen, above that with nothing to do. Each reading is of a process of its own on the same devnet.
 */
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { freezeHost } from "../../devnet/evm/host_admin.ts";
import { type ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { pause } from "../../devnet/waiting.ts";
import { readLedger } from "../scenario/support/ledger_reader.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readMemoryMb, readResidentMb } from "./process_usage.ts";
import { figure, median } from "./report.ts";
import { HUB_MODULE, instantly, sendFromHub, updateAll } from "./stage.ts";
import { startSubject } from "./subject.ts";

const MAX_MB = 32;
/** Time in which a process comes to rest. */
const REST_MS = 4_000;

/** See the head of the file. */
export const memory: Part = async (deps) => {
  const pending = deps.isSmall ? 1_000 : 10_000;
  await using devnet = await startDevnet({ startsOracle: false, hubBlockTimeMs: 500 });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const known: ConfigChanges = { without: [a.stateMachine], moduleFilter: [HUB_MODULE] };
  await updateAll(devnet);
  const fresh = { ...known, sections: { hub: { initial_height: devnet.hub.finalized.number } } };
  const idle = await residentOf(deps, devnet, { folder: "idle", changes: fresh, rows: 0 });
  await sendFromHub(devnet, b, pending);
  const direction = { from: devnet.hub.identity.stateMachine, to: b.stateMachine };
  await instantly(b, () => devnet.oracle.step(direction));
  await freezeHost(b.host, "incoming");
  const work = { folder: "pending", rows: pending };
  const found = await residentOf(deps, devnet, { ...work, changes: fresh });
  const restarted = await residentOf(deps, devnet, { ...work, changes: known });
  const above = (readings: readonly number[]): readonly number[] =>
    readings.map((mb) => mb - median(idle.mb));
  return [
    figure("memory, idle", "MB", idle.mb),
    figure(`memory for ${pending} pending, just found`, "MB", above(found.mb), { most: MAX_MB }),
    figure(`memory for ${pending} pending, just found, highest`, "MB", found.peakMb - median(idle.mb)),
    figure(`memory for ${pending} pending, after a restart`, "MB", above(restarted.mb), { most: MAX_MB }),
  ];
};

/** Starts a relayer, waits until its database has `rows` messages and it is at rest, and reads its memory. */
async function residentOf(
  deps: BenchDeps,
  { endpoints }: Devnet,
  { folder, changes, rows }: {
    readonly folder: string;
    readonly changes: ConfigChanges;
    readonly rows: number;
  },
): Promise<{ readonly mb: readonly number[]; readonly peakMb: number }> {
  await using relayer = await startSubject(deps, endpoints, { folder, changes, legs: 2 });
  const areFound = async (): Promise<boolean> => (await readLedger(relayer.dbPath)).messages.length >= rows;
  await waitUntil(`${rows} rows`, areFound, { everyMs: 500 });
  await pause(REST_MS);
  const mb = await readResidentMb(relayer.pid);
  const peakMb = readMemoryMb(relayer.pid, "VmHWM");
  await relayer.terminate();
  return { mb, peakMb };
}
