/** Remembers for how long competitors' deliveries have been waiting in a node's pool, so that no wait is without end. */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Clock } from "../../runtime/clock.ts";

/** A competitor's transaction that is not mined by then is not waited for any longer: it may never be. */
const PATIENCE_MS = 60_000;
/** Maximum of messages remembered; the oldest is forgotten first. */
const MAX_REMEMBERED = 1000;

/** When each message was first seen in the pool. */
export class MempoolSightings {
  readonly #clock: Clock;
  readonly #firstSeenMs = new Map<Hash256, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Files a message as seen now; false when it has been in the pool for too long to be waited for. */
  isWorthWaiting(commitment: Hash256): boolean {
    const nowMs = this.#clock.now();
    const firstMs = this.#firstSeenMs.get(commitment) ?? nowMs;
    this.#firstSeenMs.set(commitment, firstMs);
    if (this.#firstSeenMs.size > MAX_REMEMBERED) {
      for (const [oldest] of this.#firstSeenMs) {
        this.#firstSeenMs.delete(oldest);
        break;
      }
    }
    return nowMs - firstMs < PATIENCE_MS;
  }
}
