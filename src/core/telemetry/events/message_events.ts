/** Events of the messaging relayer: legs, messages, batches and their transactions. */
import { CHECK_ENDPOINT, type EventText } from "./event_text.ts";

/** See {@link EventText}. */
export const messageEvents = {
  leg_started: {
    text: "Leg started",
    meaning: "From which block on messages of this leg are read, and why from there.",
  },
  leg_paused: {
    text: "Leg paused: endpoint unavailable",
    meaning: "Three polls in a row failed. The leg is polled more slowly until an endpoint answers.",
    action: "Check the endpoint that the error names.",
    endedBy: ["leg_resumed"],
  },
  leg_blocked: {
    text: "Leg blocked: nothing is delivered on it for now",
    meaning: "Both chains work, but a condition of delivery is missing; `reason` and `detail` say which.",
    action: "See `reason` in the line. The leg resumes by itself.",
    endedBy: ["leg_unblocked"],
  },
  leg_resumed: {
    text: "Leg resumed",
    meaning: "The endpoint for which the leg paused answers again.",
  },
  leg_unblocked: {
    text: "Leg no longer blocked",
    meaning: "The condition of delivery is there again.",
  },
  blocks_skipped: {
    text: "Blocks skipped: initial_height is above the stored position",
    meaning: "Messages of the named blocks are not read.",
    action: "Remove `initial_height` if that was not meant.",
  },
  old_blocks_skipped: {
    text: "Blocks older than 7 days skipped; set initial_height to include them",
    meaning: "The relayer was off for longer than a week.",
    action: "Set `initial_height` to the value of the line to read them.",
  },
  message_found: {
    text: "Message found",
    meaning: "A message was read from its source; with `reason` it is not delivered now.",
  },
  message_seen: {
    text: "Message seen",
    meaning: "A message waits to be checked again.",
  },
  message_held: {
    text: "Message held",
    meaning: "A message is not delivered now; `reason` says why, and it is checked again.",
    action: "Depends on `reason`: `too_large` and `poison` need you, `unprofitable` is a matter of the fee.",
  },
  message_ready: {
    text: "Message ready",
    meaning: "A message may be delivered.",
  },
  message_submitted: {
    text: "Message submitted",
    meaning: "A transaction with the message was recorded and sent.",
  },
  message_delivered: {
    text: "Message delivered",
    meaning: "The target stored the receipt of the message, and the block is final.",
  },
  message_delivered_by_competitor: {
    text: "Message delivered by another relayer",
    meaning: "The receipt on the target is not ours.",
  },
  message_timed_out: {
    text: "Message timed out",
    meaning: "The message expired before it was delivered.",
  },
  message_not_executed: {
    text: "Message not executed",
    meaning: "Its delivery was mined, but the host recorded nothing for it.",
    action: "Nothing; the receiving module failed. It is tried again.",
  },
  message_rejected: {
    text: "Message rejected",
    meaning: "The message is excluded by a filter or rule; `reason` says which.",
    action: "Nothing if the filter was meant so.",
  },
  message_gone: {
    text: "Message gone",
    meaning: "The source no longer holds the message.",
  },
  messages_counted: {
    text: "Messages by status",
    meaning: "Every ten minutes: how many messages of a leg have which status.",
  },
  gas_spent: {
    text: "Gas spent in the last 24 hours",
    meaning: "Every ten minutes: costs and earnings of a chain, and which part earned nothing.",
    action: "Look at the reasons if much earned nothing.",
  },
  stored_message_unreadable: {
    text: "Stored message unreadable; kept aside",
    meaning: "A row of the database cannot be decoded. It is held as `poison`.",
    action: "Report it with the line.",
    reaction: "the message is skipped, everything else continues",
  },
  get_requests_delayed: {
    text: "GET requests wait for an endpoint",
    meaning: "Values that GET requests ask for could not be read now.",
  },
  timeouts_unconfirmed: {
    text: "Expired messages wait for confirmed receipts",
    meaning: "Whether expired messages were delivered in time is not certain yet.",
  },
  request_removal_unconfirmed: {
    text: "Removal of requests could not be confirmed",
    meaning: "The endpoints disagree on whether requests still exist; they are kept.",
  },
  batch_sent: {
    text: "Batch sent",
    meaning: "A transaction with messages was accepted by a node.",
  },
  batch_repriced: {
    text: "Gas too expensive for a batch; checking its profit again",
    meaning: "The gas price rose between simulation and signature.",
  },
  broadcast_unknown: {
    text: "Broadcast result unknown; checking inclusion",
    meaning:
      "The node did not say whether it took a transaction. It is looked for before anything else is sent.",
  },
  transaction_rejected: {
    text: "Transaction rejected by the node; its messages are tried again",
    meaning: "The node did not take the transaction; `detail` says why.",
    action: "If it repeats, check the endpoint and the account.",
  },
  transaction_replaced: {
    text: "Pending transaction replaced at a higher price",
    meaning: "The transaction waited too long for its gas price.",
  },
  transaction_cancelled: {
    text: "Transaction cancelled",
    meaning: "It had become pointless; its nonce is used up by a transfer of zero.",
  },
  nonce_cleared: {
    text: "Nonce cleared by zero-value transfer",
    meaning: "A transaction that had become pointless was replaced, so that later ones can be mined.",
  },
  transaction_reorganised: {
    text: "Block with our transaction was reorganised away",
    meaning: "The transaction is sent again if it is still wanted.",
  },
  transaction_ineffective: {
    text: "Transaction had no effect",
    meaning: "It was reverted, or its messages were delivered by another relayer first.",
  },
  transaction_size_reduced: {
    text: "Transaction too large for the node; the next ones are smaller",
    meaning: "The node refused a transaction for its size.",
  },
  loss_limit_reached: {
    text: "maximum_daily_loss reached: nothing is sent to this chain for now",
    meaning:
      "Transactions of the last 24 hours cost so much more than they earned; those with proofs earn nothing.",
    action:
      "Find the cause in `gas_spent` or `proofs_gas_spent`; raise `maximum_daily_loss` if it is acceptable.",
    endedBy: ["loss_limit_cleared"],
  },
  loss_limit_cleared: {
    text: "Losses below maximum_daily_loss again: sending resumed",
    meaning: "Older losses are more than 24 hours ago.",
  },
  modules_suspended: {
    text: "Messages between two modules suspended: a paid delivery had no effect",
    meaning: "The receiving module fails when mined although it passes in simulation.",
    action: "Nothing; one message is tried at `next`. Exclude the module with `module_filter` if it repeats.",
  },
  modules_resumed: {
    text: "Messages between two modules resumed: a delivery had its effect",
    meaning: "The suspension ended.",
  },
  settlement_interrupted: {
    text: "Settlement interrupted, retrying",
    meaning: "Outcomes of transactions could not be read now.",
  },
  fees_unreadable: {
    text: "Fees could not be read",
    meaning: "The fees of messages could not be read now; the messages wait.",
  },
  fee_decimals_unknown: {
    text: "Decimals of a fee token unknown",
    meaning: "They could not be read now. Amounts are counted or shown without them.",
  },
  stored_price_unreadable: {
    text: "Stored price unreadable",
    meaning: "The last known price of a native token cannot be decoded; a new one is asked for.",
  },
  reward_price_unknown: {
    text:
      "Price of the hub's token unknown, so its rewards pay for nothing: set token_price of the hub in dollars",
    meaning: "Rewards of the hub count as zero in every profit.",
    action: "Set `token_price` in the section of the hub.",
  },
  module_list_unreadable: {
    text: "Hub's list of rewarded modules could not be read",
    meaning: "The last known list holds.",
  },
  delivery_check_failed: {
    text: "Conditions of delivery could not be read; the last result holds",
    meaning: "Whether a leg is blocked was not found out in this round.",
    action: CHECK_ENDPOINT,
  },
  reconciliation_found: {
    text: "Reconciliation found gaps, which are filled now",
    meaning:
      "Blocks read again held messages without a row (`missed`), or messages waited although their target had a " +
      "receipt (`ended`). They are recorded now.",
    action: "Nothing for the messages; check the endpoints of the leg, and report it as a defect.",
  },
  reconciliation_finished: {
    text: "Reconciliation found nothing",
    meaning:
      "The blocks of a leg since the last time were read again, and the receipts of messages that wait.",
  },
  reconciliation_interrupted: {
    text: "Reconciliation interrupted, repeated the next time",
    meaning: "An endpoint did not answer while a leg was reconciled.",
  },
} as const satisfies Record<string, EventText>;
