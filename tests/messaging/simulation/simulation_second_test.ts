/** The other half of the commit's seeds, in a file of its own because files run side by side; see simulation_test.ts. */
import { runSeedsOfCommit } from "./seeds.ts";

Deno.test("simulation, second half of the commit's seeds: every funded message arrives once, each of our deliveries is paid", async () => {
  await runSeedsOfCommit("second half");
});
