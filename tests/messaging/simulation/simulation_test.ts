/**
 * The whole relayer over faulty chains in memory. A failing seed is run alone with
 * SEED=123 deno test -A tests/messaging/simulation/simulation_test.ts
 */
import { runSeeds } from "./seeds.ts";

Deno.test("simulation, seeds 1 to 500: every funded message arrives once, every delivery of ours is paid (F27)", async () => {
  await runSeeds(1, 500);
});
