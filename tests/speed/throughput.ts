/**
 * Messages per second of one pair with many of them waiting, beside a bare sender that has the same batches ready
 * and only signs, sends and waits. Blocks of all chains come once a second.
 */
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { type ConfigChanges, relayerConfig, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { deliveriesSince, prepareForHub, sendBare, submitAll } from "./bare_senders.ts";
import type { BenchDeps, Part } from "./part.ts";
import { type Figure, figuresOf } from "./report.ts";
import { instantly, updateAll } from "./stage.ts";
import { LOOK_EVERY_MS, sendWaiting, type TimedRun, timeRelayer } from "./timed_relayer.ts";

const TO_CHAIN = 2_000;
const TO_HUB = 1_000;
const ROUNDS = 3;
const MIN_RATIO_TO_CHAIN = 0.93;
const MIN_RATIO_TO_HUB = 0.75;
const MAX_CPU_MS = 0.8;

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
