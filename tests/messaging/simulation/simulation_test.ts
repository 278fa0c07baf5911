/**
 * The whole relayer over faulty chains in memory, with seeds that are drawn from the commit. A failing seed is run alone
 * with SEED=123 deno test -A tests/messaging/simulation/simulation_test.ts
 */
import { runSeedsOfCommit } from "./seeds.ts";

Deno.test("simulation, first half of the commit's seeds: every funded message arrives once, each of our deliveries is paid (F27)", async () => {
  await runSeedsOfCommit("first half");
});
