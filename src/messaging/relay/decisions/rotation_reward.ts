/**
 * Decides whether rotations of the hub's authorities are brought to a chain by themselves: only where the hub's reward
 * covers what that costs. Pure. Rules: docs/protocol/messaging.md sections 9.4 and 17.1;
 * polytope-labs/hyperbridge: modules/pallets/relayer/src/outbound_consensus.rs (one reward per set and chain, in the
 * hub's own token, to whoever the host names as first).
 */
import { costUsd18, type Market, requiredUsd18, toReward18, type Usage } from "./money.ts";

/** What the hub offers for one rotation, in units of its own token. */
export interface OfferedReward {
  readonly amount: bigint;
  readonly isClaimed: boolean;
}

/** Why rotations do not travel by themselves. */
export type RewardHold =
  /** The hub offers nothing for this chain, or has paid for these sets already. */
  | "no_reward"
  /** Nobody knows what the hub's token is worth. */
  | "token_price_unknown"
  /** Nobody knows what the chain's native token is worth. */
  | "price_unknown"
  /** The reward is below the cost. */
  | "unprofitable";

/** Decision about rotations that travel alone, dollars x 10^18. */
export type RotationDecision =
  | { readonly kind: "send"; readonly reward18: bigint; readonly required18: bigint }
  | {
    readonly kind: "hold";
    readonly reason: RewardHold;
    readonly reward18: bigint;
    readonly required18: bigint | undefined;
  };

/** What the hub pays for rotations, dollars x 10^18; a reason when that is certainly nothing. */
export function rewardFor(
  rewards: readonly OfferedReward[],
  tokenPrice27: bigint | undefined,
): { readonly reward18: bigint; readonly hold: RewardHold | undefined } {
  const amount = rewards.reduce((sum, reward) => sum + (reward.isClaimed ? 0n : reward.amount), 0n);
  const reward18 = toReward18(amount, tokenPrice27);
  if (amount === 0n) return { reward18, hold: "no_reward" };
  return { reward18, hold: tokenPrice27 === undefined ? "token_price_unknown" : undefined };
}

/** Compares the reward with the cost; it must reach what a fee would have to reach. */
export function decideRotations(
  facts: {
    readonly rewards: readonly OfferedReward[];
    readonly tokenPrice27: bigint | undefined;
    readonly profitPercent: number;
  },
  usage: Usage,
  market: Market,
): RotationDecision {
  const { reward18, hold } = rewardFor(facts.rewards, facts.tokenPrice27);
  const cost18 = costUsd18(usage, market);
  const required18 = cost18 === undefined ? undefined : requiredUsd18(cost18, facts.profitPercent);
  if (hold !== undefined) return { kind: "hold", reason: hold, reward18, required18 };
  if (required18 === undefined) return { kind: "hold", reason: "price_unknown", reward18, required18 };
  if (reward18 < required18) return { kind: "hold", reason: "unprofitable", reward18, required18 };
  return { kind: "send", reward18, required18 };
}
