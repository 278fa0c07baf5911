/**
 * Selection of the relay chain block to prove: pure decisions. Source: docs/protocol/hub-consensus.md sections 5.3 and
 * 5.4.
 */

/** Mountains of up to 2^6 leaves are small enough to stop the search. */
export const SMALL_MOUNTAIN = 6;

/** Leaves of the mountain range at a block; the first block after the activation has one. */
export function leafCountAt(block: number, activationBlock: bigint): bigint {
  return BigInt(block) - activationBlock;
}

/**
 * Height of the last mountain at a block: 2^height leaves must be read where the node cannot prove the leaf itself.
 */
export function lastMountainHeight(block: number, activationBlock: bigint): number {
  const count = leafCountAt(block, activationBlock);
  if (count <= 0n) return Infinity;
  let height = 0;
  while ((count >> BigInt(height) & 1n) === 0n) height++;
  return height;
}

/**
 * Sorts blocks by preference: those with a small last mountain first, the newest or the oldest of them; then those with
 * larger ones.
 */
export function inOrderOfPreference<B extends { readonly number: number }>(
  blocks: readonly B[],
  activationBlock: bigint,
  first: "newest" | "oldest",
): readonly B[] {
  const cost = ({ number }: B): number =>
    Math.max(SMALL_MOUNTAIN, lastMountainHeight(number, activationBlock));
  const sign = first === "newest" ? -1 : 1;
  return blocks
    .filter(({ number }) => leafCountAt(number, activationBlock) > 0n)
    .toSorted((a, b) => cost(a) - cost(b) || sign * (a.number - b.number));
}
