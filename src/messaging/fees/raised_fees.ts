/**
 * Requests whose fee was raised after the height of the source that the hub can verify: a claim now would be paid
 * the old fee, for good. They wait until the hub knows a newer height, and not forever.
 */
import type { RaisedFee } from "../relay/decisions/claim_results.ts";
import type { ClaimRoute } from "./claim_events.ts";
import { routeName } from "./claim_events.ts";
import type { FeeDeps } from "./fee_context.ts";

/**
 * Longest wait for one request, ms: longer than any chain takes to tell the hub, short enough that whoever raises a
 * fee again and again keeps nobody from the rest of it.
 */
const MAX_WAIT_MS = 86_400_000;

interface Entry {
  readonly sinceMs: number;
  /** Height of the source whose state holds too little. */
  readonly height: bigint;
}

/** The list, in memory only: after a start every fee is compared once more. */
export class RaisedFees {
  readonly #deps: Pick<FeeDeps, "clock" | "log">;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: Pick<FeeDeps, "clock" | "log">) {
    this.#deps = deps;
  }

  /** Notes that the state of `height` does not hold the newest fee yet. */
  add(key: string, fee: RaisedFee, at: { readonly pair: ClaimRoute; readonly height: bigint }): void {
    const old = this.#entries.get(key);
    this.#entries.set(key, { sinceMs: old?.sinceMs ?? this.#deps.clock.now(), height: at.height });
    this.#deps.log[old === undefined ? "info" : "debug"](
      "fee_raised",
      { pair: routeName(at.pair), ...fee, height: at.height },
    );
  }

  /** True while the hub can verify nothing newer than what showed too little. @param matured its newest height */
  waits(key: string, matured: bigint): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.height >= matured && !this.isOverdue(key);
  }

  /** True when the request has waited long enough: whatever the hub knows is claimed. */
  isOverdue(key: string): boolean {
    const sinceMs = this.#entries.get(key)?.sinceMs;
    return sinceMs !== undefined && this.#deps.clock.now() - sinceMs >= MAX_WAIT_MS;
  }

  /** Ends the wait. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  /** How many wait. */
  get size(): number {
    return this.#entries.size;
  }
}
