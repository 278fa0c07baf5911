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
  readonly because: "initial_height" | "cursor" | "first_start" | "late_start";
}

/** Time that a start may take, seconds: what is sent meanwhile is hardly ever verifiable by then. */
const AT_ONCE_SEC = 5n;

/** What the first cursor of a leg is chosen by. */
export interface ScanStartFacts {
  readonly initialHeight: bigint | undefined;
  readonly cursor: bigint | undefined;
  /** The target's height of the source. */
  readonly observed: bigint;
  /** Time for which the leg has been to be served, by the clock of this machine. */
  readonly knownForSec: bigint;
}

/**
 * Chooses the first cursor of a leg after a start of the program. A configured `initial_height` wins over the stored
 * cursor; without either the leg starts from now, which is the target's height of the source (not the source's own
 * head, which no proof covers yet). A leg that could not work at first starts from where it would have: as long before
 * that height as it has been to be served, up to {@link CATCH_UP_LIMIT_SEC} back, by the clock of the source alone.
 * @param timeOf Unix seconds of a block
 */
export async function chooseScanStart(
  timeOf: (height: bigint) => Promise<bigint>,
  { initialHeight, cursor, observed, knownForSec }: ScanStartFacts,
): Promise<ScanStart> {
  if (initialHeight !== undefined) {
    const skips = cursor !== undefined && initialHeight > cursor;
    return {
      scanned: initialHeight,
      skipped: skips ? { from: cursor + 1n, to: initialHeight } : undefined,
      because: "initial_height",
    };
  }
  if (cursor !== undefined) return { scanned: cursor, skipped: undefined, because: "cursor" };
  if (knownForSec <= AT_ONCE_SEC) return { scanned: observed, skipped: undefined, because: "first_start" };
  const backSec = knownForSec < CATCH_UP_LIMIT_SEC ? knownForSec : CATCH_UP_LIMIT_SEC;
  const sec = await timeOf(observed) - backSec;
  const scanned = await lastBlockBefore(timeOf, { floor: 0n, observed, sec });
  return { scanned, skipped: undefined, because: "late_start" };
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
 * Finds the last block that is older than the catch-up limit.
 * @param timeOf Unix seconds of a block
 * @returns the new cursor: `scanned` itself when nothing has to be left out.
 */
export async function boundCatchUp(
  timeOf: (height: bigint) => Promise<bigint>,
  facts: { readonly scanned: bigint; readonly observed: bigint; readonly nowSec: bigint },
): Promise<bigint> {
  const { scanned, observed } = facts;
  const sec = facts.nowSec - CATCH_UP_LIMIT_SEC;
  if (observed <= scanned || await timeOf(scanned + 1n) >= sec) return scanned;
  return await lastBlockBefore(timeOf, { floor: scanned + 1n, observed, sec });
}

/**
 * The last block up to `observed` that is older than `sec`, or `floor`. It is looked for from the newest block back,
 * since nodes forget old ones.
 */
async function lastBlockBefore(
  timeOf: (height: bigint) => Promise<bigint>,
  { floor, observed, sec }: { readonly floor: bigint; readonly observed: bigint; readonly sec: bigint },
): Promise<bigint> {
  let old = floor;
  let young = observed + 1n;
  for (let back = 0n; observed - back > floor; back = back * 2n + 1n) {
    const height = observed - back;
    if (await timeOf(height) < sec) {
      old = height;
      break;
    }
    young = height;
  }
  while (young - old > 1n) {
    const middle = (old + young) / 2n;
    if (await timeOf(middle) < sec) old = middle;
    else young = middle;
  }
  return old;
}
