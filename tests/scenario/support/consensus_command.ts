/** Commands of the compiled consensus relayer on a scene, with the configuration of its relayers. */
import assert from "node:assert/strict";
import type { Proven } from "../../../src/consensus/proven.ts";
import { consensusConfig } from "../../../devnet/programs/consensus_config.ts";
import { REPOSITORY } from "../../../devnet/programs/repository.ts";
import { type ConsensusScene, type SceneChanges, secretChanges } from "./consensus_scene.ts";
import { runOnce, type RunResult } from "./run_once.ts";

/** What runs commands. */
export type ConsensusCommands = (...args: readonly string[]) => Promise<RunResult>;

/** Commands with a configuration of their own. */
export function consensusCommands(scene: ConsensusScene, changes: SceneChanges): ConsensusCommands {
  return async (...args) => {
    const folder = await Deno.makeTempDir({ prefix: "command-" });
    try {
      const config = `${folder}/consensus.toml`;
      const text = consensusConfig(scene.endpoints, secretChanges(scene, changes));
      await Deno.writeTextFile(config, text, { mode: 0o600 });
      return await runOnce(`${REPOSITORY}/build/causeway-consensus`, [`--config=${config}`, ...args]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  };
}

/** Proves by hand; `args` are those of `prove`. @throws {Error} unless the status is 0. */
export async function proveByHand(command: ConsensusCommands, ...args: readonly string[]): Promise<Proven> {
  const { code, stdout, stderr } = await command("prove", ...args, "--json");
  assert.equal(code, 0, stderr + stdout);
  const proven: Proven = JSON.parse(stdout);
  return proven;
}
