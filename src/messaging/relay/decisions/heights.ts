/**
 * Decides which blocks of the source a leg reads next. Pure. Rules: docs/protocol/messaging.md section 6.3 (cursor
 * `scanned`, height `observed`).
 */

/** Start of a leg's scan, and the blocks skipped. */
export interface ScanStart {
  /** Every block up to and including this one counts as scanned. */
  readonly scanned: bigint;
  /** Blocks skipped on purpose, both inclusive; logged for the operator. */
  readonly skipped: { readonly from: bigint; readonly to: bigint } | undefined;
  readonly because: "initial_height" | "cursor" | "first_start";
}

/**
 * Chooses the first cursor of a leg after a start of the program. A configured `initial_height` wins over the stored
 * cursor; without either the leg starts from now, which is the target's height of the source (not the source's own
 * head, which no proof covers yet).
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

/** Computes the next chunk of blocks to scan, both inclusive; `undefined` when everything observed is scanned. */
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

/** Target number of events per chunk: a chunk is held in memory and written in one transaction. */
const AIMED_EVENTS = 500;

/** Width of the first chunk, in blocks: the event rate is still unknown. */
const FIRST_BLOCKS = 1n;

/** Factor by which chunks grow while there are few events. */
const GROWTH = 4n;

/**
 * Number of blocks of one chain scanned at once, so that a chunk holds about five hundred events. The learned width is
 * kept between scans, in memory only; a restart begins again.
 */
export class ScanWidth {
  #blocks = FIRST_BLOCKS;

  /** Maximum number of blocks of the next chunk; `max` is what the chain's nodes accept. */
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

/** Maximum age of blocks scanned after an outage, seconds (7 days). */
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
