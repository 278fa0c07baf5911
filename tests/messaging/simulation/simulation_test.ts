/** The whole relayer over faulty chains in memory, seeds 1 to 60; see seeds.ts for running one alone. */
import { runSeeds } from "./seeds.ts";

Deno.test("simulation, seeds 1 to 60: every funded message arrives once, every delivery of ours is paid", async () => {
  await runSeeds(1, 60);
});
