/**
 * SHA-256 Merkle proofs of SSZ trees: one leaf by its branch, several by the sibling nodes of their paths. Own
 * arithmetic: @chainsafe/persistent-merkle-tree rebuilds trees from descriptors and orders nodes differently. Source:
 * ethereum/consensus-specs: ssz/merkle-proofs.md; polytope-labs/ssz-rs: src/merkleization/proofs.rs.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, fromHex, type Hash256, toHex } from "../../../../core/encoding/bytes.ts";

/** Parent of two nodes. */
export function sha256Pair(left: Hash256, right: Hash256): Hash256 {
  return toHex(sha256(concatBytes(fromHex(left), fromHex(right))));
}

/** Nodes between a leaf and its root. */
export function depthOf(generalizedIndex: number): number {
  return Math.floor(Math.log2(generalizedIndex));
}

/** Root of the tree that has `leaf` at the index and `branch` (bottom up) as siblings of the path. */
export function branchRoot(leaf: Hash256, branch: readonly Hash256[], generalizedIndex: number): Hash256 {
  let index = generalizedIndex;
  let node = leaf;
  for (const sibling of branch) {
    node = index % 2 === 0 ? sha256Pair(node, sibling) : sha256Pair(sibling, node);
    index = Math.floor(index / 2);
  }
  return node;
}

/** Node of zeros. */
export const ZERO_NODE: Hash256 = `0x${"00".repeat(32)}`;

/**
 * A branch of an older fork without the zero nodes in front of it, by which nodes lengthen it after a later fork
 * (consensus-specs: specs/electra/light-client/fork.md, normalize_merkle_branch).
 */
export function withoutPadding(branch: readonly Hash256[], generalizedIndex: number): readonly Hash256[] {
  const surplus = branch.length - depthOf(generalizedIndex);
  const isPadded = surplus > 0 && branch.slice(0, surplus).every((node) => node === ZERO_NODE);
  return isPadded ? branch.slice(surplus) : branch;
}

/** Indices of the nodes that a proof of several leaves needs, in the order in which it lists them: descending. */
export function helperIndices(leaves: readonly number[]): number[] {
  const paths = new Set(leaves.flatMap((leaf) => pathOf(leaf)));
  const siblings = new Set([...paths].filter((index) => index > 1).map((index) => index ^ 1));
  return [...siblings].filter((index) => !paths.has(index)).sort((a, b) => b - a);
}

function pathOf(leaf: number): number[] {
  const path: number[] = [];
  for (let index = leaf; index >= 1; index = index >> 1) path.push(index);
  return path;
}

/**
 * Root of the tree with these leaves; `helpers` are the nodes of {@link helperIndices} in that order.
 * @returns undefined when there are too few or too many helpers.
 */
export function multiproofRoot(
  leaves: ReadonlyMap<number, Hash256>,
  helpers: readonly Hash256[],
): Hash256 | undefined {
  const indices = helperIndices([...leaves.keys()]);
  if (helpers.length !== indices.length) return undefined;
  const nodes = new Map(leaves);
  indices.forEach((index, at) => {
    const helper = helpers[at];
    if (helper !== undefined) nodes.set(index, helper);
  });
  for (let index = Math.max(...nodes.keys()) & ~1; index > 1; index -= 2) {
    const [left, right] = [nodes.get(index), nodes.get(index + 1)];
    if (left !== undefined && right !== undefined) nodes.set(index >> 1, sha256Pair(left, right));
  }
  return nodes.get(1);
}

/** Branch of a node, bottom up, where the nodes of the tree are known by their indices. */
export function branchOfNodes(
  generalizedIndex: number,
  nodeAt: (index: number) => Hash256 | undefined,
): Hash256[] {
  const branch: Hash256[] = [];
  for (let index = generalizedIndex; index > 1; index = Math.floor(index / 2)) {
    const sibling = nodeAt(index ^ 1);
    if (sibling === undefined) throw new RangeError(`No node beside ${index}`);
    branch.push(sibling);
  }
  return branch;
}
