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

/** Ends of rewards by the pallet's errors: they are paid already, or nothing that happens later changes it. */
const ENDS: ReadonlyMap<string, "claimed" | "refused"> = new Map([
  ["OutboundRotationAlreadyClaimed", "claimed"],
  ["OutboundRequestAlreadyClaimed", "claimed"],
  ["OutboundNoRewardConfigured", "refused"],
  ["OutboundSignerMismatch", "refused"],
  ["OutboundDestinationNotEvm", "refused"],
  ["OutboundSignatureNotEvm", "refused"],
  ["OutboundRequestNoRewardConfigured", "refused"],
  ["OutboundRequestSignerMismatch", "refused"],
  ["OutboundRequestNotKnown", "refused"],
  ["OutboundRequestSourceNotHyperbridge", "refused"],
  ["OutboundRequestModuleIdTooLong", "refused"],
  ["OutboundRequestUnsupportedDestination", "refused"],
]);

/**
 * Finds the end that a refusal of its claim means for a reward; `undefined`: it is tried again, because a lagging client
 * or an empty treasury is temporary.
 * @param error name of the pallet's error; `undefined`: the transaction pool refused without a reason
 */
export function findRefusalEnd(error: string | undefined): "claimed" | "refused" | undefined {
  return ENDS.get(error ?? "");
}
