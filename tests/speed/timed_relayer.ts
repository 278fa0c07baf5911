/** A relayer that finds messages waiting, timed until all of them have arrived. */
import { type Devnet, type DevnetChain } from "../../devnet/devnet.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { type ConfigChanges, relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import type { BenchDeps } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { HUB_MODULE, instantly, sendFromHub } from "./stage.ts";

/** Time between two polls whether everything arrived. */
export const LOOK_EVERY_MS = 100;

/** Messages that wait for a relayer. */
interface WaitingMessages {
  readonly config: ConfigChanges;
  readonly leg: string;
  readonly count: number;
  readonly countArrived: () => Promise<number>;
}

/** Has the hub send messages to a chain, which learns of their block; they wait there for a relayer. */
export async function sendWaiting(devnet: Devnet, to: DevnetChain, count: number): Promise<WaitingMessages> {
  const hub = devnet.hub.identity.stateMachine;
  const start = devnet.hub.finalized.number;
  await sendFromHub(devnet, to, count);
  await instantly(to, () => devnet.oracle.step({ from: hub, to: to.stateMachine }));
  return {
    config: {
      without: devnet.chains.filter((chain) => chain !== to).map(({ stateMachine }) => stateMachine),
      moduleFilter: [HUB_MODULE],
      sections: { hub: { initial_height: start } },
    },
    leg: `${hub} -> ${to.stateMachine}`,
    count,
    countArrived: async () => Number(await countReceived(to.host)),
  };
}

/** What a relayer took from the start of the leg until everything arrived. */
export interface TimedRun {
  readonly ms: number;
  readonly firstSentMs: number;
  readonly cpuMs: number;
}

/** What a relayer is timed at. */
interface TimedWork extends WaitingMessages {
  readonly folder: string;
}

/** Starts a relayer that finds everything waiting. */
export async function timeRelayer(
  { executable, folder, say }: BenchDeps,
  devnet: Devnet,
  work: TimedWork,
): Promise<TimedRun> {
  await using relayer = await startRelayer({
    executable,
    folder: `${folder}/${work.folder}`,
    config: relayerConfig(devnet.endpoints, work.config),
    logLevel: "info",
  });
  const { atMs } = await relayer.waitForLine(({ record }) =>
    record?.event === "leg_started" && record.leg === work.leg
  );
  const cpuBeforeMs = readCpuMs(relayer.pid);
  const haveArrived = async (): Promise<boolean> => await work.countArrived() >= work.count;
  await waitUntil(work.leg, haveArrived, { everyMs: LOOK_EVERY_MS });
  const [ms, cpuMs] = [Date.now() - atMs, readCpuMs(relayer.pid) - cpuBeforeMs];
  const sent = relayer.lines.filter(({ record }) => record?.event === "batch_sent");
  for (const line of sent) {
    say(`   ${line.atMs - atMs} ms: ${line.record?.messages} messages sent (${work.leg})`);
  }
  await relayer.terminate();
  return { ms, cpuMs, firstSentMs: (sent[0]?.atMs ?? NaN) - atMs };
}
