/**
 * A growing Merkle mountain range: append leaves, ask for roots and proofs at any leaf count reached so far.
 * Nodes are never changed once written, so a proof for an old block needs no copy of the range.
 */
import { equalBytes, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { MmrProof } from "../../src/core/ismp/proof.ts";
import {
  bagPeaks,
  calculateMmrRoot,
  hashBytes,
  hashPair,
  MmrError,
  type MmrLeaf,
  type Subtree,
  toSubtrees,
} from "../../src/core/merkle/mmr.ts";

/** Position of leaf `index` in the order of node creation: 2 * index - popcount(index). */
export function leafPosition(index: bigint): bigint {
  return 2n * index - BigInt(toSubtrees(index).length);
}

/** Position of the top node of `subtree`; for height 0 the position of the leaf itself. */
export function topPosition(subtree: Subtree): bigint {
  return leafPosition(subtree.start) + (2n << BigInt(subtree.height)) - 2n;
}

/** The top of one perfect subtree. */
interface Peak {
  readonly position: bigint;
  readonly hash: Hash256;
}

/** Mountain range of the hub held in memory: about 2 hashes a leaf, append in O(log n). */
export class MountainRange {
  readonly #nodes: Uint8Array[] = [];
  #leafCount = 0n;

  /** @throws {MmrError} MalformedHash. */
  constructor(leaves: Iterable<Hash256> = []) {
    for (const leaf of leaves) this.append(leaf);
  }

  /** Leaves appended so far. */
  get leafCount(): bigint {
    return this.#leafCount;
  }

  /** Adds a leaf and the parents that it completes. @throws {MmrError} MalformedHash. */
  append(leaf: Hash256): void {
    let top = hashBytes(leaf);
    this.#nodes.push(top);
    for (let rest = this.#leafCount, width = 1; rest % 2n === 1n; rest /= 2n, width = 2 * width + 1) {
      const left = this.#nodes[this.#nodes.length - 1 - width];
      if (left === undefined) throw new Error("The left sibling of a completed subtree is missing");
      top = hashPair(left, top);
      this.#nodes.push(top);
    }
    this.#leafCount++;
  }

  /**
   * Tops of the subtrees of the first `leafCount` leaves, largest first.
   * @throws {MmrError} OutOfBoundsLeaves when the range never had so many leaves.
   */
  peaks(leafCount: bigint = this.#leafCount): Peak[] {
    this.#checkCount(leafCount);
    return toSubtrees(leafCount).map((subtree) => ({
      position: topPosition(subtree),
      hash: toHash256(this.#node(subtree)),
    }));
  }

  /**
   * Root of the range of the first `leafCount` leaves.
   * @throws {MmrError} EmptyTree for none, OutOfBoundsLeaves when the range never had so many.
   */
  root(leafCount: bigint = this.#leafCount): Hash256 {
    this.#checkCount(leafCount);
    return toHash256(bagPeaks(toSubtrees(leafCount).map((subtree) => this.#node(subtree))));
  }

  /**
   * Proof of leaves of the range of the first `leafCount` leaves, items in the order of the hub's prover: a
   * subtree without a wanted leaf gives its top, except that all subtrees right of the last wanted leaf give one
   * bagged hash (docs/protocol/hub.md section 8.1).
   * @param indexes leaf indexes, distinct, in any order.
   * @throws {MmrError} EmptyTree, EmptyLeaves, UnsortedLeaves for a repeated index, OutOfBoundsLeaves.
   */
  prove(indexes: readonly bigint[], leafCount: bigint = this.#leafCount): MmrProof {
    this.#checkCount(leafCount);
    if (leafCount === 0n) throw new MmrError("EmptyTree");
    if (indexes.length === 0) throw new MmrError("EmptyLeaves");
    const wanted = [...new Set(indexes)].sort((a, b) => (a < b ? -1 : 1));
    if (wanted.length !== indexes.length) throw new MmrError("UnsortedLeaves");
    if (wanted.some((index) => index < 0n || index >= leafCount)) throw new MmrError("OutOfBoundsLeaves");
    return {
      leafIndicesAndPos: indexes.map((leafIndex) => ({ leafIndex, pos: leafPosition(leafIndex) })),
      leafCount,
      items: this.#items(wanted, leafCount).map(toHash256),
    };
  }

  #items(wanted: readonly bigint[], leafCount: bigint): Uint8Array[] {
    const items: Uint8Array[] = [];
    const trailing: Uint8Array[] = [];
    let used = 0;
    for (const subtree of toSubtrees(leafCount)) {
      const end = subtree.start + (1n << BigInt(subtree.height));
      const first = used;
      while ((wanted[used] ?? end) < end) used++;
      if (used > first) items.push(...this.#siblings(wanted.slice(first, used), subtree));
      else if (used < wanted.length) items.push(this.#node(subtree));
      else trailing.push(this.#node(subtree));
    }
    if (trailing.length > 0) items.push(bagPeaks(trailing));
    return items;
  }

  /** The siblings that the verifier lacks inside one subtree: level by level from the leaves, left to right. */
  #siblings(wanted: readonly bigint[], subtree: Subtree): Uint8Array[] {
    const found: Uint8Array[] = [];
    let known = wanted.map((index) => index - subtree.start);
    for (let height = 0; height < subtree.height; height++) {
      const here = new Set(known);
      for (const offset of known) {
        const sibling = offset ^ 1n;
        if (here.has(sibling)) continue;
        found.push(this.#node({ start: subtree.start + (sibling << BigInt(height)), height }));
      }
      known = [...new Set(known.map((offset) => offset / 2n))];
    }
    return found;
  }

  #node(subtree: Subtree): Uint8Array {
    const node = this.#nodes[Number(topPosition(subtree))];
    if (node === undefined) throw new Error("A node below the leaf count is missing");
    return node;
  }

  #checkCount(leafCount: bigint): void {
    if (leafCount < 0n || leafCount > this.#leafCount) throw new MmrError("OutOfBoundsLeaves");
  }
}

/** The calculation of a proof ends in another root. */
export class RootMismatch extends Error {
  override readonly name = "RootMismatch";
}

/**
 * Checks that `leaves` are in the range with this `root` and `leafCount`.
 * @throws {MmrError} when the proof is malformed.
 * @throws {RootMismatch}
 */
export function verifyMmrProof(
  root: Hash256,
  proof: { readonly items: readonly Hash256[]; readonly leafCount: bigint },
  leaves: readonly MmrLeaf[],
): void {
  const calculated = calculateMmrRoot(proof.items, leaves, proof.leafCount);
  if (!equalBytes(hashBytes(calculated), hashBytes(root))) throw new RootMismatch();
}
