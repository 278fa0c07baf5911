import assert from "node:assert/strict";
import fc from "fast-check";
import { type Hash256, keccak256, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { mmrProofCodec } from "../../../src/core/ismp/proof.ts";
import { calculateMmrRoot, MmrError, type MmrErrorCode, type MmrLeaf } from "../../../src/core/merkle/mmr.ts";
import { MountainRange, RootMismatch, verifyMmrProof } from "../../../devnet/trie/mmr_range.ts";
import evmVectors from "../../vectors/evm-mmr-proofs.json" with { type: "json" };
import hubVectors from "../../vectors/hub-mmr-and-tries.json" with { type: "json" };

/** Leaf rule of evm-mmr-proofs.json: keccak256 of the index as u64 big endian. */
function leafHash(index: number): Hash256 {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(index));
  return toHash256(keccak256(bytes));
}

function range(leafCount: number): MountainRange {
  return new MountainRange(Array.from({ length: leafCount }, (_, index) => leafHash(index)));
}

function leavesAt(indexes: readonly number[]): MmrLeaf[] {
  return indexes.map((index) => ({ index: BigInt(index), hash: leafHash(index) }));
}

function refuses(code: MmrErrorCode, action: () => unknown): void {
  assert.throws(action, (error) => error instanceof MmrError && error.code === code);
}

const isRefusal = (error: unknown): boolean => error instanceof MmrError || error instanceof RootMismatch;

const flip = (hash: string): Hash256 => toHash256(hash.slice(0, -1) + (hash.endsWith("0") ? "1" : "0"));

Deno.test("mmr: all 63 EVM proofs verify and are generated the same", () => {
  assert.equal(evmVectors.cases.length, 63);
  for (const { leaf_count, leaf_indices, root, items } of evmVectors.cases) {
    const tree = range(leaf_count);
    const made = tree.prove(leaf_indices.map(BigInt));
    assert.equal(tree.root(), root);
    assert.deepEqual(made.items, items);
    assert.equal(made.leafCount, BigInt(leaf_count));
    verifyMmrProof(toHash256(root), made, leavesAt(leaf_indices));
  }
});

Deno.test("mmr: changed, dropped, added and reordered items, leaves and counts of every EVM proof are refused", () => {
  for (const { leaf_count, leaf_indices, root, items: hex } of evmVectors.cases) {
    const items = hex.map(toHash256);
    const leaves = leavesAt(leaf_indices);
    const check = (changed: readonly Hash256[], of = leaves, leafCount = BigInt(leaf_count)): void =>
      verifyMmrProof(toHash256(root), { items: changed, leafCount }, of);
    items.forEach((item, at) => assert.throws(() => check(items.with(at, flip(item))), RootMismatch));
    leaves.forEach((leaf, at) =>
      assert.throws(() => check(items, leaves.with(at, { ...leaf, hash: flip(leaf.hash) })), RootMismatch)
    );
    refuses("UnconsumedProof", () => check([...items, leafHash(0), ...Array(8).fill(leafHash(1))]));
    items.forEach((_, at) => assert.throws(() => check(items.toSpliced(at, 1)), isRefusal));
    const [first, second] = items;
    if (first !== undefined && second !== undefined) {
      assert.throws(() => check([second, first, ...items.slice(2)]), RootMismatch);
    }
    assert.throws(() => check(items, leaves, BigInt(2 * leaf_count + 1)), isRefusal);
    assert.throws(
      () => verifyMmrProof(flip(root), { items, leafCount: BigInt(leaf_count) }, leaves),
      RootMismatch,
    );
  }
});

