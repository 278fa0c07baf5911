import assert from "node:assert/strict";
import { startAnvil } from "./anvil.ts";
import { startProposer } from "./rollup_l1.ts";

Deno.test("devnet rollups: a proposer tries again what failed, and says what still fails when it is stopped", async () => {
  await using l2 = await startAnvil({ chainId: 11155420 });
  const asked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const propose = (): Promise<never> => {
    asked.shift()?.resolve();
    return Promise.reject(new Error("no L1"));
  };
  const proposer = startProposer({ l2, everyMs: 1, propose });
  await Promise.all(asked.map(({ promise }) => promise));
  await assert.rejects(proposer.stop(), /no L1/);
});
