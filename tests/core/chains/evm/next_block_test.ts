import assert from "node:assert/strict";
import { placeAfter } from "../../../../src/core/chains/evm/evm_context.ts";

Deno.test("next block: it is never earlier than the newest one, and hardly later than the next", () => {
  const intervalSec = 2;
  for (let ageSec = 0; ageSec < intervalSec; ageSec += 0.3) {
    for (let elapsedSec = 0; elapsedSec < 20; elapsedSec += 0.7) {
      // Block 100 of second 1000 had been there for that long when it was seen.
      const passed = Math.floor((ageSec + elapsedSec) / intervalSec);
      const newest = { number: 100 + passed, timestamp: 1_000 + passed * intervalSec };
      const place = placeAfter({ number: 100n, timestamp: 1_000n, perSec: 1 / intervalSec }, elapsedSec);
      assert.ok(Number(place.timestamp) > newest.timestamp, `${ageSec} ${elapsedSec}`);
      assert.ok(Number(place.timestamp) <= newest.timestamp + 2 * intervalSec + 1);
      assert.ok(Number(place.number) > newest.number && Number(place.number) <= newest.number + 2);
    }
  }
  assert.deepEqual(placeAfter({ number: 7n, timestamp: 50n, perSec: 0 }, 3), { number: 8n, timestamp: 65n });
});
