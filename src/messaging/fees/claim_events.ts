/** What happens to delivered requests on their way to a claim, as the log and the manual command tell it. */
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** Where requests were paid for and where they were delivered. */
export interface ClaimRoute {
  readonly source: StateMachine;
  readonly dest: StateMachine;
}

/** What became of some rows. */
export type ClaimResult =
  /** By a claim of ours, in a final block of the hub. */
  | "claimed"
  | "claimed_already"
  | "no_fee"
  /** The hub does not know the request. */
  | "unclaimable"
  /** The destination holds no receipt of ours. */
  | "lost"
  /** The hub refuses it now; tried again later. */
  | "refused"
  /** Chains could not be asked; tried again later. */
  | "unreachable";

/** Some rows of one pair. */
export interface ClaimEvent extends ClaimRoute {
  readonly result: ClaimResult;
  readonly count: number;
  /** Units of the source's fee token. */
  readonly fee: bigint;
}

/** `EVM-1 -> EVM-56`, as logs name a pair. */
export function routeName({ source, dest }: ClaimRoute): string {
  return `${source} -> ${dest}`;
}
