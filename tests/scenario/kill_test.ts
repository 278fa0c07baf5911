/** The process dies at any moment: nothing is lost, nothing done twice. */
import assert from "node:assert/strict";
import type { SentMessage } from "../../devnet/traffic/messages.ts";
import { say } from "../support/notes.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import {
  assertHandledOnce,
  drawMoments,
  MESSAGES_PER_MOMENT,
  reachMoment,
  sendSome,
} from "./support/moments.ts";
import { playScene } from "./support/scene.ts";

const KILLS = 20;

Deno.test("kill -9 at 20 seeded moments during 200 messages: nothing lost, nothing twice, every delivery recorded (F2)", () =>
  playScene({}, async (scene) => {
    const seed = Number(Deno.env.get("SCENARIO_SEED") ?? Date.now() % 1_000_000);
    say(`kill: SCENARIO_SEED=${seed}`);
    scene.note(`SCENARIO_SEED=${seed}`);
    const random = seededRandomness(seed);
    const relayer = scene.relayer();
    await relayer.startAndWait();
    const sending: Promise<readonly SentMessage[]>[] = [];
    for (const moment of drawMoments(random, KILLS)) {
      sending.push(sendSome(scene, sending.length));
      const process = relayer.process.isRunning ? relayer.process : await relayer.start();
      const seen = await reachMoment(process, moment, random.fraction());
      await process.kill();
      scene.note(`killed at ${moment ?? "a time"}${seen ? "" : " (not seen)"}`);
    }
    const sent = (await Promise.all(sending)).flat();
    assert.equal(sent.length, KILLS * MESSAGES_PER_MOMENT);
    await relayer.start();
    await scene.untilDelivered(sent);
    await relayer.untilEnded(sent);
    await scene.finish({ mostReverts: 0 });
    await assertHandledOnce(scene, relayer, sent);
  }));
