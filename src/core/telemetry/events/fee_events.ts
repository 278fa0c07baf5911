/** Events of fees: claims on the hub, rewards, withdrawals and payments. */
import { CHECK_ENDPOINT, type EventText } from "./event_text.ts";

/** See {@link EventText}. */
export const feeEvents = {
  accumulation_finished: {
    text: "Fee accumulation finished",
    meaning: "`accumulate-fees` has ended; the table on standard output has the amounts.",
  },
  withdrawals_finished: {
    text: "Withdrawals finished",
    meaning: "How many withdrawals were received, wait for the network's relayer, are under way, and failed.",
  },
  fees_not_claimable: {
    text: "Fees not claimable yet: the hub does not know the blocks that prove them",
    meaning: "The hub's view of a chain is older than our deliveries.",
    action: "Run the command again when the hub was updated, or run the relayer.",
  },
  past_deliveries_unknown: {
    text: "Deliveries of an earlier run could not be checked",
    meaning: "Whether deliveries are final could not be read; their fees wait.",
  },
  claim_sent: {
    text: "Claim sent",
    meaning: "An extrinsic that claims fees was accepted by a node of the hub.",
  },
  fees_claimed: {
    text: "Fees claimed",
    meaning: "The hub credited the fees of the line to our account.",
  },
  claim_postponed: {
    text: "Claim postponed by the hub",
    meaning: "The hub takes no claim of this pair now; `detail` says why.",
  },
  claim_rejected: {
    text: "Claim rejected by the hub; it is tried again later",
    meaning: "The hub refuses to pay for a request; `detail` says why.",
    action: "If it repeats, compare the deliveries with the hub.",
  },
  claim_ineffective: {
    text: "Claim had no effect; its requests are claimed again",
    meaning: "The extrinsic was included and failed, or was dropped.",
  },
  requests_unclaimed: {
    text: "Requests end without a claim",
    meaning: "No fee can be claimed for these requests any more; `reason` says why.",
  },
  receipts_missing: {
    text: "Our receipts are missing on the destination",
    meaning: "A reorganisation took back deliveries that were claimed for; they are looked for again.",
  },
  claims_delayed: {
    text: "Claims of a pair wait for an endpoint",
    meaning: "Proofs for claims could not be read three times in a row.",
    action: CHECK_ENDPOINT,
  },
  claims_interrupted: {
    text: "Claims interrupted, retrying",
    meaning: "An endpoint did not give what a claim needs.",
  },
  claim_chain_missing: {
    text: "Fees wait for a chain that is no longer configured",
    meaning: "Source or destination of deliveries was removed from the configuration.",
    action: "Add the chain again to claim them.",
  },
  delivery_records_unreadable: {
    text: "Delivery records unreadable; left alone",
    meaning: "Rows of the database name chains that cannot be decoded.",
    action: "Report it with the line.",
    reaction: "claims of these deliveries wait, everything else continues",
  },
  fee_raised: {
    text: "Fee raised after the height that the hub knows; its claim waits",
    meaning: "Claiming now would lose the higher fee.",
  },
  reward_claim_sent: {
    text: "Reward claim sent",
    meaning: "A claim for a reward of the hub was accepted by a node.",
  },
  reward_claimed: {
    text: "Reward claimed",
    meaning: "The hub paid the reward for consensus proofs.",
  },
  reward_unclaimable: {
    text: "Reward cannot be claimed",
    meaning: "The hub pays no reward for these proofs; `detail` says why.",
  },
  reward_rejected: {
    text: "Reward rejected by the hub",
    meaning: "The hub refuses the reward; `detail` says why.",
    action: "If it repeats, report it.",
  },
  reward_dropped: {
    text: "Reward ends without a claim",
    meaning: "`reason` says why nothing is claimed.",
  },
  reward_claim_failed: {
    text: "Reward could not be claimed now, retrying",
    meaning: "An endpoint did not give what the claim needs.",
  },
  rewards_interrupted: {
    text: "Rewards interrupted, retrying",
    meaning: "An endpoint did not give what rewards need.",
  },
  withdrawal_requested: {
    text: "Withdrawal requested",
    meaning: "The hub was asked to pay out fees to a chain.",
  },
  withdrawal_dispatched: {
    text: "Withdrawal dispatched by the hub",
    meaning: "The hub sent the payment as a message.",
  },
  withdrawal_received: {
    text: "Withdrawal received",
    meaning: "The payment was delivered; the fees are on the account.",
  },
  withdrawal_rejected: {
    text: "Withdrawal rejected by the hub",
    meaning: "The hub refuses to pay out; `detail` says why.",
    action: "See `detail`. It is tried again.",
  },
  withdrawal_abandoned: {
    text: "Withdrawal abandoned; the fees stay on the hub",
    meaning: "The payment could not be completed; `detail` says why.",
    action: "See `detail`. The next withdrawal asks for them again.",
  },
  withdrawal_below_minimum: {
    text: "Fees stay on the hub: below the configured minimum",
    meaning: "Less than the amount at which a withdrawal is made.",
  },
  withdrawal_below_hub_minimum: {
    text: "Fees stay on the hub: below the minimum that the hub pays out",
    meaning: "The hub pays out no less than `hubMinimum`.",
  },
  withdrawals_delayed: {
    text: "Withdrawals wait for an endpoint",
    meaning: "What a withdrawal needs could not be read three times in a row.",
    action: CHECK_ENDPOINT,
  },
  withdrawals_interrupted: {
    text: "Withdrawals interrupted, retrying",
    meaning: "An endpoint did not give what withdrawals need.",
    action: CHECK_ENDPOINT,
  },
  fee_account_unconfigured: {
    text: "Fees belong to an address whose key is not configured",
    meaning: "An earlier key of this relayer earned fees on the hub.",
    action: "Configure the old key to withdraw them.",
  },
  payment_found: {
    text: "Payment found that was not requested here",
    meaning:
      "The hub dispatched a payment to our account that this database did not request; it is delivered.",
  },
  payments_unsearchable: {
    text: "Old blocks not kept by the hub node; earlier payments are not searched",
    meaning: "Payments that were requested before this database existed are not delivered by this relayer.",
    action: "Use a node that keeps old blocks if payments are missing.",
  },
  old_payments_skipped: {
    text: "Blocks of the hub from long ago skipped in the search for payments",
    meaning: "The relayer was off for long; payments of the named blocks are not searched.",
    action: "Deliver such payments by hand if some are missing.",
  },
  payment_rejected: {
    text: "Payment not accepted by the chain now",
    meaning: "The chain refuses the delivery of a payment of the hub; `detail` says why.",
    action: "See `detail`. It is tried again.",
  },
  payment_delayed: {
    text: "Payment waits for a lower cost of its delivery",
    meaning: "Delivering now would cost more than `mostUsd`, a tenth of it, or `reason` keeps it back.",
  },
  payment_gated: {
    text: "Payment waits for the network's relayer",
    meaning: "The host's manager accepts the account in `detail` only; its receipt is awaited.",
  },
} as const satisfies Record<string, EventText>;
