/**
 * The binary trees of BEEFY (Keccak-256 over pairs, an odd last node moves up unchanged) and proofs of several leaves.
 * Source: paritytech/polkadot-sdk: substrate/utils/binary-merkle-tree;
 * `@polytope-labs/solidity-merkle-trees` 1.1.0: MerkleMultiProof.sol.
 */
import { fromHex, type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { hashPair } from "../../../../core/merkle/mmr.ts";
import { BeefyError } from "../../../../core/beefy/commitment.ts";

/** A leaf with its index. */
export interface TreeLeaf {
  readonly index: number;
  readonly hash: Hash256;
}

function hashOf(left: Hash256, right: Hash256): Hash256 {
  return toHash256(hashPair(fromHex(left), fromHex(right)));
}

/** Nodes of all levels, leaves first; the last level is the root. */
function levelsOf(leaves: readonly Hash256[]): readonly (readonly Hash256[])[] {
  const levels: (readonly Hash256[])[] = [leaves];
  for (let level = leaves; level.length > 1;) {
    const above: Hash256[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const [left, right] = [level[at], level[at + 1]];
      if (left !== undefined) above.push(right === undefined ? left : hashOf(left, right));
    }
    levels.push(above);
    level = above;
  }
  return levels;
}

const ZERO = toHash256(new Uint8Array(32));

/** Root of a tree; zeros for one without leaves. */
export function merkleRoot(leaves: readonly Hash256[]): Hash256 {
  return levelsOf(leaves).at(-1)?.[0] ?? ZERO;
}

/**
 * Nodes that lead from some leaves to the root: level by level, left to right, each unknown sibling. @param indexes
 * ascending.
 */
export function merkleMultiProof(leaves: readonly Hash256[], indexes: readonly number[]): readonly Hash256[] {
  const items: Hash256[] = [];
  let known = [...indexes];
  for (const level of levelsOf(leaves).slice(0, -1)) {
    const isKnown = new Set(known);
    for (const index of known) {
      const sibling = level[index ^ 1];
      if (sibling !== undefined && !isKnown.has(index ^ 1)) items.push(sibling);
    }
    known = [...new Set(known.map((index) => index >> 1))];
  }
  return items;
}

/**
 * Calculates the root of leaves and proof as the contract does: unused items are ignored. @throws {BeefyError}
 * `leaf_index_out_of_bounds`, `unsorted_leaves`, `proof_exhausted`
 */
export function calculateMerkleRoot(
  proof: readonly Hash256[],
  leaves: readonly TreeLeaf[],
  leafCount: number,
): Hash256 {
  if (leafCount === 0 || leaves.length === 0) throw new BeefyError("proof_exhausted");
  leaves.forEach(({ index }, at) => {
    if (index >= leafCount) throw new BeefyError("leaf_index_out_of_bounds");
    if (at > 0 && index <= (leaves[at - 1]?.index ?? 0)) throw new BeefyError("unsorted_leaves");
  });
  let level = leaves;
  let used = 0;
  for (let count = leafCount; count > 1; count = Math.ceil(count / 2)) {
    const above: TreeLeaf[] = [];
    for (let at = 0; at < level.length; at++) {
      const node = level[at];
      if (node === undefined) break;
      const sibling = node.index ^ 1;
      const next = level[at + 1];
      if (next?.index === sibling) {
        above.push({ index: node.index >> 1, hash: hashOf(node.hash, next.hash) });
        at++;
      } else if (sibling < count) {
        const item = proof[used++];
        if (item === undefined) throw new BeefyError("proof_exhausted");
        const hash = sibling > node.index ? hashOf(node.hash, item) : hashOf(item, node.hash);
        above.push({ index: node.index >> 1, hash });
      } else {
        above.push({ index: node.index >> 1, hash: node.hash });
      }
    }
    level = above;
  }
  return level[0]?.hash ?? ZERO;
}
