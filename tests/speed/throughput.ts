/**
 * Messages per second of one pair with many of them waiting, beside a bare sender that has the same batches ready
 * and only signs, sends and waits. Blocks of all chains come once a second.
 */
import { type Devnet, type DevnetChain, startDevnet } from "../../devnet/devnet.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { type ConfigChanges, relayerConfig, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import { deliveriesSince, sendBare } from "./bare_evm_sender.ts";
import { prepareForHub, submitAll } from "./bare_hub_sender.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { atLeast, type Measure } from "./report.ts";
import { HUB_MODULE, instantly, sendFromHub, updateAll } from "./stage.ts";

const TO_CHAIN = 2_000;
const TO_HUB = 1_000;
const MIN_RATIO = 0.8;
/** Time between two polls whether everything arrived. */
const LOOK_EVERY_MS = 100;
/** Time between two blocks, of the chains as of the hub: what arrives in one block arrives at once. */
const BLOCK_MS = 1_000;

/** See the head of the file. */
export const throughput: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false });
  await updateAll(devnet);
  return [...await toChain(deps, devnet), ...await toHub(deps, devnet)];
};

/** From the hub to B: the bare sender gets the relayer's own transactions, on the chain as it was before them. */
async function toChain(deps: BenchDeps, devnet: Devnet): Promise<readonly Measure[]> {
  const b = devnet.chain("B");
  const hub = devnet.hub.identity.stateMachine;
  const direction = { from: hub, to: b.stateMachine };
  const start = devnet.hub.finalized.number;
  await sendFromHub(devnet, b, TO_CHAIN);
  await instantly(b, () => devnet.oracle.step(direction));
  const before = await b.host.reader.getBlockNumber();
  const snapshot = await b.host.node.snapshot();
  const countArrived = async (): Promise<number> => Number(await countReceived(b.host));
  const run = await timeRelayer(deps, devnet, {
    folder: "to-chain",
    config: {
      without: [devnet.chain("A").stateMachine],
      moduleFilter: [HUB_MODULE],
      sections: { hub: { initial_height: start } },
    },
    leg: `${hub} -> ${b.stateMachine}`,
    count: TO_CHAIN,
    countArrived,
  });
  const deliveries = await deliveriesSince(b, before);
  for (const { block, gas, gasUsed } of deliveries) deps.say(`   block ${block}: gas ${gasUsed} of ${gas}`);
  await b.host.node.revert({ id: snapshot });
  const bareMs = await sendBare(b, deliveries);
  if (await countArrived() !== TO_CHAIN) throw new Error("The bare sender left messages undelivered");
  return measuresOf("hub -> B", { count: TO_CHAIN, batches: deliveries.length, run, bareMs });
}

/** From A to the hub, which cannot be set back: the bare sender gets as many other messages, ready proved. */
async function toHub(deps: BenchDeps, devnet: Devnet): Promise<readonly Measure[]> {
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
  const run = await timeRelayer(deps, devnet, { folder: "to-hub", config, leg, count: TO_HUB, countArrived });
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
  const bareMs = performance.now() - startMs;
  return measuresOf("A -> hub", { count: TO_HUB, batches: ready.submissions.length, run, bareMs });
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

/** What a relayer took from the start of the leg until everything arrived. */
interface Run {
  readonly ms: number;
  /** Until the first half had arrived: others may be about, so the first transactions go one by one. */
  readonly halfMs: number;
  readonly cpuMs: number;
}

/** Starts a relayer that finds everything waiting. */
async function timeRelayer(
  deps: BenchDeps,
  devnet: Devnet,
  work: {
    readonly folder: string;
    readonly config: ConfigChanges;
    readonly leg: string;
    readonly count: number;
    readonly countArrived: () => Promise<number>;
  },
): Promise<Run> {
  await using relayer = await startRelayer({
    executable: deps.executable,
    folder: `${deps.folder}/${work.folder}`,
    config: relayerConfig(devnet.endpoints, work.config),
    logLevel: "info",
  });
  const { atMs } = await relayer.waitForLine(({ record }) =>
    record?.event === "leg_started" && record.leg === work.leg
  );
  const cpuBeforeMs = readCpuMs(relayer.pid);
  const { leg, count, countArrived } = work;
  const until = (share: number): Promise<void> =>
    waitUntil(leg, async () => await countArrived() >= count * share, {
      deadlineMs: DEADLINE_MS,
      everyMs: LOOK_EVERY_MS,
    });
  await until(0.5);
  const halfMs = Date.now() - atMs;
  await until(1);
  const run = { ms: Date.now() - atMs, halfMs, cpuMs: readCpuMs(relayer.pid) - cpuBeforeMs };
  for (const { record, atMs: lineMs } of relayer.lines) {
    if (record?.event === "batch_sent") {
      deps.say(`   ${lineMs - atMs} ms: ${record.messages} messages sent (${work.leg})`);
    }
  }
  await relayer.terminate();
  return run;
}

function measuresOf(
  name: string,
  found: { readonly count: number; readonly batches: number; readonly run: Run; readonly bareMs: number },
): readonly Measure[] {
  const { count, batches, run, bareMs } = found;
  const rate = (time: number): string =>
    `${(count / time * 1000).toFixed(0)} messages/s (${(time / 1000).toFixed(1)} s)`;
  return [
    { name: `${name}, ${count} waiting: relayer`, value: rate(run.ms) },
    { name: `${name}, the same in ${batches} batches: bare sender`, value: rate(bareMs) },
    {
      name: `${name}: relayer's second half / bare sender`,
      value: compareSecondHalf(run, bareMs),
    },
    atLeast(`${name}: relayer / bare sender`, bareMs / run.ms, MIN_RATIO, (ratio) => ratio.toFixed(2)),
    {
      name: `${name}: processor time of the relayer`,
      value: `${(run.cpuMs / count).toFixed(2)} ms a message, ${
        (run.cpuMs / run.ms * 100).toFixed(0)
      } % of a core`,
    },
  ];
}

/** The second half's speed beside the bare sender's; nothing is known about it when it came with the first. */
function compareSecondHalf({ ms, halfMs }: Run, bareMs: number): string {
  const secondHalfMs = ms - halfMs;
  if (secondHalfMs < BLOCK_MS / 2) return "unknown: all arrived in one block";
  return (bareMs / secondHalfMs / 2).toFixed(2);
}