Deno.test("mmr: roots, peaks and proofs are those of the hub runtime", () => {
  const leafHashes = hubVectors.leafHashes.map((hash) => toHash256(hash));
  const whole = new MountainRange(leafHashes);
  assert.equal(hubVectors.mmr.length, 10);
  for (const { leafCount, root, peaks, proofs } of hubVectors.mmr) {
    const count = BigInt(leafCount);
    assert.equal(whole.root(count), root);
    assert.deepEqual(
      whole.peaks(count).map(({ position, hash }) => [Number(position), hash]),
      peaks,
    );
    for (const proof of proofs) {
      const made = whole.prove(proof.leaves.map(({ index }) => BigInt(index)), count);
      assert.deepEqual(made, {
        leafIndicesAndPos: proof.leaves.map(({ index, position }) => ({
          leafIndex: BigInt(index),
          pos: BigInt(position),
        })),
        leafCount: BigInt(proof.leafCount),
        items: proof.items,
      });
      assert.equal(toHex(mmrProofCodec.enc(made)), proof.scale);
      const leaves = proof.leaves.map(({ index, hash }) => ({ index: BigInt(index), hash: toHash256(hash) }));
      verifyMmrProof(toHash256(root), made, leaves.toSorted((a, b) => Number(a.index - b.index)));
    }
  }
});

Deno.test("mmr: each condition of the Solidity library is refused with its own code", () => {
  const tree = range(11);
  const proof = tree.prove([3n, 5n, 8n]);
  const leaves = leavesAt([3, 5, 8]);
  const check = (items: readonly Hash256[], of: readonly MmrLeaf[], count: bigint) => (): unknown =>
    calculateMmrRoot(items, of, count);
  refuses("EmptyTree", check(proof.items, leaves, 0n));
  refuses("EmptyTree", check([], [], 0n));
  refuses("EmptyLeaves", check(proof.items, [], 11n));
  refuses("UnsortedLeaves", check(proof.items, leavesAt([5, 3, 8]), 11n));
  refuses("UnsortedLeaves", check(proof.items, leavesAt([3, 3, 8]), 11n));
  refuses("OutOfBoundsLeaves", check(proof.items, leavesAt([3, 5, 11]), 11n));
  refuses("OutOfBoundsLeaves", check([], leavesAt([1]), 1n));
  refuses("OutOfBoundsLeaves", check([], [{ index: -1n, hash: leafHash(0) }], 2n));
  refuses("OutOfBoundsLeaves", check([], leavesAt([10]), 11n));
  refuses("ProofExhausted", check(proof.items.slice(0, 2), leaves, 11n));
  refuses("UnconsumedProof", check([...proof.items, leafHash(0)], leaves, 11n));
  refuses("UnconsumedProof", check([leafHash(0)], leavesAt([0]), 1n));
  refuses("MalformedHash", check(["0x12", ...proof.items.slice(1)], leaves, 11n));
  assert.equal(calculateMmrRoot(proof.items, leaves, 11n), tree.root());
});

Deno.test("mmr: trailing peaks are accepted as separate items too, as in the Solidity library", () => {
  const tree = range(7);
  const [, second, third] = tree.peaks();
  assert(second !== undefined && third !== undefined);
  const items = [...tree.prove([0n]).items.slice(0, 2), second.hash, third.hash];
  assert.equal(calculateMmrRoot(items, leavesAt([0]), 7n), tree.root());
});

Deno.test("mmr: any set of leaves of any range has a proof, also for an earlier leaf count", () => {
  const tree = range(300);
  const question = fc.integer({ min: 1, max: 300 }).chain((count) =>
    fc.tuple(fc.constant(count), fc.uniqueArray(fc.nat(count - 1), { minLength: 1, maxLength: 40 }))
  );
  fc.assert(
    fc.property(question, ([count, indexes]) => {
      const leafCount = BigInt(count);
      const proof = tree.prove(indexes.map(BigInt), leafCount);
      const leaves = leavesAt(indexes.toSorted((a, b) => a - b));
      verifyMmrProof(tree.root(leafCount), proof, leaves);
      assert.equal(tree.root(leafCount), range(count).root());
      if (proof.items.length > 0) {
        const items = proof.items.slice(1);
        assert.throws(() => verifyMmrProof(tree.root(leafCount), { items, leafCount }, leaves), isRefusal);
      }
    }),
    { numRuns: 60 },
  );
});
