import { deepStrictEqual as equal } from "node:assert/strict";
import { LeafNode, subtreeFillToContents } from "@chainsafe/persistent-merkle-tree";
import { toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  branchRoot,
  depthOf,
  multiProofOf,
  multiProofRoot,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import { StateTree } from "../../../../../src/consensus/clients/sync_committee/spec/state_proof.ts";

const leaves = Array.from({ length: 32 }, (_, at) => LeafNode.fromRoot(new Uint8Array(32).fill(at)));
const node = subtreeFillToContents(leaves, 5);
const tree = new StateTree(node);

Deno.test("merkle: the payload header's three leaves are proved by nodes in descending order, nothing less or more", () => {
  const proved = [34, 38, 41];
  const nodes = multiProofOf(node, proved);
  equal(nodes, [40, 39, 35, 21, 18, 16, 11, 3].map((index) => tree.node(index)));
  const known = new Map(proved.map((index) => [index, tree.node(index)]));
  equal(multiProofRoot(known, nodes), toHash256(node.root));
  equal(multiProofRoot(known, nodes.slice(1)), undefined);
  equal(multiProofRoot(known, [...nodes, tree.node(3)]), undefined);
  for (const [index] of known) {
    equal(multiProofRoot(new Map(known).set(index, tree.node(3)), nodes) === tree.node(1), false);
  }
});

Deno.test("merkle: the branch of any node leads to the root, and that of another node does not", () => {
  equal([1, 2, 3, 25, 52, 63, 64, 84, 169].map(depthOf), [0, 1, 1, 4, 5, 5, 6, 6, 7]);
  for (let index = 2; index < 64; index++) {
    equal(branchRoot(tree.node(index), tree.branch(index), index), tree.node(1));
    equal(branchRoot(tree.node(index ^ 1), tree.branch(index), index) === tree.node(1), false);
  }
});
