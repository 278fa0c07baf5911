/**
 * Messages per second of one pair with many of them waiting, beside a bare sender that has the same batches ready
 * and only signs, sends and waits. Blocks of all chains come once a second.
 */
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { type ConfigChanges, relayerConfig, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import { deliveriesSince, prepareForHub, sendBare, submitAll } from "./bare_senders.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { type Figure, figuresOf } from "./report.ts";
import { HUB_MODULE, instantly, sendFromHub, updateAll } from "./stage.ts";

const TO_CHAIN = 2_000;
const TO_HUB = 1_000;
const ROUNDS = 3;
const MIN_RATIO_TO_CHAIN = 0.93;
const MIN_RATIO_TO_HUB = 0.75;
const MAX_CPU_MS = 0.8;
/** Time between two polls whether everything arrived. */
const LOOK_EVERY_MS = 100;

/** What one round took. */
interface Round {
  readonly run: TimedRun;
  readonly bareMs: number;
}

/** See the head of the file. */
export const throughput: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false });
  await updateAll(devnet);
  const [toChain, toHub]: [Round[], Round[]] = [[], []];
  while (toChain.length < ROUNDS) {
    toChain.push(await roundToChain(deps, devnet, `to-chain-${toChain.length}`));
  }
  while (toHub.length < ROUNDS) toHub.push(await roundToHub(deps, devnet, `to-hub-${toHub.length}`));
  return [
    ...roundFigures(`hub -> B, ${TO_CHAIN} waiting`, TO_CHAIN, MIN_RATIO_TO_CHAIN, toChain),
    ...roundFigures(`A -> hub, ${TO_HUB} waiting`, TO_HUB, MIN_RATIO_TO_HUB, toHub),
  ];
};

/**
 * From the hub to B: the bare sender gets the relayer's own transactions, on the chain as it was before them. A relayer
 * that is new to a chain sends its first transaction alone, since others may be about: that is of an earlier process.
 */
async function roundToChain(deps: BenchDeps, devnet: Devnet, folder: string): Promise<Round> {
  const b = devnet.chain("B");
  await timeRelayer(deps, devnet, { folder, ...await sendWaiting(devnet, b, 1) });
  const waiting = await sendWaiting(devnet, b, TO_CHAIN);
  const before = await b.host.reader.getBlockNumber();
  const snapshot = await b.host.node.snapshot();
  const arrivedBefore = await waiting.countArrived();
  const countArrived = async (): Promise<number> => await waiting.countArrived() - arrivedBefore;
  const run = await timeRelayer(deps, devnet, { folder, ...waiting, countArrived });
  const deliveries = await deliveriesSince(b, before);
  await b.host.node.revert({ id: snapshot });
  const bareMs = await sendBare(b, deliveries);
  if (await countArrived() !== TO_CHAIN) throw new Error("The bare sender left messages undelivered");
  return { run, bareMs };
}

/** From A to the hub, which cannot be set back: the bare sender gets as many other messages, ready proved. */
async function roundToHub(deps: BenchDeps, devnet: Devnet, folder: string): Promise<Round> {
  const a = devnet.chain("A");
  const start = Number(await a.host.reader.getBlockNumber());
  const first = await sendToHub(devnet, a);
  const config: ConfigChanges = {
    without: [devnet.chain("B").stateMachine],
    sections: { [sectionOf(a.stateMachine)]: { initial_height: start } },
  };
  const leg = `${a.stateMachine} -> ${devnet.hub.identity.stateMachine}`;
  const countArrived = countOnHub(devnet, first.sent);
  const run = await timeRelayer(deps, devnet, { folder, config, leg, count: TO_HUB, countArrived });
  const { sent, height } = await sendToHub(devnet, a);
  await using ready = await prepareForHub(relayerConfig(devnet.endpoints, config), a, sent, height);
  const startMs = performance.now();
  await submitAll(ready);
  const countBare = countOnHub(devnet, sent);
  const haveArrived = async (): Promise<boolean> => await countBare() === TO_HUB;
  await waitUntil("the bare sender's messages", haveArrived, { everyMs: LOOK_EVERY_MS });
  return { run, bareMs: performance.now() - startMs };
}

async function sendToHub(
  devnet: Devnet,
  from: DevnetChain,
): Promise<{ readonly sent: readonly SentMessage[]; readonly height: bigint }> {
  const sent = await instantly(from, () => sendPing(devnet, { from: from.name, to: "hub", count: TO_HUB }));
  await devnet.mine(from, 3);
  const height = await devnet.oracle.step({ from: from.stateMachine, to: devnet.hub.identity.stateMachine });
  return { sent, height };
}

function countOnHub(devnet: Devnet, sent: readonly SentMessage[]): () => Promise<number> {
  return () =>
    Promise.resolve(sent.filter(({ commitment }) => devnet.hub.findReceipt(commitment) !== undefined).length);
}

function roundFigures(
  name: string,
  count: number,
  least: number,
  rounds: readonly Round[],
): readonly Figure[] {
  const values = rounds.map(({ run, bareMs }) => ({
    rate: count / run.ms * 1000,
    bareRate: count / bareMs * 1000,
    ratio: bareMs / run.ms,
    sentMs: run.firstSentMs,
    cpuMs: run.cpuMs / count,
  }));
  return figuresOf(values, [
    ["rate", `${name}: relayer`, "messages/s"],
    ["bareRate", `${name}: bare sender`, "messages/s"],
    ["ratio", `${name}: relayer / bare sender`, "", { least }],
    ["sentMs", `${name}: start of the leg to the first batch`, "ms", { most: 2_000 }],
    ["cpuMs", `${name}: processor time of a message`, "ms", { most: MAX_CPU_MS }],
  ]);
}

/** Messages that wait for a relayer. */
interface WaitingMessages {
  readonly config: ConfigChanges;
  readonly leg: string;
  readonly count: number;
  readonly countArrived: () => Promise<number>;
}

/** Has the hub send messages to a chain, which learns of their block; they wait there for a relayer. */
async function sendWaiting(devnet: Devnet, to: DevnetChain, count: number): Promise<WaitingMessages> {
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
interface TimedRun {
  readonly ms: number;
  readonly firstSentMs: number;
  readonly cpuMs: number;
}

/** Starts a relayer that finds everything waiting. */
async function timeRelayer(
  { executable, folder, say }: BenchDeps,
  devnet: Devnet,
  work: WaitingMessages & { readonly folder: string },
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
