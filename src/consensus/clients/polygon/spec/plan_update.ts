/**
 * Decides from the state of the hub's client and the newest Heimdall block what is to be proved.
 */
import type { PolygonConsensusState, TrustedHeimdall } from "./consensus_state.ts";
import type { CometHeader } from "./comet_header.ts";

/** Maximum number of updates in one extrinsic: about 30 KB each. */
export const MAX_CHAINED_UPDATES = 8;

/** Parts of the trusting period after which a header is proved though there is no new milestone. */
const RENEWALS_PER_PERIOD = 4n;

/** What is known of the newest block. */
export interface PolygonPlanInput {
  readonly head: Pick<CometHeader, "height" | "validatorsHash">;
  /** Height of the Bor block that the newest milestone makes final; `undefined`: there is no milestone. */
  readonly milestoneEnd: bigint | undefined;
  /** Clock of the hub, Unix seconds. */
  readonly nowSec: bigint;
}

/** What is to be proved. */
export type PolygonPlan =
  /** Nothing. */
  | { readonly action: "wait"; readonly reason: "no_new_block" | "no_new_milestone" }
  /** Older blocks first: the validators changed since the trusted block, and the client does not know them. */
  | { readonly action: "catch_up" }
  /** The newest block: for its milestone, or for the trust in it alone. */
  | { readonly action: "advance"; readonly withMilestone: boolean };

/** True when the client's next validators signed the block. */
export function isSignedByNextSet(
  { nextValidatorsHash }: Pick<TrustedHeimdall, "nextValidatorsHash">,
  { validatorsHash }: Pick<CometHeader, "validatorsHash">,
): boolean {
  return validatorsHash === nextValidatorsHash;
}

/** Decides what is to be proved. */
export function planPolygonUpdate(
  { heimdall, finalizedBlock }: PolygonConsensusState,
  { head, milestoneEnd, nowSec }: PolygonPlanInput,
): PolygonPlan {
  if (head.height <= heimdall.height) return { action: "wait", reason: "no_new_block" };
  if (!isSignedByNextSet(heimdall, head)) return { action: "catch_up" };
  if (milestoneEnd !== undefined && milestoneEnd > finalizedBlock) {
    return { action: "advance", withMilestone: true };
  }
  const ageSec = nowSec - heimdall.timestampSec;
  return ageSec * RENEWALS_PER_PERIOD < heimdall.trustingPeriodSec
    ? { action: "wait", reason: "no_new_milestone" }
    : { action: "advance", withMilestone: false };
}
