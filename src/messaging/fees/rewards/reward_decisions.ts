/**
 * Decides which rewards of the hub are claimed now, and what its refusals mean. Pure.
 * Rules: docs/protocol/messaging.md sections 17.1 and 17.2; polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/{outbound_consensus,outbound_request}.rs. Only with `[hub].signer`, the account that is
 * paid.
 */
import type { RewardRow } from "../../ledger/ledger.ts";

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

/** Errors of the pallet that mean that the reward is already paid. */
const ALREADY_PAID: ReadonlySet<string> = new Set([
  "OutboundRotationAlreadyClaimed",
  "OutboundRequestAlreadyClaimed",
]);

/** Errors of the pallet that no later attempt changes. */
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

/** Outcome for a reward whose claim was refused. */
export type RewardRefusal =
  | { readonly state: "claimed" | "refused" }
  | { readonly state: "pending"; readonly attempts: number; readonly nextAttemptAtMs: number };

/** Pause before a reward is read again that was paid in a block that is not final yet, ms. */
const UNTIL_FINAL_MS = 60_000;

/** Why a claim was refused. */
export interface RefusedClaim {
  /** Name of the pallet's error; `undefined`: the transaction pool refused without a reason. */
  readonly error: string | undefined;
  /** True when a final block says so; what newer ones say may be reorganised. */
  readonly isFinal: boolean;
}

/**
 * Judges a refusal. Paid is a reward only when a final block says so: of a claim in a newer one, the database may know
 * nothing, and it would not be made again.
 * Everything that is not final is retried, because a lagging client or an empty treasury is temporary.
 */
export function judgeRewardRefusal(
  row: Pick<RewardRow, "attempts">,
  { error, isFinal }: RefusedClaim,
  nowMs: number,
): RewardRefusal {
  if (error !== undefined && ALREADY_PAID.has(error)) {
    const { attempts } = row;
    return isFinal
      ? { state: "claimed" }
      : { state: "pending", attempts, nextAttemptAtMs: nowMs + UNTIL_FINAL_MS };
  }
  if (error !== undefined && FINAL.has(error)) return { state: "refused" };
  return { state: "pending", attempts: row.attempts + 1, nextAttemptAtMs: nowMs + REWARD_INTERVAL_MS };
}
