import assert from "node:assert/strict";
import fc from "fast-check";
import {
  boundCatchUp,
  CATCH_UP_LIMIT_SEC,
  chooseScanStart,
  nextChunk,
  ScanWidth,
} from "../../../../src/messaging/relay/decisions/heights.ts";

/** A block every 12 seconds. */
const twelve = (height: bigint): Promise<bigint> => Promise.resolve(height * 12n);
const begun = { initialHeight: undefined, cursor: undefined, observed: 70n, knownForSec: 0n };

Deno.test("chooseScanStart: a first start begins at the height that the target knows, a restart at the cursor, both without a question", async () => {
  const unasked = (): Promise<bigint> => assert.fail("a block's time was asked for");
  const first = { scanned: 70n, skipped: undefined, because: "first_start" };
  assert.deepEqual(await chooseScanStart(unasked, { ...begun, knownForSec: 5n }), first);
  const restart = { scanned: 50n, skipped: undefined, because: "cursor" };
  assert.deepEqual(
    await chooseScanStart(unasked, { ...begun, cursor: 50n, knownForSec: 9_000n }),
    restart,
  );
});

Deno.test("chooseScanStart: a chain that was left out begins as long before the known height as it has been known", async () => {
  const observed = 200_000n;
  for (const knownForSec of [6n, 12n, 240n, 86_400n, 30n * 86_400n]) {
    let asked = 0;
    const timeOf = (height: bigint): Promise<bigint> => {
      asked++;
      return twelve(height);
    };
    const { scanned, because } = await chooseScanStart(timeOf, { ...begun, observed, knownForSec });
    const sec = observed * 12n - (knownForSec < CATCH_UP_LIMIT_SEC ? knownForSec : CATCH_UP_LIMIT_SEC);
    assert.equal(because, "late_start");
    assert.ok(await twelve(scanned) < sec, "nothing since then is left out");
    assert.ok(scanned === observed || await twelve(scanned + 1n) >= sec, "nothing before is read");
    assert.ok(asked <= 40, `${asked} questions`);
  }
  const young = await chooseScanStart(twelve, { ...begun, observed: 3n, knownForSec: 900n });
  assert.equal(young.scanned, 0n, "a chain that is younger is read from its first block");
});

Deno.test("chooseScanStart: initial_height wins below, at and above the cursor; above it names what is skipped (F7)", async () => {
  const because = "initial_height";
  for (
    const [initialHeight, skipped] of [
      [10n, undefined],
      [50n, undefined],
      [60n, { from: 51n, to: 60n }],
    ] as const
  ) {
    const facts = { ...begun, initialHeight, cursor: 50n, knownForSec: 900n };
    assert.deepEqual(await chooseScanStart(twelve, facts), { scanned: initialHeight, skipped, because });
  }
});

Deno.test("nextChunk: chunks cover every observed block exactly once, in order", () => {
  const height = fc.bigInt({ min: 0n, max: 5_000n });
  fc.assert(
    fc.property(height, height, fc.option(fc.bigInt({ min: 1n, max: 700n })), (scanned, observed, size) => {
      let cursor = scanned;
      for (;;) {
        const chunk = nextChunk(cursor, observed, size ?? undefined);
        if (chunk === undefined) break;
        assert.equal(chunk.from, cursor + 1n);
        assert.ok(chunk.to >= chunk.from && chunk.to <= observed);
        assert.ok(size === null || chunk.to - chunk.from < size);
        cursor = chunk.to;
      }
      assert.equal(cursor, observed > scanned ? observed : scanned);
    }),
  );
});

Deno.test("ScanWidth: chunks of a busy chain shrink to about a thousand events, those of a quiet one grow", () => {
  const density = fc.integer({ min: 0, max: 5_000 }); // events a block
  fc.assert(
    fc.property(density, fc.option(fc.bigInt({ min: 1n, max: 200n })), (perBlock, most) => {
      const width = new ScanWidth();
      for (let chunk = 0; chunk < 20; chunk++) {
        const blocks = width.next(most ?? undefined);
        assert.ok(blocks >= 1n && (most === null || blocks <= most));
        width.learn({ blocks, events: Number(blocks) * perBlock });
      }
      const learned = width.next(most ?? undefined);
      assert.ok(learned === 1n || Number(learned) * perBlock <= 1_000);
      if (perBlock === 0) assert.ok(learned >= (most ?? 10n ** 9n));
    }),
  );
});

Deno.test("ScanWidth: a chunk that was short for want of blocks says nothing about wider ones", () => {
  const width = new ScanWidth();
  const before = width.next(undefined);
  for (let chunk = 0; chunk < 10; chunk++) width.learn({ blocks: before - 1n, events: 0 });
  assert.equal(width.next(undefined), before);
});

Deno.test("boundCatchUp: a gap shorter than the limit is read whole, with one question (F7)", async () => {
  let asked = 0;
  const scanned = await boundCatchUp((height) => {
    asked++;
    return Promise.resolve(height * 12n);
  }, { scanned: 100n, observed: 1_000n, nowSec: 12_000n });
  assert.equal(scanned, 100n);
  assert.equal(asked, 1);
});

Deno.test("boundCatchUp: of a longer gap exactly the blocks younger than the limit are read (F7)", async () => {
  const timeOf = (height: bigint) => Promise.resolve(height * 12n);
  const nowSec = 12n * 200_000n;
  const scanned = await boundCatchUp(timeOf, { scanned: 10n, observed: 200_000n, nowSec });
  assert.ok(await timeOf(scanned) < nowSec - CATCH_UP_LIMIT_SEC);
  assert.ok(await timeOf(scanned + 1n) >= nowSec - CATCH_UP_LIMIT_SEC);
});
