/** A relayer that is started elsewhere from a copy of its database which is some seconds old. */
import assert from "node:assert/strict";
import { playReplicas, type Replication } from "./support/moments.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { runRelayerOnce } from "./support/run_once.ts";
import { playScene } from "./support/scene.ts";

Deno.test("replica: from copies that lack the last seconds nothing is lost, nothing paid twice, every fee claimed (F2)", () =>
  playScene({}, (scene) => playReplicas(scene, { moments: 5, replicate: copyLater })));

/** Copies the database when it is cut off. */
function copyLater(process: RelayerProcess, folder: string): Promise<Replication> {
  const copy = `${folder}/relayer.db`;
  return Promise.resolve({
    cut: async () => {
      const args = [`--config=${process.configPath}`, `--db=${process.dbPath}`, "--log-level=error"];
      const { code, stderr } = await runRelayerOnce([...args, "backup", copy]);
      assert.deepEqual([code, stderr], [0, ""]);
    },
    restore: (path) => Deno.rename(copy, path),
  });
}
