/**
 * The block that a timestamp means: the newest one at or before it, as in ethereum-optimism/optimism:
 * op-node/rollup/types.go (TargetBlockNumber); docs/protocol/evm-consensus.md section 7.3. Times of blocks may be
 * irregular, and block times change with upgrades, so nothing but the blocks themselves decides.
 */

/** Number and time of a block. */
export interface BlockTime {
  readonly number: bigint;
  readonly timestampSec: bigint;
}

/** Blocks to read, with the next one each: enough to halve any chain. */
const MAX_READS = 64;

/**
 * Finds the block. @param head newest block. @param blockSec seconds between its blocks. @param read times of a block and
 * the next one. @returns `before_first_block`; `undecided` while a later block may still be the one.
 */
export async function findBlockAt(
  timestampSec: bigint,
  { head, blockSec }: { readonly head: BlockTime; readonly blockSec: bigint },
  read: (number: bigint) => Promise<readonly [BlockTime, BlockTime]>,
): Promise<bigint | "before_first_block" | "undecided"> {
  if (timestampSec >= head.timestampSec) {
    return timestampSec - head.timestampSec < blockSec ? head.number : "undecided";
  }
  /** Later than the timestamp. */
  let high = head;
  /** Not later; undefined: none is known yet. */
  let low: BlockTime | undefined;
  for (let reads = 0; reads < MAX_READS; reads++) {
    const guess = low === undefined
      ? stepBack(timestampSec, { high, blockSec: blockSec / 2n ** BigInt(reads) })
      : between(timestampSec, { low, high, isHalving: reads % 2 === 1 });
    const [block, next] = await read(guess);
    if (block.timestampSec > timestampSec) {
      if (block.number === 0n) return "before_first_block";
      high = block;
    } else if (next.timestampSec > timestampSec) return block.number;
    else low = next;
    // A node that reorganizes meanwhile: the next poll finds it settled.
    if (low !== undefined && low.number >= high.number) return "undecided";
  }
  return "undecided";
}

function stepBack(
  timestampSec: bigint,
  { high, blockSec }: { readonly high: BlockTime; readonly blockSec: bigint },
): bigint {
  const tooLateSec = high.timestampSec - timestampSec;
  const blocks = blockSec < 1n ? high.number : (tooLateSec + blockSec - 1n) / blockSec;
  return blocks < high.number ? high.number - (blocks < 1n ? 1n : blocks) : 0n;
}

function between(
  timestampSec: bigint,
  { low, high, isHalving }: {
    readonly low: BlockTime;
    readonly high: BlockTime;
    readonly isHalving: boolean;
  },
): bigint {
  const span = high.number - low.number;
  if (isHalving) return low.number + span / 2n;
  return low.number + (timestampSec - low.timestampSec) * span / (high.timestampSec - low.timestampSec);
}
