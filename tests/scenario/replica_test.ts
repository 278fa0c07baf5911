/** A relayer that is started elsewhere from a copy of its database which is some seconds old. */
import assert from "node:assert/strict";
import type { SentMessage } from "../../devnet/traffic/messages.ts";
import { pause } from "../../devnet/waiting.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { TOKEN } from "./support/fee_accounts.ts";
import {
  assertHandledOnce,
  drawMoments,
  MESSAGES_PER_MOMENT,
  reachMoment,
  sendSome,
} from "./support/moments.ts";
import { playScene } from "./support/scene.ts";

const COPIES = 5;

/** Most that a copy is behind, ms. */
const MAX_BEHIND_MS = 3_000;

Deno.test("replica: from copies that lack the last seconds nothing is lost, nothing paid twice, every fee claimed (F2)", () =>
  playScene({}, async (scene) => {
    const seed = Number(Deno.env.get("SCENARIO_SEED") ?? Date.now() % 1_000_000);
    scene.note(`SCENARIO_SEED=${seed}`);
    const random = seededRandomness(seed);
    const relayer = scene.relayer();
    await relayer.startAndWait();
    const sending: Promise<readonly SentMessage[]>[] = [];
    for (const [round, moment] of drawMoments(random, COPIES).entries()) {
      sending.push(sendSome(scene, round, TOKEN));
      const { process } = relayer;
      const seen = await reachMoment(process, moment, random.fraction());
      const folder = `${scene.folder}/machine-${round}`;
      await Deno.mkdir(folder);
      await relayer.ask("backup", `${folder}/relayer.db`);
      await pause(random.fraction() * MAX_BEHIND_MS);
      await process.kill();
      await relayer.startElsewhere(`${folder}/relayer.db`);
      scene.note(`cut off at ${moment ?? "a time"}${seen ? "" : " (not seen)"}`);
    }
    const sent = (await Promise.all(sending)).flat();
    assert.equal(sent.length, COPIES * MESSAGES_PER_MOMENT);
    await scene.untilDelivered(sent);
    await relayer.untilEnded(sent);
    await relayer.untilClaims(sent);
    await scene.finish({ mostReverts: COPIES });
    await assertHandledOnce(scene, relayer, sent);
  }));
