/** A relayer with a fence works while the fence lets it, and ends at once when it does not. */
import assert from "node:assert/strict";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { DEADLINE_MS, playScene } from "./support/scene.ts";

Deno.test("fence: without its file nothing begins; when it is gone the relayer ends at once, and the next one continues", () =>
  playScene({}, async (scene) => {
    const relayer = scene.relayer();
    const fence = `${scene.folder}/fence`;
    const fenced = { extraArguments: [`--fence=${fence}`] };
    const early = await relayer.start({}, fenced);
    assert.equal(await early.exitCode(DEADLINE_MS), 4);
    assert.deepEqual(early.lines.map(({ record }) => record?.event).at(-1), "fence_gone");
    await Deno.writeTextFile(fence, `${Date.now() / 1_000 + 86_400}\n`);
    const first = await relayer.startAndWait({}, fenced);
    const before = await sendPing(scene.devnet, { from: "A", to: "B", count: 3 });
    await first.waitForLine("batch_sent", { deadlineMs: DEADLINE_MS });
    await Deno.remove(fence);
    assert.equal(await first.exitCode(DEADLINE_MS), 4);
    assert.deepEqual(first.lines.map(({ record }) => record?.event).at(-1), "fence_gone");
    const after = await sendPing(scene.devnet, { from: "B", to: "A", count: 3 });
    await Deno.writeTextFile(fence, "");
    await relayer.startAndWait({}, fenced);
    await scene.untilDelivered([...before, ...after]);
    await relayer.untilEnded([...before, ...after]);
    await scene.finish({ allowedErrors: ["fence_gone"] });
  }));
