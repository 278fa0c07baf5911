import { deepStrictEqual as equal, notDeepStrictEqual as differs } from "node:assert/strict";
import fc from "fast-check";
import { type Hash256, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  branchRoot,
  depthOf,
  helperIndices,
  multiproofRoot,
  sha256Pair,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";

const DEPTH = 5;
const LEAVES = 2 ** DEPTH;
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => toHash256(bytes));

/** Nodes by generalized index; index 0 is unused. */
function treeOf(leaves: readonly Hash256[]): Hash256[] {
  const tree: Hash256[] = [...leaves, ...leaves];
  for (let index = LEAVES - 1; index >= 1; index--) {
    tree[index] = sha256Pair(node(tree, 2 * index), node(tree, 2 * index + 1));
  }
  return tree;
}

function node(tree: readonly Hash256[], index: number): Hash256 {
  const found = tree[index];
  if (found === undefined) throw new Error(`No node ${index}`);
  return found;
}

const anyTree = fc.array(hash, { minLength: LEAVES, maxLength: LEAVES }).map(treeOf);

Deno.test("merkle: helpers of the payload header's three leaves come in descending order", () => {
  equal(helperIndices([34, 38, 41]), [40, 39, 35, 21, 18, 16, 11, 3]);
  equal(helperIndices([88]), [89, 45, 23, 10, 4, 3]);
});

Deno.test("merkle: depth of generalized indices", () => {
  equal([1, 2, 3, 25, 52, 63, 64, 84, 169].map(depthOf), [0, 1, 1, 4, 5, 5, 6, 6, 7]);
});

Deno.test("merkle: the branch of any node leads to the root, a changed one does not", () => {
  fc.assert(
    fc.property(anyTree, fc.integer({ min: 2, max: 2 * LEAVES - 1 }), hash, (tree, index, other) => {
      const branch: Hash256[] = [];
      for (let at = index; at > 1; at >>= 1) branch.push(node(tree, at ^ 1));
      equal(branchRoot(node(tree, index), branch, index), node(tree, 1));
      differs(branchRoot(other, branch, index), node(tree, 1));
    }),
    { numRuns: 30 },
  );
});

Deno.test("merkle: any set of leaves is proved by their helpers and by nothing less or more", () => {
  const leaf = fc.integer({ min: LEAVES, max: 2 * LEAVES - 1 });
  fc.assert(
    fc.property(
      anyTree,
      fc.uniqueArray(leaf, { minLength: 1, maxLength: 8 }),
      hash,
      (tree, chosen, extra) => {
        const leaves = new Map(chosen.map((index) => [index, node(tree, index)]));
        const helpers = helperIndices(chosen).map((index) => node(tree, index));
        equal(multiproofRoot(leaves, helpers), node(tree, 1));
        equal(multiproofRoot(leaves, [...helpers, extra]), undefined);
        if (helpers.length > 0) equal(multiproofRoot(leaves, helpers.slice(1)), undefined);
        const [first = LEAVES] = chosen;
        differs(multiproofRoot(new Map(leaves).set(first, extra), helpers), node(tree, 1));
      },
    ),
    { numRuns: 30 },
  );
});
