/** Remembers for how long competitors' deliveries have been in a node's mempool, so that no wait is indefinite. */
import { dropOldest } from "../../runtime/oldest.ts";
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Clock } from "../../runtime/clock.ts";

/** Maximum wait for a competitor's transaction: it may never be mined. */
const PATIENCE_MS = 60_000;
/** Maximum number of messages remembered; the oldest is forgotten first. */
const MAX_REMEMBERED = 1000;

/** Times at which messages were first seen in the mempool. */
export class MempoolSightings {
  readonly #clock: Clock;
  readonly #firstSeenMs = new Map<Hash256, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a message as seen now; false when it has been in the mempool for too long to be waited for. */
  isWorthWaiting(commitment: Hash256): boolean {
    const nowMs = this.#clock.now();
    const firstMs = this.#firstSeenMs.get(commitment) ?? nowMs;
    this.#firstSeenMs.set(commitment, firstMs);
    dropOldest(this.#firstSeenMs, MAX_REMEMBERED);
    return nowMs - firstMs < PATIENCE_MS;
  }
}
