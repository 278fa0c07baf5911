/** The second half of the seeds, in a file of its own because files run side by side; see simulation_test.ts. */
import { runSeeds } from "./seeds.ts";

Deno.test("simulation, seeds 501 to 1000: every funded message arrives once, every delivery of ours is paid", async () => {
  await runSeeds(501, 1_000);
});
