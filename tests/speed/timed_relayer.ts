/** A relayer that finds messages waiting, timed until all of them have arrived. */
import { type Devnet, type DevnetChain } from "../../devnet/devnet.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { type ConfigChanges, relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import type { BenchDeps } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { HUB_MODULE, instantly, sendFromHub } from "./stage.ts";

/** Time between two polls whether everything arrived. */
export const LOOK_EVERY_MS = 100;

/** Messages that wait for a relayer. */
export interface WaitingMessages {
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
  /** Until the first half had arrived: others may be about, so the first transactions go one by one. */
  readonly halfMs: number;
  readonly cpuMs: number;
}

/** What a relayer is timed at. */
interface TimedWork extends WaitingMessages {
  readonly folder: string;
  readonly extraArguments?: readonly string[];
  /** Begins beside the relayer once the leg has started; ends when everything has arrived. */
  readonly beside?: (relayer: RelayerProcess) => AsyncDisposable;
}

/** Starts a relayer that finds everything waiting. */
export async function timeRelayer(
  deps: BenchDeps,
  devnet: Devnet,
  work: TimedWork,
): Promise<TimedRun> {
  await using relayer = await startRelayer({
    executable: deps.executable,
    folder: `${deps.folder}/${work.folder}`,
    config: relayerConfig(devnet.endpoints, work.config),
    logLevel: "info",
    ...work.extraArguments && { extraArguments: work.extraArguments },
  });
  const { atMs } = await relayer.waitForLine(({ record }) =>
    record?.event === "leg_started" && record.leg === work.leg
  );
  const run = await timeArrival(relayer, work, atMs);
  for (const { record, atMs: lineMs } of relayer.lines) {
    if (record?.event === "batch_sent") {
      deps.say(`   ${lineMs - atMs} ms: ${record.messages} messages sent (${work.leg})`);
    }
  }
  await relayer.terminate();
  return run;
}

async function timeArrival(
  relayer: RelayerProcess,
  { leg, count, countArrived, beside }: TimedWork,
  startMs: number,
): Promise<TimedRun> {
  const cpuBeforeMs = readCpuMs(relayer.pid);
  await using _beside = beside?.(relayer);
  const until = (share: number): Promise<void> =>
    waitUntil(leg, async () => await countArrived() >= count * share, {
      deadlineMs: DEADLINE_MS,
      everyMs: LOOK_EVERY_MS,
    });
  await until(0.5);
  const halfMs = Date.now() - startMs;
  await until(1);
  return { ms: Date.now() - startMs, halfMs, cpuMs: readCpuMs(relayer.pid) - cpuBeforeMs };
}
