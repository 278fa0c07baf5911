/**
 * The compiled programs on a devnet whose EVM chains are real Geth. Not part of the gate: building Geth takes five
 * minutes. Run by `deno task nodes`.
 */
import type { Anvil, AnvilOptions } from "../../devnet/evm/anvil.ts";
import { playProfiles } from "../scenario/support/profile_scene.ts";
import { startSceneDevnet } from "../scenario/support/scene.ts";
import { findNode } from "./real_node.ts";

const { start } = await findNode("geth");
const ignore = start === undefined;

/** @throws {Error} where there is none; no test runs then. */
function startGeth(options: AnvilOptions): Promise<Anvil> {
  if (start === undefined) throw new Error("There is no Geth");
  return start(options);
}

Deno.test({
  name: "geth: 50 messages each way arrive through the compiled program, and fees come home",
  ignore,
  fn: async () => {
    await using devnet = await startSceneDevnet({
      hubBlockTimeMs: 800,
      relayBlockTimeMs: 800,
      oracleEveryMs: 400,
      proven: { startNode: startGeth },
    });
    await playProfiles(devnet, {});
  },
});
