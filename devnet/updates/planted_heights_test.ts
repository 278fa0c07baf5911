import { equal, ok } from "node:assert/strict";
import { startDevnet } from "../devnet.ts";
import { plantedHeights } from "./planted_heights.ts";

Deno.test("planted heights: the hub gets every second block that a node calls final, and the newest one when asked", async () => {
  await using devnet = await startDevnet({
    kinds: ["beacon", "op_stack"],
    feeds: "planted",
    blockTimeSec: "automine",
    hubBlockTimeMs: 100,
    startsOracle: false,
  });
  const { hub } = devnet;
  for (const chain of devnet.chains) {
    const known = (): bigint | undefined => hub.latestHeight(devnet.idOnHub(chain));
    equal(known(), undefined);
    const head = await chain.host.reader.getBlockNumber();
    const height = await devnet.oracle.step({ from: chain.stateMachine, to: hub.identity.stateMachine });
    ok(height >= head);
    equal(known(), height);
    const update = plantedHeights(hub, chain);
    await devnet.mine(chain, 1);
    equal(await update(height, false), height);
    equal(known(), height);
    await devnet.mine(chain, 1);
    equal(await update(height, false), height + 2n);
    equal(known(), height + 2n);
  }
});
