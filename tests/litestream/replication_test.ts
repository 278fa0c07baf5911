/** The compiled relayer with the real Litestream: replicated while it runs, and started elsewhere from the replica. */
import assert from "node:assert/strict";
import { playReplicas } from "../scenario/support/moments.ts";
import { playScene } from "../scenario/support/scene.ts";
import { buildLitestream, replicateWith } from "./litestream.ts";

Deno.test("litestream: 20 replicas cut off during 200 messages, each started elsewhere: nothing lost, nothing paid twice, every fee claimed", async () => {
  const executable = await buildLitestream();
  await playScene({}, async (scene) => {
    await playReplicas(scene, {
      moments: 20,
      replicate: ({ dbPath }, folder) => replicateWith(executable, dbPath, folder),
    });
    const last = scene.relayers[0]?.process;
    assert.ok(last !== undefined);
    assert.ok(
      last.lines.some(({ record }) => record?.event === "database_opened.replicated"),
      last.text.slice(0, 2_000),
    );
  });
});
