/**
 * Messages per second of one pair with many of them waiting, beside a bare sender that has the same batches ready
 * and only signs, sends and waits. Blocks of all chains come once a second.
 */
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { type ConfigChanges, relayerConfig, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { deliveriesSince, sendBare } from "./bare_evm_sender.ts";
import { prepareForHub, submitAll } from "./bare_hub_sender.ts";
import type { BenchDeps, Part } from "./part.ts";
import { atLeast, atMost, type Measure } from "./report.ts";
import { instantly, updateAll } from "./stage.ts";
import { LOOK_EVERY_MS, sendWaiting, type TimedRun, timeRelayer } from "./timed_relayer.ts";

const TO_CHAIN = 2_000;
const TO_HUB = 1_000;
const ROUNDS_TO_HUB = 3;
const MIN_RATIO_TO_CHAIN = 0.9;
const MIN_RATIO_TO_HUB = 0.8;
const MAX_CPU_MS = 0.8;
/** Time between two blocks, of the chains as of the hub: what arrives in one block arrives at once. */
const BLOCK_MS = 1_000;

/** See the head of the file. */
export const throughput: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false });
  await updateAll(devnet);
  return [...await toChain(deps, devnet), ...await toHub(deps, devnet)];
};

/**
 * From the hub to B: the bare sender gets the relayer's own transactions, on the chain as it was before them. A relayer
 * that was never there before sends its first transaction alone, since others may be about; one that has delivered, as
 * in any other hour of its life, does not. So it delivers one message first, in an earlier process.
 */
async function toChain(deps: BenchDeps, devnet: Devnet): Promise<readonly Measure[]> {
  const b = devnet.chain("B");
  const first = await timeRelayer(deps, devnet, { folder: "to-chain", ...await sendWaiting(devnet, b, 1) });
  deps.say(`   a first message took ${first.ms} ms`);
  const waiting = await sendWaiting(devnet, b, TO_CHAIN);
  const before = await b.host.reader.getBlockNumber();
  const snapshot = await b.host.node.snapshot();
  const arrivedBefore = await waiting.countArrived();
  const countArrived = async (): Promise<number> => await waiting.countArrived() - arrivedBefore;
  const run = await timeRelayer(deps, devnet, { folder: "to-chain", ...waiting, countArrived });
  const deliveries = await deliveriesSince(b, before);
  for (const { block, gas, gasUsed } of deliveries) deps.say(`   block ${block}: gas ${gasUsed} of ${gas}`);
  await b.host.node.revert({ id: snapshot });
  const bareMs = await sendBare(b, deliveries);
  if (await countArrived() !== TO_CHAIN) throw new Error("The bare sender left messages undelivered");
  const found = { count: TO_CHAIN, batches: deliveries.length, run, bareMs };
  return measuresOf(`hub -> B, ${TO_CHAIN} waiting`, found, MIN_RATIO_TO_CHAIN);
}

/**
 * From A to the hub, which cannot be set back: the bare sender gets as many other messages, ready proved. All batches of
 * either side arrive in one block, so that up to a second of each time is the wait for it: three rounds are added up.
 */
async function toHub(deps: BenchDeps, devnet: Devnet): Promise<readonly Measure[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS_TO_HUB; round++) {
    rounds.push(await roundToHub(deps, devnet, `to-hub-${round}`));
  }
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  const found = {
    count: TO_HUB * ROUNDS_TO_HUB,
    batches: sum(({ batches }) => batches),
    run: {
      ms: sum(({ run }) => run.ms),
      halfMs: sum(({ run }) => run.halfMs),
      cpuMs: sum(({ run }) => run.cpuMs),
    },
    bareMs: sum(({ bareMs }) => bareMs),
  };
  return measuresOf(`A -> hub, ${ROUNDS_TO_HUB} times ${TO_HUB} waiting`, found, MIN_RATIO_TO_HUB);
}

/** What one round took. */
interface Round {
  readonly batches: number;
  readonly run: TimedRun;
  readonly bareMs: number;
}

async function roundToHub(deps: BenchDeps, devnet: Devnet, folder: string): Promise<Round> {
  const a = devnet.chain("A");
  const hub = devnet.hub.identity.stateMachine;
  const start = Number(await a.host.reader.getBlockNumber());
  const first = await sendToHub(devnet, a);
  const config: ConfigChanges = {
    without: [devnet.chain("B").stateMachine],
    sections: { [sectionOf(a.stateMachine)]: { initial_height: start } },
  };
  const leg = `${a.stateMachine} -> ${hub}`;
  const countArrived = countOnHub(devnet, first.sent);
  const run = await timeRelayer(deps, devnet, { folder, config, leg, count: TO_HUB, countArrived });
  const second = await sendToHub(devnet, a);
  await using ready = await prepareForHub(
    relayerConfig(devnet.endpoints, config),
    a,
    second.sent,
    second.height,
  );
  const startMs = performance.now();
  await submitAll(ready);
  const countBare = countOnHub(devnet, second.sent);
  await waitUntil("the bare sender's messages", async () => await countBare() === TO_HUB, {
    everyMs: LOOK_EVERY_MS,
  });
  return { batches: ready.submissions.length, run, bareMs: performance.now() - startMs };
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

function measuresOf(
  name: string,
  found: {
    readonly count: number;
    readonly batches: number;
    readonly run: TimedRun;
    readonly bareMs: number;
  },
  minRatio: number,
): readonly Measure[] {
  const { count, batches, run, bareMs } = found;
  const rate = (time: number): string =>
    `${(count / time * 1000).toFixed(0)} messages/s (${(time / 1000).toFixed(1)} s)`;
  return [
    { name: `${name}: relayer`, value: rate(run.ms) },
    { name: `${name}: bare sender, in ${batches} batches`, value: rate(bareMs) },
    {
      name: `${name}: relayer's second half / bare sender`,
      value: compareSecondHalf(run, bareMs),
    },
    atLeast(`${name}: relayer / bare sender`, bareMs / run.ms, minRatio, (ratio) => ratio.toFixed(2)),
    atMost(
      `${name}: processor time of the relayer, a message`,
      run.cpuMs / count,
      MAX_CPU_MS,
      (ms) => `${ms.toFixed(2)} ms`,
    ),
  ];
}

/** The second half's speed beside the bare sender's; nothing is known about it when it came with the first. */
function compareSecondHalf({ ms, halfMs }: TimedRun, bareMs: number): string {
  const secondHalfMs = ms - halfMs;
  if (secondHalfMs < BLOCK_MS / 2) return "unknown: all arrived in one block";
  return (bareMs / secondHalfMs / 2).toFixed(2);
}
