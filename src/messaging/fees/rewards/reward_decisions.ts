/**
 * Decides which rewards of the hub are claimed now, and what its refusals mean. Pure.
 * Rules: docs/protocol/messaging.md sections 17.1 and 17.2; polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/{outbound_consensus,outbound_request}.rs. Only with `[hub].signer`, the account that is
 * paid.
 */
/** Poll interval of rewards, and pause of a refused one, ms. */
export const REWARD_INTERVAL_MS = 600_000;

/** Reward as the hub sees it. */
export interface RewardView {
  /** True when the hub has paid it to anybody, in a final block. */
  readonly isClaimed: boolean;
  /** The hub's offer for it, in its native token; 0: nothing. */
  readonly offered: bigint;
}

/** Why a reward ends without a claim, and as what; `undefined`: it is claimed. */
export function findRewardEnd(
  { isClaimed, offered }: RewardView,
): { readonly state: "claimed" | "refused"; readonly detail: string } | undefined {
  if (isClaimed) return { state: "claimed", detail: "claimed_already" };
  return offered === 0n ? { state: "refused", detail: "nothing_offered" } : undefined;
}

/**
 * Errors of the pallet that no later attempt changes. "Already claimed" is none: the block that says so may not be final
 * for hours, and what is paid in a final one is seen before the next claim.
 */
const FINAL: ReadonlySet<string> = new Set([
  "OutboundNoRewardConfigured",
  "OutboundSignerMismatch",
  "OutboundDestinationNotEvm",
  "OutboundSignatureNotEvm",
  "OutboundRequestNoRewardConfigured",
  "OutboundRequestSignerMismatch",
  "OutboundRequestNotKnown",
  "OutboundRequestSourceNotHyperbridge",
  "OutboundRequestModuleIdTooLong",
  "OutboundRequestUnsupportedDestination",
]);

/**
 * True when no later claim of the reward can succeed; a lagging client or an empty treasury is temporary.
 * @param error name of the pallet's error; `undefined`: the transaction pool refused without a reason
 */
export function isFinalRefusal(error: string | undefined): boolean {
  return FINAL.has(error ?? "");
}
