/**
 * Context of the claims: that of all fee workers, and the state that is kept between rounds. With it the events of
 * delivered requests on their way to a claim.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { Deferred, FeeContext } from "../fee_context.ts";

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
  /**
   * Rows whose fee was raised after the height of the source that the hub can verify: a claim now would only be paid the
   * old fee.
   */
  readonly raised: Deferred;
  /** What would end rows without a claim, and since when. */
  readonly doubts: Deferred;
}

/** Key of a row in the lists of rows that wait. */
export function rowKey(row: { readonly commitment: Hash256; readonly dest: StateMachine }): string {
  return `${row.commitment} ${row.dest}`;
}
