/**
 * Limits the wait of a leg for messages whose bodies a node's offchain database lacks, and for blocks whose states it
 * has discarded. Another node behind the same URL may have them, so a block is requested again for a while; a node
 * that never indexed it (warp sync, a database from elsewhere), or has pruned it, will never have them, and then the
 * newer blocks must not wait for them.
 */
import type { Clock } from "../../runtime/clock.ts";
import { dropOldest } from "../../runtime/oldest.ts";

/** Time for which a block with missing messages is requested again, ms. */
const PATIENCE_MS = 10 * 60_000;
/** Maximum number of remembered blocks. */
const MAX_BLOCKS = 1_000;

/** Blocks whose messages one chain's node lacks. */
export class MissingMessages {
  readonly #clock: Pick<Clock, "now">;
  readonly #firstSeenMs = new Map<bigint, number>();
  /** Latest skipped block without a later complete one that has messages. */
  #passed: bigint | undefined;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * True when the block was requested for long enough. Blocks after a skipped one are not waited for: the node lacks
   * a whole range.
   */
  mayPass(block: bigint): boolean {
    const nowMs = this.#clock.now();
    const sinceMs = this.#firstSeenMs.get(block) ?? nowMs;
    this.#firstSeenMs.set(block, sinceMs);
    dropOldest(this.#firstSeenMs, MAX_BLOCKS);
    const isStretch = this.#passed !== undefined && block >= this.#passed;
    if (!isStretch && nowMs - sinceMs < PATIENCE_MS) return false;
    this.#passed = block;
    return true;
  }

  /** Records that blocks from `from` on with messages were complete. */
  noteComplete(from: bigint): void {
    if (this.#passed !== undefined && from > this.#passed) this.#passed = undefined;
  }
}
