import assert from "node:assert/strict";
import { keccak256, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { fleetWaitMs } from "../../../../src/messaging/relay/due_messages.ts";

const TAKE_OVER_MS = 1_000;
const commitments = Array.from(
  { length: 3_000 },
  (_, at) => toHash256(keccak256(new TextEncoder().encode(`${at}`))),
);

for (const count of [1, 2, 3, 7]) {
  Deno.test(`fleet: of ${count} relayers each message has one owner, and the others take over in turn`, () => {
    const turns = Array.from({ length: count }, (_, turn) => turn * TAKE_OVER_MS);
    const owned = new Map<number, number>();
    for (const commitment of commitments) {
      const waits = Array.from(
        { length: count },
        (_, index) => fleetWaitMs(commitment, { index, count, takeOverMs: TAKE_OVER_MS }),
      );
      assert.deepEqual([...waits].sort((a, b) => a - b), turns);
      const owner = waits.indexOf(0);
      assert.equal(waits[(owner + 1) % count], count === 1 ? 0 : TAKE_OVER_MS);
      owned.set(owner, (owned.get(owner) ?? 0) + 1);
    }
    // Shares of hashes are nearly equal: these differ from the mean by less than a fifth.
    const mean = commitments.length / count;
    assert.ok([...owned.values()].every((share) => Math.abs(share - mean) < mean / 5));
    assert.equal(owned.size, count);
  });
}
