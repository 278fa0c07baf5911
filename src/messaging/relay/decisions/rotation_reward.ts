/**
 * Decides whether rotations of the hub's authorities are delivered to a chain on their own: only when the hub's reward
 * covers the cost. Pure. Rules: docs/protocol/messaging.md sections 9.4 and 17.1; polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/outbound_consensus.rs (one reward per set and chain, in the hub's own token, to the
 * relayer that the host names as first).
 */
import { costUsd18, type MarketPrices, requiredUsd18, toReward18, type Usage } from "./money.ts";

/** The hub's offer for one rotation, in units of its own token. */
export interface OfferedReward {
  readonly amount: bigint;
  readonly isClaimed: boolean;
}

/** Reason why rotations are not sent on their own. */
export type RewardHold =
  /** The hub offers nothing for this chain, or has paid for these sets already. */
  | "no_reward"
  /** The price of the hub's token is unknown. */
  | "token_price_unknown"
  /** The price of the chain's native token is unknown. */
  | "price_unknown"
  /** The reward is below the cost. */
  | "unprofitable";

/** Decision on rotations sent alone, dollars x 10^18. */
export type RotationDecision =
  | { readonly kind: "send"; readonly reward18: bigint; readonly required18: bigint }
  | {
    readonly kind: "hold";
    readonly reason: RewardHold;
    readonly reward18: bigint;
    readonly required18: bigint | undefined;
  };

/** Computes the hub's reward for rotations, dollars x 10^18; a reason when it is certainly zero. */
export function rewardFor(
  rewards: readonly OfferedReward[],
  tokenPrice27: bigint | undefined,
): { readonly reward18: bigint; readonly hold: RewardHold | undefined } {
  const amount = rewards.reduce((sum, reward) => sum + (reward.isClaimed ? 0n : reward.amount), 0n);
  const reward18 = toReward18(amount, tokenPrice27);
  if (amount === 0n) return { reward18, hold: "no_reward" };
  return { reward18, hold: tokenPrice27 === undefined ? "token_price_unknown" : undefined };
}

/** Compares the reward with the cost; the same threshold applies as for fees. */
export function decideRotations(
  facts: {
    readonly rewards: readonly OfferedReward[];
    readonly tokenPrice27: bigint | undefined;
    readonly profitPercent: number;
  },
  usage: Usage,
  market: MarketPrices,
): RotationDecision {
  const { reward18, hold } = rewardFor(facts.rewards, facts.tokenPrice27);
  const cost18 = costUsd18(usage, market);
  const required18 = cost18 === undefined ? undefined : requiredUsd18(cost18, facts.profitPercent);
  if (hold !== undefined) return { kind: "hold", reason: hold, reward18, required18 };
  if (required18 === undefined) return { kind: "hold", reason: "price_unknown", reward18, required18 };
  if (reward18 < required18) return { kind: "hold", reason: "unprofitable", reward18, required18 };
  return { kind: "send", reward18, required18 };
}
