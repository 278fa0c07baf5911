/** Nobody but the relayer carries the hub's consensus proofs to the EVM hosts, rotations included where they pay. */
import assert from "node:assert/strict";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import {
  carriedTo,
  hubSet,
  payForRotations,
  playMissedRotations,
  playRotations,
} from "./support/rotation_scene.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";

Deno.test("bundles", async (t) => {
  await using devnet = await startSceneDevnet({ acceptsProofs: { rotateEvery: 3 } });

  await t.step(
    "without a reward no rotation travels alone: it goes with the messages that need it",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait({ disableFeeAccumulation: true });
        const setBefore = hubSet(devnet);
        devnet.prover?.rotateNext();
        await waitUntil("the hub rotates", () => hubSet(devnet) > setBefore);
        const sent = [
          ...await sendPing(devnet, { from: "A", to: "B", count: 2 }),
          ...await sendPing(devnet, { from: "B", to: "A" }),
        ];
        await scene.untilDelivered(sent);
        await relayer.untilEnded(sent);
        await scene.finish();
        for (const chain of devnet.chains) {
          const carried = await carriedTo(scene, chain);
          assert.ok(carried.some(({ effects }) => effects.includes("rotation")));
          assert.deepEqual(carried.filter(({ hasMessages }) => !hasMessages), []);
          assert.deepEqual(carried.filter(({ effects }) => effects.includes("none")), []);
        }
      }),
  );

  await t.step(
    "a message that does not pay takes the proof that it needs when an operator relays it",
    () =>
      playSceneOn(devnet, async (scene) => {
        const chain = devnet.chain("B");
        const relayer = scene.relayer();
        await relayer.startAndWait({ disableFeeAccumulation: true, minimumProfitPercent: 10 });
        const [poor] = await sendPing(devnet, { from: "A", to: "B", fee: 5n });
        assert.ok(poor !== undefined);
        await relayer.untilRows([poor], chain.stateMachine, { state: "held", reason: "unprofitable" });
        const tried = await relayer.ask("relay", poor.commitment, "--dry-run");
        assert.match(tried, /outcome +possible\n/);
        assert.match(tried, /consensus proofs\n +count +\d\n +bytes +\d+\n.* gas +\d+\n +native +0\.\d+\n/s);
        assert.match(
          await relayer.ask("relay", poor.commitment),
          /Sent to \S+ with \d consensus proofs? of the hub in front\./,
        );
        await scene.untilDelivered([poor]);
        await relayer.untilEnded([poor]);
        await scene.finish();
        const carried = await carriedTo(scene, chain);
        assert.deepEqual(carried.map(({ hasMessages, effects }) => [hasMessages, effects.includes("none")]), [
          [true, false],
        ]);
      }),
  );

  await payForRotations(devnet);

  await t.step(
    "messages and the proofs that they need travel together, through one rotation after the other",
    () => playRotations(devnet),
  );

  await t.step(
    "after four missed rotations a restart catches up three and one, and continues delivering",
    () => playMissedRotations(devnet),
  );
});
