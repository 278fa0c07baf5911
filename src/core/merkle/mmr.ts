/**
 * Merkle mountain range of the hub: positions, peaks, and the check that EVM hosts make on its proofs.
 */
import { CodedError, mapError } from "../encoding/coded_error.ts";
import { concatBytes, fromHex, type Hash256, keccak256, toHash256 } from "../encoding/bytes.ts";

/**
 * Reason why a proof is refused. The first six are the custom errors of the Solidity library and appear in the same
 * situations (`@polytope-labs/solidity-merkle-trees` 1.1.0: src/MerkleMountainRange.sol).
 */
export type MmrErrorCode =
  /** The leaf count is zero. */
  | "EmptyTree"
  /** No leaf is to be proven. */
  | "EmptyLeaves"
  /** Leaf indexes are not strictly ascending; covers duplicates. */
  | "UnsortedLeaves"
  /** A leaf index is not below the leaf count, or its subtree was cut off by an early end of the items. */
  | "OutOfBoundsLeaves"
  /** An item is missing. */
  | "ProofExhausted"
  /** Items are left over. */
  | "UnconsumedProof"
  /** A leaf, item or root is not 32 bytes of hex. */
  | "MalformedHash";

/** Invalid proof of the mountain range, or a request that the range cannot answer. */
export class MmrError extends CodedError<MmrErrorCode> {
  override readonly name = "MmrError";
}

/** A leaf to prove: its index over the whole range (from 0) and its hash, on the hub the commitment. */
export interface MmrLeaf {
  readonly index: bigint;
  readonly hash: Hash256;
}

/** A perfect subtree of 2^height leaves, the first of which has index `start`. */
export interface Subtree {
  readonly start: bigint;
  readonly height: number;
}

/** Hash of two siblings: keccak256(left ++ right) (docs/protocol/hub.md section 8.1). */
export function hashPair(left: Uint8Array, right: Uint8Array): Uint8Array {
  return keccak256(concatBytes(left, right));
}

/** The perfect subtrees of a range of `leafCount` leaves, largest first; none for 0 leaves. */
export function toSubtrees(leafCount: bigint): Subtree[] {
  const subtrees: Subtree[] = [];
  const bits = leafCount.toString(2);
  let start = 0n;
  for (let bit = 0; bit < bits.length; bit++) {
    if (bits[bit] !== "1") continue;
    const height = bits.length - 1 - bit;
    subtrees.push({ start, height });
    start += 1n << BigInt(height);
  }
  return subtrees;
}

/**
 * One hash over the tops of all subtrees, bagged from the right: `acc = keccak256(acc ++ top to its left)`.
 * @param peaks tops from left (largest subtree) to right, at least one.
 * @throws {MmrError} EmptyTree.
 */
export function bagPeaks(peaks: readonly Uint8Array[]): Uint8Array {
  const last = peaks.at(-1);
  if (last === undefined) throw new MmrError("EmptyTree");
  return peaks.slice(0, -1).reduceRight((right, left) => hashPair(right, left), last);
}

/**
 * Calculates the root of `items` and `leaves` as the Solidity library does (`@polytope-labs/solidity-merkle-trees`
 * 1.1.0: CalculateRoot, and used by polytope-labs/hyperbridge: evm/src/core/HandlerV2.sol).
 *
 * Left to right over the subtrees: one without a wanted leaf takes an item as its top, or ends the walk when the
 * items are used up; otherwise the wanted leaves climb level by level, each missing sibling being the next item.
 * @param leaves in ascending order of index.
 * @throws {MmrError}
 */
export function calculateMmrRoot(
  items: readonly Hash256[],
  leaves: readonly MmrLeaf[],
  leafCount: bigint,
): Hash256 {
  checkLeaves(leaves, leafCount);
  const left = [...items];
  const peaks: Uint8Array[] = [];
  let used = 0;
  for (const subtree of toSubtrees(leafCount)) {
    const end = subtree.start + (1n << BigInt(subtree.height));
    const first = used;
    while ((leaves[used]?.index ?? end) < end) used++;
    if (used > first) peaks.push(climb(leaves.slice(first, used), subtree, left));
    else if (left.length === 0) break;
    else peaks.push(nextItem(left));
  }
  if (used < leaves.length) throw new MmrError("OutOfBoundsLeaves");
  if (left.length > 0) throw new MmrError("UnconsumedProof");
  return toHash256(bagPeaks(peaks));
}

/**
 * The 32 bytes of a hash.
 * @throws {MmrError} MalformedHash.
 */
export function hashBytes(hash: Hash256): Uint8Array {
  return mapError(
    RangeError,
    () => fromHex(toHash256(hash)),
    (cause) => new MmrError("MalformedHash", { cause }),
  );
}

/** The conditions on the leaves that hold before any hashing, in the order of the Solidity library. */
function checkLeaves(leaves: readonly MmrLeaf[], leafCount: bigint): void {
  if (leafCount <= 0n) throw new MmrError("EmptyTree");
  if (leaves.length === 0) throw new MmrError("EmptyLeaves");
  let previous: bigint | undefined;
  for (const { index } of leaves) {
    if (index < 0n) throw new MmrError("OutOfBoundsLeaves");
    if (previous !== undefined && index <= previous) throw new MmrError("UnsortedLeaves");
    previous = index;
  }
}

/** Takes the next item of a proof. */
function nextItem(left: Hash256[]): Uint8Array {
  const item = left.shift();
  if (item === undefined) throw new MmrError("ProofExhausted");
  return hashBytes(item);
}

/** Top hash of a subtree from its wanted leaves (at least one) and the siblings that `left` supplies. */
function climb(leaves: readonly MmrLeaf[], subtree: Subtree, left: Hash256[]): Uint8Array {
  let level = leaves.map(({ index, hash }) => ({ offset: index - subtree.start, hash: hashBytes(hash) }));
  for (let height = 0; height < subtree.height; height++) {
    const parents: typeof level = [];
    for (let i = 0; i < level.length; i++) {
      const node = level[i];
      if (node === undefined) break;
      const neighbour = level[i + 1];
      const isPair = neighbour !== undefined && neighbour.offset === (node.offset ^ 1n);
      if (isPair) i++;
      const sibling = isPair ? neighbour.hash : nextItem(left);
      const isLeft = node.offset % 2n === 0n;
      parents.push({
        offset: node.offset / 2n,
        hash: isLeft ? hashPair(node.hash, sibling) : hashPair(sibling, node.hash),
      });
    }
    level = parents;
  }
  const top = level[0];
  if (top === undefined) throw new Error("A subtree without leaves cannot be climbed");
  return top.hash;
}
