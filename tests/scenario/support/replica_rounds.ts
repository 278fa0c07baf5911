/**
 * A relayer that dies at seeded moments and is started elsewhere from a replica which lacks its last seconds: nothing
 * is lost, nothing is done twice, every fee is claimed. Start reading at {@link playReplicas}.
 */
import assert from "node:assert/strict";
import { type SentMessage, waitUntil } from "../../../devnet/traffic/messages.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { TOKEN } from "./fee_accounts.ts";
import {
  assertHandledOnce,
  drawMoments,
  MESSAGES_PER_MOMENT,
  pause,
  reachMoment,
  sendSome,
} from "./moments.ts";
import type { RelayerProcess } from "./relayer_process.ts";
import { DEADLINE_MS, type Scene, type SceneRelayer } from "./scene.ts";

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
export interface ReplicaPlan {
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
export async function untilClaimed({ hub }: Scene, relayer: SceneRelayer): Promise<void> {
  await waitUntil("every fee is claimed", async () => {
    const { deliveries } = await relayer.ledger();
    return deliveries.every(({ dest, claimState }) => dest === hub || claimState === "claimed");
  }, { deadlineMs: DEADLINE_MS, everyMs: 400 });
}
