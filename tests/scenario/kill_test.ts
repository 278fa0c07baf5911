/** The process dies at any moment, or is asked to end in the middle of its work: nothing is lost, nothing done twice. */
import assert from "node:assert/strict";
import type { Devnet } from "../../devnet/devnet.ts";
import { readHistory } from "../../devnet/traffic/chain_history.ts";
import { sendPing, type SentMessage } from "../../devnet/traffic/messages.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { playSceneOn, type Scene, type SceneRelayer, startSceneDevnet } from "./support/scene.ts";

const KILLS = 20;
const MESSAGES_PER_KILL = 10;

/** A process that shows nothing of what a moment waits for is killed after this long. */
const MAX_ROUND_MS = 3_500;

/**
 * Lines after which the process dies. They stand around every commit: rows and cursor of a scan, ready and submitted
 * in the journal, the broadcast, the outcome. The last is time alone.
 */
const MOMENTS = [
  "program_started",
  "leg_started",
  "message_found",
  "message_ready",
  "message_submitted",
  "batch_sent",
  "message_delivered",
  undefined,
] as const;

type Moment = typeof MOMENTS[number];

Deno.test("the end of the process", async (t) => {
  await using devnet = await startSceneDevnet();
  await t.step(
    "kill -9 at 20 seeded moments during 200 messages: nothing lost, nothing twice, every delivery recorded (F2)",
    () => playKills(devnet),
  );
  await t.step(
    "SIGTERM in the middle of the work ends the program with status 0, and the next run continues",
    () => playTerminations(devnet),
  );
});

async function playKills(devnet: Devnet): Promise<void> {
  const seed = Number(Deno.env.get("SCENARIO_SEED") ?? Date.now() % 1_000_000);
  say(`kill: SCENARIO_SEED=${seed}`);
  const random = seededRandomness(seed);
  await playSceneOn(devnet, async (scene) => {
    scene.note(`SCENARIO_SEED=${seed}`);
    const relayer = scene.relayer();
    await relayer.startAndWait();
    const sending: Promise<readonly SentMessage[]>[] = [];
    const deaths = new Map<string, number>();
    for (const moment of drawMoments(random)) {
      sending.push(sendSome(scene, sending.length));
      const process = relayer.process.isRunning ? relayer.process : await relayer.start();
      const seen = await die(process, moment, random.fraction());
      scene.note(`killed at ${moment ?? "a time"}${seen ? "" : " (not seen)"}`);
      for (const state of await openStates(relayer)) deaths.set(state, (deaths.get(state) ?? 0) + 1);
    }
    say(
      `kill: work found open at a death: ${
        [...deaths].map(([state, times]) => `${state} ${times}x`).join(", ")
      }`,
    );
    const sent = (await Promise.all(sending)).flat();
    assert.equal(sent.length, KILLS * MESSAGES_PER_KILL);
    await relayer.start();
    await endWell(scene, relayer, sent);
  });
}

async function playTerminations(devnet: Devnet): Promise<void> {
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    await relayer.startAndWait();
    const sending: Promise<readonly SentMessage[]>[] = [];
    for (const moment of ["message_found", "batch_sent", "message_submitted", "message_delivered"] as const) {
      const process = relayer.process.isRunning ? relayer.process : await relayer.start();
      const since = process.lines.length;
      sending.push(sendSome(scene, sending.length));
      await process.waitForLine(moment, { since });
      await relayer.stop();
    }
    await relayer.start();
    await endWell(scene, relayer, (await Promise.all(sending)).flat());
  });
}

/** Messages on every way, some of each. */
async function sendSome({ devnet }: Scene, round: number): Promise<readonly SentMessage[]> {
  const [from, back] = round % 2 === 0 ? ["A", "B"] as const : ["B", "A"] as const;
  const parts = await Promise.all([
    sendPing(devnet, { from, to: back, count: MESSAGES_PER_KILL - 4 }),
    sendPing(devnet, { from: back, to: from, count: 3 }),
    sendPing(devnet, { from: back, to: "hub", count: 1 }),
  ]);
  return parts.flat();
}

/** As many moments as kills: every kind about as often, in an order drawn by chance. */
function drawMoments(random: { readonly fraction: () => number }): readonly Moment[] {
  return Array.from({ length: KILLS }, (_, at) => MOMENTS[at % MOMENTS.length])
    .map((moment) => ({ moment, rank: random.fraction() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ moment }) => moment);
}

/** Kills the process up to 60 ms after the moment's line, or at a time drawn by chance. False: the line did not come. */
async function die(process: RelayerProcess, moment: Moment, chance: number): Promise<boolean> {
  let seen = true;
  if (moment === undefined) await pause(chance * MAX_ROUND_MS);
  else {
    const found = process.waitForLine(moment, {
      deadlineMs: MAX_ROUND_MS,
      since: Math.max(0, process.lines.length - 1),
    });
    seen = await found.then(() => true, () => false);
    // Often at once: the line is written in the middle of things.
    if (chance > 0.4) await pause((chance - 0.4) * 100);
  }
  await process.kill();
  return seen;
}

/** What the process left unfinished: states of messages and transactions, each once. */
async function openStates(relayer: SceneRelayer): Promise<ReadonlySet<string>> {
  const { messages, submissions } = await relayer.ledger();
  const rows = messages.map(({ state }) => `message ${state}`).filter((text) => !text.includes("delivered"));
  const transactions = submissions.map(({ state }) => `transaction ${state}`)
    .filter((text) => !/final|dropped|replaced|failed/.test(text));
  return new Set([...rows, ...transactions].sort());
}

async function endWell(scene: Scene, relayer: SceneRelayer, sent: readonly SentMessage[]): Promise<void> {
  await scene.untilDelivered(sent);
  await relayer.untilEnded(sent);
  await scene.finish({ mostReverts: 0 });
  const ours = new Set(sent.map(({ commitment }) => commitment));
  const handled = (await readHistory(scene.devnet)).flatMap(({ chain, handled }) =>
    handled.filter(({ commitment }) => ours.has(commitment)).map(({ commitment }) => `${commitment} ${chain}`)
  );
  const wanted = sent.flatMap(({ commitment, request }) =>
    [...new Set([scene.hub, request.dest])].map((chain) => `${commitment} ${chain}`)
  );
  assert.deepEqual(handled.sort(), wanted.sort(), "each message is handled once on each chain of its way");
  const { deliveries } = await relayer.ledger();
  assert.equal(deliveries.length, wanted.length);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function say(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}
