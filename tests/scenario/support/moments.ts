/** Moments of a relayer's work at which something happens to it, the messages meanwhile, and what must come of them. */
import { readHistory } from "../../../devnet/traffic/chain_history.ts";
import { sendPing, type SentMessage, waitUntil } from "../../../devnet/traffic/messages.ts";
import { pause } from "../../../devnet/waiting.ts";
import type { RelayerProcess } from "./relayer_process.ts";
import { DEADLINE_MS, type Scene, type SceneRelayer } from "./scene.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { TOKEN } from "./fee_accounts.ts";
import assert from "node:assert/strict";

/** Messages that are sent for one moment. */
export const MESSAGES_PER_MOMENT = 10;

/** A process that shows nothing of what a moment waits for has reached the moment after this long. */
const MAX_ROUND_MS = 3_500;

/**
 * Lines after which something happens to the process. They stand around every commit: rows and cursor of a scan, ready and submitted
 * in the journal, the broadcast, the outcome. The last is time alone.
 */
const MOMENTS = [
  "program_started",
  "leg_started",
  "message_found",
  "message_changed.ready",
  "message_changed.submitted",
  "batch_sent",
  "message_changed.delivered",
  undefined,
] as const;

/** One of them; `undefined`: a time. */
type Moment = typeof MOMENTS[number];

/** Messages on every way, some of each. */
export async function sendSome(
  { devnet }: Scene,
  round: number,
  fee = 0n,
): Promise<readonly SentMessage[]> {
  const [from, back] = round % 2 === 0 ? ["A", "B"] as const : ["B", "A"] as const;
  const parts = await Promise.all([
    sendPing(devnet, { from, to: back, count: MESSAGES_PER_MOMENT - 4, fee }),
    sendPing(devnet, { from: back, to: from, count: 3, fee }),
    sendPing(devnet, { from: back, to: "hub", count: 1 }),
  ]);
  return parts.flat();
}

/** Draws `count` moments: every kind about as often, in an order drawn by chance. */
export function drawMoments(random: { readonly fraction: () => number }, count: number): readonly Moment[] {
  return Array.from({ length: count }, (_, at) => MOMENTS[at % MOMENTS.length])
    .map((moment) => ({ moment, rank: random.fraction() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ moment }) => moment);
}

/** Waits up to 60 ms longer than for the moment's line, or a time drawn by chance. False: the line did not come. */
export async function reachMoment(process: RelayerProcess, moment: Moment, chance: number): Promise<boolean> {
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
  return seen;
}

/** Each message was handled once on each chain of its way, and every delivery is on record. */
export async function assertHandledOnce(
  scene: Scene,
  relayer: SceneRelayer,
  sent: readonly SentMessage[],
): Promise<void> {
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

/** Most that a replica is behind by design, ms; what the engine itself is behind comes on top. */
const MAX_BEHIND_MS = 3_000;

/** Replication of one database. */
export interface Replication {
  /** Ends it: what is committed from now on is in no replica. */
  cut(): Promise<void>;
  /** Makes a database of the replica. */
  restore(path: string): Promise<void>;
}

/** How a database is replicated, and how often its relayer dies. */
interface ReplicaPlan {
  readonly moments: number;
  /** Begins to replicate the database of a running process into an empty folder. */
  readonly replicate: (running: RelayerProcess, folder: string) => Promise<Replication>;
}

/** Plays the moments, with {@link MESSAGES_PER_MOMENT} messages for each; SCENARIO_SEED repeats a run. */
export async function playReplicas(scene: Scene, { moments, replicate }: ReplicaPlan): Promise<void> {
  const seed = Number(Deno.env.get("SCENARIO_SEED") ?? Date.now() % 1_000_000);
  scene.note(`SCENARIO_SEED=${seed}`);
  const random = seededRandomness(seed);
  const relayer = scene.relayer();
  await relayer.startAndWait();
  const sending: Promise<readonly SentMessage[]>[] = [];
  for (const [round, moment] of drawMoments(random, moments).entries()) {
    sending.push(sendSome(scene, round, TOKEN));
    const { process } = relayer;
    const replication = await replicate(process, await makeFolder(scene, `replica-${round}`));
    const seen = await reachMoment(process, moment, random.fraction());
    await replication.cut();
    await pause(random.fraction() * MAX_BEHIND_MS);
    await process.kill();
    const path = `${await makeFolder(scene, `machine-${round}`)}/relayer.db`;
    await replication.restore(path);
    await relayer.startElsewhere(path);
    scene.note(`cut off at ${moment ?? "a time"}${seen ? "" : " (not seen)"}`);
  }
  const sent = (await Promise.all(sending)).flat();
  assert.equal(sent.length, moments * MESSAGES_PER_MOMENT);
  await scene.untilDelivered(sent);
  await relayer.untilEnded(sent);
  await untilClaimed(scene, relayer);
  await scene.finish({ mostReverts: moments });
  await assertHandledOnce(scene, relayer, sent);
}

async function makeFolder({ folder }: Scene, name: string): Promise<string> {
  await Deno.mkdir(`${folder}/${name}`);
  return `${folder}/${name}`;
}

/** Waits until the hub has paid for every delivery to a chain. */
async function untilClaimed({ hub }: Scene, relayer: SceneRelayer): Promise<void> {
  await waitUntil("every fee is claimed", async () => {
    const { deliveries } = await relayer.ledger();
    return deliveries.every(({ dest, claimState }) => dest === hub || claimState === "claimed");
  }, { deadlineMs: DEADLINE_MS, everyMs: 400 });
}
