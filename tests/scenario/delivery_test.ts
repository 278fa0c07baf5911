/**
 * Messages cross in every direction, whenever they were sent. Consensus relayers prove the chains here, so
 * that both programs work together.
 */
import assert from "node:assert/strict";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { assertServed } from "./support/served_status.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";

Deno.test("delivery", async (t) => {
  await using devnet = await startSceneDevnet({ feeds: "each" });

  await t.step(
    "messages cross both ways and to the hub, and each delivery is recorded",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait({}, { extraArguments: ["--listen=127.0.0.1:0"] });
        const sent = (await Promise.all([
          sendPing(devnet, { from: "A", to: "B", count: 10 }),
          sendPing(devnet, { from: "B", to: "A", count: 10 }),
          sendPing(devnet, { from: "A", to: "hub", count: 3 }),
          sendPing(devnet, { from: "B", to: "hub", count: 3 }),
        ])).flat();
        await scene.untilDelivered(sent);
        await relayer.untilSettled();
        await assertServed(relayer.process, 46);
        await scene.finish();
        const { deliveries, messages } = await relayer.ledger();
        // Twenty that cross two legs and six that end at the hub.
        assert.equal(deliveries.length, 46);
        assert.ok(messages.every(({ state, reason }) => state === "delivered" && reason === "handled_by_us"));
        const onHub = deliveries.filter(({ dest }) => dest === scene.hub);
        assert.equal(onHub.length, 26);
        assert.ok(
          onHub.every(({ claimState }) => claimState === "no_fee"),
          "what the hub takes earns nothing",
        );
      }),
  );

  await t.step(
    "a restart continues where the last run ended, and initial_height takes in what was sent before",
    () =>
      playSceneOn(devnet, async (scene) => {
        const sections = await scene.heightsNow();
        const before = (await Promise.all([
          sendPing(devnet, { from: "A", to: "B", count: 5 }),
          sendPing(devnet, { from: "B", to: "hub", count: 2 }),
        ])).flat();
        const relayer = scene.relayer();
        const first = await relayer.startAndWait({ sections });
        await first.waitForLine(({ record }) => record?.because === "initial_height");
        await scene.untilDelivered(before);
        await relayer.untilSettled();
        await relayer.stop();
        // Without initial_height from here on: the cursor in the database counts.
        const meanwhile = (await Promise.all([
          sendPing(devnet, { from: "A", to: "B", count: 5 }),
          sendPing(devnet, { from: "B", to: "A", count: 5 }),
        ])).flat();
        const cursors = (await relayer.ledger()).cursors;
        const second = await relayer.startAndWait();
        await scene.untilDelivered(meanwhile);
        for (const { source, target, scanned } of cursors) {
          const start = await second.waitForLine(({ record }) =>
            record?.event === "leg_started" && record.leg === `${source} -> ${target}`
          );
          assert.equal(start.record?.because, "cursor");
          assert.equal(BigInt(String(start.record?.after_block)), scanned);
        }
        await scene.finish();
        assert.equal((await relayer.ledger()).deliveries.length, 5 * 2 + 2 + 10 * 2);
      }),
  );
});
