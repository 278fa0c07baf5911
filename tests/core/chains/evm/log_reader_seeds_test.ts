/** Seeds of reading a host's requests; see log_reader_seeds.ts. */
import assert from "node:assert/strict";
import { findLogFailures } from "./log_reader_seeds.ts";

Deno.test("log reading, seeds 1 to 250: every request is reported in order, the cursor passes none, each gap is reported once", async () => {
  const alone = Deno.env.get("SEED");
  const [first, last] = alone === undefined ? [1, 250] : [Number(alone), Number(alone)];
  for await (const { failure } of findLogFailures(first, last)) {
    if (failure !== undefined) assert.fail(failure);
  }
});
