/**
 * Decides which blocks of the source a leg reads next. Pure.
 * Rules: 04-messaging-flow section 6.3 of the protocol notes (cursor `scanned`, height `observed`).
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
 * the sink's height of the source (not the source's own head, which no proof covers yet).
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
