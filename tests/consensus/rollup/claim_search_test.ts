// Which claims are still of interest.
import assert from "node:assert/strict";
import fc from "fast-check";
import { ClaimSearch, type L1Range, type RollupClaim } from "../../../src/consensus/rollup/claim_search.ts";
import type { Address } from "../../../src/core/evm/address.ts";

const contract: Address = `0x${"11".repeat(20)}`;
const other: Address = `0x${"22".repeat(20)}`;

const claimAt = (l1Height: bigint): RollupClaim => ({ name: `${l1Height}`, l1Height });
const [c0, c10, c20, c30] = [0n, 10n, 20n, 30n].map(claimAt) as [
  RollupClaim,
  RollupClaim,
  RollupClaim,
  RollupClaim,
];

/** A scan that finds a claim in every block whose number is a multiple of ten. */
function everyTenth(ranges: L1Range[]): (range: L1Range) => Promise<readonly RollupClaim[]> {
  return (range) => {
    ranges.push(range);
    const found: RollupClaim[] = [];
    for (let height = range.from; height <= range.to; height++) {
      if (height % 10n === 0n) found.push(claimAt(height));
    }
    return Promise.resolve(found);
  };
}

Deno.test("claim search: no L1 block is left out, whatever the steps of the hub", async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.nat({ max: 40 }), { maxLength: 30 }), async (steps) => {
    const search = new ClaimSearch();
    const ranges: L1Range[] = [];
    let height = 5n;
    for (const step of steps) {
      height += BigInt(step);
      await search.extend(contract, height, everyTenth(ranges));
    }
    if (steps.length === 0) return;
    assert.equal(ranges[0]?.from, 0n);
    assert.equal(ranges.at(-1)?.to, height);
    ranges.slice(1).forEach(({ from }, index) => assert.ok(from <= (ranges[index]?.to ?? 0n) + 1n));
    assert.equal(search.open.length, Number(height / 10n) + 1);
  }));
});

Deno.test("claim search: a search that fails is made again, and a new contract starts the search again", async () => {
  const search = new ClaimSearch();
  const ranges: L1Range[] = [];
  const fail = (): Promise<never> => Promise.reject(new Error("away"));
  await search.extend(contract, 20n, everyTenth(ranges));
  await assert.rejects(search.extend(contract, 30n, fail), /away/);
  assert.equal(await search.extend(contract, 20n, fail), undefined);
  await search.extend(contract, 1_000n, everyTenth(ranges));
  await search.extend(contract, 1_100n, everyTenth(ranges));
  assert.deepEqual(ranges, [{ from: 0n, to: 20n }, { from: 0n, to: 1_000n }, { from: 701n, to: 1_100n }]);
  assert.deepEqual(search.open, Array.from({ length: 111 }, (_, index) => claimAt(10n * BigInt(index))));
  await search.extend(other, 8000n, everyTenth(ranges));
  assert.deepEqual(ranges.at(-1), { from: 801n, to: 8000n });
});

Deno.test("claim search: at most 512 claims are kept, the newest ones", async () => {
  const search = new ClaimSearch();
  await search.extend(contract, 7000n, everyTenth([]));
  assert.equal(search.open.length, 512);
  assert.equal(search.open.at(-1)?.l1Height, 7000n);
  assert.equal(search.open[0]?.l1Height, 7000n - 5110n);
});

Deno.test("claim search: claims that failed more often come later, and only settled ones go", async () => {
  const search = new ClaimSearch();
  await search.extend(contract, 30n, everyTenth([]));
  search.noteAttempt(c30);
  assert.deepEqual(search.ordered([c30, c20, c10]), [c20, c10, c30]);
  for (let time = 0; time < 100; time++) search.noteAttempt(c20);
  assert.deepEqual(search.ordered([c30, c20, c10]), [c10, c30, c20]);
  assert.deepEqual(search.open, [c0, c10, c20, c30]);
  search.settle(c0);
  assert.deepEqual(search.open, [c10, c20, c30]);
});

Deno.test("claim search: what contradicts the L1 is read again, and its entry stays", async () => {
  const search = new ClaimSearch<RollupClaim & { readonly version: number }>();
  const ranges: L1Range[] = [];
  const found = (version: number): RollupClaim & { readonly version: number } => ({
    ...claimAt(15n),
    version,
  });
  const scan = (version: number) => (range: L1Range): ReturnType<Parameters<typeof search.extend>[2]> => {
    ranges.push(range);
    return Promise.resolve([found(version)]);
  };
  await search.extend(contract, 10n, scan(0));
  await search.extend(contract, 20n, scan(0));
  search.distrust(found(0));
  await search.extend(contract, 20n, scan(1));
  assert.deepEqual(search.open, [found(1)]);
  assert.equal(await search.extend(contract, 20n, scan(2)), undefined);
  assert.deepEqual(ranges.at(-1), { from: 0n, to: 20n });
  search.distrust(claimAt(99n));
  assert.equal(await search.extend(contract, 20n, scan(2)), undefined);
});

Deno.test("claim search: a reason is news once, and again after an offer", async () => {
  const search = new ClaimSearch();
  await search.extend(contract, 30n, everyTenth([]));
  const reasons = ["early", "early", "late", "early"].map((reason) => search.noteReason(c10, reason));
  assert.deepEqual(reasons, [true, false, true, true]);
  search.noteReason(c10, undefined);
  assert.equal(search.noteReason(c10, "early"), true);
  assert.equal(search.noteReason(claimAt(11n), "early"), false);
});

Deno.test("claim search: a settled claim is not found again where blocks are searched twice", async () => {
  const search = new ClaimSearch();
  await search.extend(contract, 20n, everyTenth([]));
  search.settle(c10);
  search.noteAttempt(c20);
  await search.extend(contract, 30n, everyTenth([]));
  assert.deepEqual(search.open, [c0, c20, c30]);
  assert.deepEqual(search.ordered([c20, c0]), [c0, c20], "attempts are not forgotten");
});
