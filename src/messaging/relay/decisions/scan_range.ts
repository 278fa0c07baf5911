/**
 * Decides which blocks of the source a leg reads next. Pure.
 * Rules: docs/protocol/messaging.md section 6.3 (cursor `scanned`, height `observed`).
 */

/** Where a leg starts to read, and what is left out. */
export interface ScanStart {
  /** Every block up to and including this one counts as read. */
  readonly scanned: bigint;
  /** Blocks that are left out on purpose, both inclusive; told to the operator. */
  readonly skipped: { readonly from: bigint; readonly to: bigint } | undefined;
  readonly because: "initial_height" | "cursor" | "first_start";
}

/**
 * First cursor of a leg after a start of the program.
 * A configured `initial_height` wins over the stored cursor; without either the leg starts from now, which is
 * the target's height of the source (not the source's own head, which no proof covers yet).
 */
export function chooseScanStart(facts: {
  readonly initialHeight: bigint | undefined;
  readonly cursor: bigint | undefined;
  readonly observed: bigint;
}): ScanStart {
  const { initialHeight, cursor, observed } = facts;
  if (initialHeight !== undefined) {
    const skips = cursor !== undefined && initialHeight > cursor;
    return {
      scanned: initialHeight,
      skipped: skips ? { from: cursor + 1n, to: initialHeight } : undefined,
      because: "initial_height",
    };
  }
  if (cursor !== undefined) return { scanned: cursor, skipped: undefined, because: "cursor" };
  return { scanned: observed, skipped: undefined, because: "first_start" };
}

/** Next chunk of blocks to read, both inclusive; `undefined` when everything observed is read. */
export function nextChunk(
  scanned: bigint,
  observed: bigint,
  blocksPerQuery: bigint | undefined,
): { readonly from: bigint; readonly to: bigint } | undefined {
  if (observed <= scanned) return undefined;
  const from = scanned + 1n;
  const last = blocksPerQuery === undefined ? observed : from + blocksPerQuery - 1n;
  return { from, to: last < observed ? last : observed };
}

/** Events of one chunk that are aimed at: a chunk is held in memory, and written in one transaction. */
const AIMED_EVENTS = 500;

/** Width of the first chunk, in blocks: nothing is known of how much happens in them. */
const FIRST_BLOCKS = 1n;

/** Factor by which chunks grow while little happens. */
const GROWTH = 4n;

/**
 * How many blocks of one chain are read at once, so that a chunk holds about five hundred events. What was learned
 * lasts from scan to scan; it is a matter of memory only, so a new start may begin again.
 */
export class ScanWidth {
  #blocks = FIRST_BLOCKS;

  /** Maximum number of blocks of the next chunk; `max` is what the chain's nodes take. */
  next(max: bigint | undefined): bigint {
    return max === undefined || this.#blocks < max ? this.#blocks : max;
  }

  /** Learns from a chunk of `blocks` blocks that held `events` events. */
  learn({ blocks, events }: { readonly blocks: bigint; readonly events: number }): void {
    if (events > AIMED_EVENTS) {
      const fitting = blocks * BigInt(AIMED_EVENTS) / BigInt(events);
      this.#blocks = fitting > 0n ? fitting : 1n;
    } else if (blocks >= this.#blocks && BigInt(events) * GROWTH <= BigInt(AIMED_EVENTS)) {
      this.#blocks *= GROWTH;
    }
  }
}

/** Age beyond which blocks are not caught up after an outage, seconds (7 days). */
export const CATCH_UP_LIMIT_SEC = 7n * 24n * 3600n;

/**
 * Finds the first block that is younger than the catch-up limit, by bisection over block times.
 * @param timeOf Unix seconds of a block
 * @returns the new cursor: `scanned` itself when nothing has to be left out.
 */
export async function boundCatchUp(
  timeOf: (height: bigint) => Promise<bigint>,
  facts: { readonly scanned: bigint; readonly observed: bigint; readonly nowSec: bigint },
): Promise<bigint> {
  const oldest = facts.nowSec - CATCH_UP_LIMIT_SEC;
  if (facts.observed <= facts.scanned || await timeOf(facts.scanned + 1n) >= oldest) return facts.scanned;
  let tooOld = facts.scanned + 1n;
  let young = facts.observed;
  while (young - tooOld > 1n) {
    const middle = (tooOld + young) / 2n;
    if (await timeOf(middle) < oldest) tooOld = middle;
    else young = middle;
  }
  return tooOld;
}
