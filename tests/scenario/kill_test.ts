/** The process dies at any moment, or is asked to end in the middle of its work: nothing is lost, nothing done twice. */
import assert from "node:assert/strict";
import type { Devnet } from "../../devnet/devnet.ts";
import type { SentMessage } from "../../devnet/traffic/messages.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import {
  assertHandledOnce,
  drawMoments,
  MESSAGES_PER_MOMENT,
  reachMoment,
  sendSome,
} from "./support/moments.ts";
import { playSceneOn, type Scene, type SceneRelayer, startSceneDevnet } from "./support/scene.ts";

const KILLS = 20;

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
    for (const moment of drawMoments(random, KILLS)) {
      sending.push(sendSome(scene, sending.length));
      const process = relayer.process.isRunning ? relayer.process : await relayer.start();
      const seen = await reachMoment(process, moment, random.fraction());
      await process.kill();
      scene.note(`killed at ${moment ?? "a time"}${seen ? "" : " (not seen)"}`);
      for (const state of await openStates(relayer)) deaths.set(state, (deaths.get(state) ?? 0) + 1);
    }
    say(
      `kill: work found open at a death: ${
        [...deaths].map(([state, times]) => `${state} ${times}x`).join(", ")
      }`,
    );
    const sent = (await Promise.all(sending)).flat();
    assert.equal(sent.length, KILLS * MESSAGES_PER_MOMENT);
    await relayer.start();
    await endWell(scene, relayer, sent);
  });
}

async function playTerminations(devnet: Devnet): Promise<void> {
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    await relayer.startAndWait();
    const sending: Promise<readonly SentMessage[]>[] = [];
    for (
      const moment of [
        "message_found",
        "batch_sent",
        "message_changed.submitted",
        "message_changed.delivered",
      ] as const
    ) {
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
  await assertHandledOnce(scene, relayer, sent);
}

function say(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}
