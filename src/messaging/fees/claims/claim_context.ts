/**
 * Context of the claims: that of all fee workers, and the state that is kept between rounds. With it the events of
 * delivered requests on their way to a claim.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { RaisedFee } from "./claim_attempt.ts";
import type { Deferred, Doubts, FeeContext } from "../fee_context.ts";

/**
 * Maximum wait for one request, ms: longer than any chain's height takes to reach the hub, and short enough that
 * repeated raises cannot block a claim indefinitely.
 */
const MAX_WAIT_MS = 86_400_000;

interface Entry {
  readonly sinceMs: number;
  /** Height of the source whose state holds an older fee. */
  readonly height: bigint;
}

/**
 * Requests whose fee was raised after the height of the source that the hub can verify: a claim now would only be paid
 * the old fee. They wait until the hub knows a newer height, for a limited time. In memory only: after a restart every
 * fee is compared again.
 */
export class RaisedFees {
  readonly #context: Pick<FeeContext, "clock" | "log">;
  readonly #entries = new Map<string, Entry>();

  constructor(context: Pick<FeeContext, "clock" | "log">) {
    this.#context = context;
  }

  /** Records that the state at `height` does not hold the latest fee yet. */
  add(key: string, fee: RaisedFee, at: { readonly pair: ClaimRoute; readonly height: bigint }): void {
    const old = this.#entries.get(key);
    this.#entries.set(key, { sinceMs: old?.sinceMs ?? this.#context.clock.now(), height: at.height });
    this.#context.log[old === undefined ? "info" : "debug"](
      "claim_failed.fee_raised",
      { pair: routeName(at.pair), ...fee, height: at.height },
    );
  }

  /**
   * True while the hub can verify nothing newer than the height with the older fee. @param matured its newest height
   */
  waits(key: string, matured: bigint): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.height >= matured && !this.isOverdue(key);
  }

  /** True when the request has waited long enough: the fee that the hub knows is claimed. */
  isOverdue(key: string): boolean {
    const sinceMs = this.#entries.get(key)?.sinceMs;
    return sinceMs !== undefined && this.#context.clock.now() - sinceMs >= MAX_WAIT_MS;
  }

  /** Ends the wait. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  /** Number of waiting requests. */
  get size(): number {
    return this.#entries.size;
  }
}

/** Chain on which requests were paid for, and chain to which they were delivered. */
interface ClaimRoute {
  readonly source: StateMachine;
  readonly dest: StateMachine;
}

/** Formats a pair for logs, e.g. `EVM-1 -> EVM-56`. */
export function routeName({ source, dest }: ClaimRoute): string {
  return `${source} -> ${dest}`;
}

/** Context of claims, for one run of rounds. */
export interface ClaimContext extends FeeContext {
  /** Rows that the hub refused. */
  readonly deferred: Deferred;
  readonly raised: RaisedFees;
  /** What would end a row without a claim. */
  readonly doubts: Doubts;
}

/** Key of a row in the lists of deferred rows and raised fees. */
export function rowKey(row: { readonly commitment: Hash256; readonly dest: StateMachine }): string {
  return `${row.commitment} ${row.dest}`;
}
