/** Events of delivered requests on their way to a claim, as reported by the log and the manual command. */
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** Chain on which requests were paid for, and chain to which they were delivered. */
export interface ClaimRoute {
  readonly source: StateMachine;
  readonly dest: StateMachine;
}

/** Outcome for some rows. */
export type ClaimResult =
  /** Claimed by us, in a final block of the hub. */
  | "claimed"
  | "claimed_already"
  | "no_fee"
  /** The hub does not know the request. */
  | "unclaimable"
  /** The destination has no receipt of ours. */
  | "lost"
  /** The hub refuses it now; retried later. */
  | "refused"
  /** Chains could not be reached; retried later. */
  | "unreachable";

/** Event for some rows of one pair. */
export interface ClaimEvent extends ClaimRoute {
  readonly result: ClaimResult;
  readonly count: number;
  /** Units of the source's fee token. */
  readonly fee: bigint;
}

/** Formats a pair for logs, e.g. `EVM-1 -> EVM-56`. */
export function routeName({ source, dest }: ClaimRoute): string {
  return `${source} -> ${dest}`;
}
