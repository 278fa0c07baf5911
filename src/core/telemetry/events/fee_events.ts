/** Events of fees: claims on the hub, rewards, withdrawals and payments. */
import type { EventText } from "./event_text.ts";

/** See {@link EventText}. */
export const feeEvents = {
  claim_sent: { text: "Claim sent", codes: { fees: "Claim sent", reward: "Reward claim sent" } },
  fees_claimed: { text: "Fees claimed" },
  claim_failed: {
    text: "Claim of fees failed or waits",
    meaning: "`detail` or `reason` gives the cause.",
    action: "If it repeats, compare the deliveries with the hub.",
    codes: {
      hub_behind: "Fees not claimable yet: the hub does not know the blocks that prove them",
      fee_raised: "Claim waits until the fee increase is provable on the hub",
      postponed: "Claim postponed: the hub is not accepting claims for this pair",
      rejected: "Claim rejected by the hub; it is tried again later",
      ineffective: "Claim had no effect; its requests are claimed again",
      unclaimable: "Requests end without a claim",
      receipts_missing: "Our receipts are missing on the destination after a reorganisation; searching again",
      chain_missing: {
        text: "Fees wait for a chain that is no longer configured",
        action: "Add the chain again to claim them.",
      },
    },
  },
  reward_claimed: { text: "Reward claimed" },
  reward_failed: {
    text: "Reward of the hub not paid",
    action: "If it repeats, report it; `detail` gives the reason.",
    codes: {
      unclaimable: "Reward cannot be claimed",
      rejected: "Reward rejected by the hub",
      dropped: "Reward ends without a claim",
    },
  },
  withdrawal_made: {
    text: "Withdrawal of fees progresses",
    codes: {
      requested: "Withdrawal requested",
      dispatched: "Withdrawal dispatched by the hub",
      received: "Withdrawal received",
    },
  },
  withdrawal_failed: {
    text: "Withdrawal not made; the fees stay on the hub",
    action: "See `detail`. It is tried again.",
    codes: {
      rejected: "Withdrawal rejected by the hub",
      abandoned: "Withdrawal abandoned; the fees stay on the hub",
      below_minimum: "Fees stay on the hub: below the configured minimum",
      below_hub_minimum: "Fees stay on the hub: below the minimum that the hub pays out",
      key_missing: {
        text: "Fees belong to an address whose key is not configured",
        action: "Configure the old key to withdraw them.",
      },
    },
  },
  payment_found: { text: "Payment found that was not requested here; it is delivered" },
  payment_delayed: {
    text: "Payment of the hub not delivered yet",
    action: "See `detail`. It is tried again.",
    codes: {
      rejected: "Payment not accepted by the chain now",
      cost: "Payment waits for a lower cost of its delivery",
      gated: "Payment waits for the network's relayer",
    },
  },
} as const satisfies Record<string, EventText>;
