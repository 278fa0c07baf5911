/** Moments of a relayer's work at which something happens to it, the messages meanwhile, and what must come of them. */
import { readHistory } from "../../../devnet/traffic/chain_history.ts";
import { sendPing, type SentMessage } from "../../../devnet/traffic/messages.ts";
import { pause } from "../../../devnet/waiting.ts";
import type { RelayerProcess } from "./relayer_process.ts";
import type { Scene, SceneRelayer } from "./scene.ts";
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

/** Messages with chains of their way on which they were not handled exactly once. */
export async function handledWrong(
  { devnet, hub }: Scene,
  sent: readonly SentMessage[],
): Promise<readonly string[]> {
  const handled = (await readHistory(devnet)).flatMap(({ chain, handled }) =>
    handled.map(({ commitment }) => `${commitment} ${chain}`)
  );
  return sent.flatMap(({ commitment, request }) =>
    [...new Set([hub, request.dest])].map((chain) => `${commitment} ${chain}`)
  ).filter((each) => handled.filter((found) => found === each).length !== 1);
}

/** Each message was handled once on each chain of its way, and every delivery is on record. */
export async function assertHandledOnce(
  scene: Scene,
  relayer: SceneRelayer,
  sent: readonly SentMessage[],
): Promise<void> {
  assert.deepEqual(await handledWrong(scene, sent), []);
  const { deliveries } = await relayer.ledger();
  assert.equal(
    deliveries.length,
    sent.reduce((sum, { request }) => sum + (request.dest === scene.hub ? 1 : 2), 0),
  );
}
