/** Events of the messaging relayer: legs, messages, batches and their transactions. */
import type { EventText } from "./event_text.ts";

/** See {@link EventText}. */
export const messageEvents = {
  leg_started: { text: "Leg started" },
  leg_paused: {
    text: "Leg paused: endpoint unavailable",
    meaning: "Three polls in a row failed. The leg is polled more slowly until an endpoint answers.",
    action: "Check the endpoint that the error names.",
    endedBy: ["leg_resumed"],
  },
  leg_resumed: { text: "Leg resumed" },
  leg_blocked: {
    text: "Leg blocked: nothing is delivered on it for now",
    meaning: "Both chains work, but a condition of delivery is missing; `reason` and `detail` name it.",
    action: "See `reason` in the line. The leg resumes by itself.",
    endedBy: ["leg_unblocked"],
  },
  leg_unblocked: { text: "Leg no longer blocked" },
  blocks_skipped: {
    text: "Blocks skipped: their messages or payments are not read",
    action: "Set `initial_height` to the value of the line to read them.",
    reaction: "the blocks are skipped, reading continues behind them",
    codes: {
      initial_height: {
        text: "Blocks skipped: initial_height is above the stored position",
        action: "Remove `initial_height` if that was not intended.",
      },
      age: "Blocks older than 7 days skipped; set initial_height to include them",
      states_missing: {
        text: "Blocks skipped: the node has discarded their states",
        action:
          "Use a node with --state-pruning archive, and set `initial_height` to the block before `from`.",
      },
      unreadable: {
        text: "Block skipped: the node does not return its events, or they do not match its metadata",
        action:
          "Raise --rpc-max-response-size of the node, and set `initial_height` to the block before `from`.",
      },
      payments_pruned: {
        text: "Old blocks not kept by the hub node; earlier payments are not searched",
        action: "Use a node that keeps old blocks if payments are missing.",
      },
      payments_age: {
        text: "Blocks of the hub from long ago skipped in the search for payments",
        action: "Deliver such payments by hand if some are missing.",
      },
    },
  },
  messages_skipped: {
    text: "Messages skipped: they exist, but cannot be read",
    action: "Use an endpoint with a complete index, then set `initial_height` below the blocks of the line.",
    reaction: "the messages are skipped, reading continues behind them",
    codes: {
      not_served: "Requests not served by any endpoint; skipped. Set initial_height to the block before to " +
        "read them again",
      bodies_missing: {
        text: "Messages skipped: the node lacks their bodies",
        action: "Use a node that imported the block itself with --enable-offchain-indexing=true, and set " +
          "`initial_height` to the block before.",
      },
      undecodable: {
        text: "Event unreadable; skipped",
        action: "Nothing if it is one message. Update the program if all messages of the chain are affected.",
      },
    },
  },
  message_found: { text: "Message found" },
  message_changed: {
    text: "A message has another status",
    action: "Only for `too_large` and `poison` in `reason`, which need you: see troubleshooting.",
    codes: {
      seen: "Message seen",
      held: "Message held",
      ready: "Message ready",
      submitted: "Message submitted",
      delivered: "Message delivered",
      delivered_by_other: "Message delivered by another relayer",
      timed_out: "Message timed out",
      not_executed: "Message not executed: its module failed, and it is tried again",
      rejected: "Message rejected",
      gone: "Message gone",
    },
  },
  messages_settled: {
    text: "Messages settled",
    codes: {
      delivered: "Messages delivered",
      delivered_by_other: "Messages delivered by another relayer",
      timed_out: "Messages timed out",
    },
  },
  record_unreadable: {
    text: "A row of the database cannot be decoded",
    action: "Report it with the line.",
    reaction: "what the row describes is skipped, everything else continues",
    codes: { message: "Cannot decode stored message; quarantined" },
  },
  batch_sent: { text: "Batch sent" },
  transaction_replaced: {
    text: "Pending transaction replaced",
    codes: {
      repriced: "Pending transaction replaced at a higher price",
      cancelled: "Pending transaction no longer useful; cleared by a zero-value transfer",
    },
  },
  transaction_failed: {
    text: "Transaction without effect; its messages are tried again if still needed",
    action: "If it repeats, check the endpoint and the account; `detail` gives the reason.",
    codes: {
      repriced: "Gas too expensive for a batch; checking its profit again",
      broadcast_unknown: "Broadcast result unknown; checking inclusion",
      rejected: "Transaction rejected by the node; its messages are tried again",
      reorganised: "Block with our transaction was reorganised away",
      ineffective: "Transaction had no effect",
      too_large: "Transaction too large for the node; the next ones are smaller",
      never_included: {
        text: "Extrinsic stays in the node's transaction pool and is in no block: it counts as lost",
        action:
          "If it repeats, check the node: its pool may be stuck, or its extrinsics may not reach the collators.",
      },
    },
  },
  loss_limit_reached: {
    text: "maximum_daily_loss reached: nothing is sent to this chain for now",
    meaning: "Transactions of the last 24 hours cost that much more than they earned; proofs earn nothing.",
    action:
      "Find the cause with `profit --since=1d`, of proofs in `proofs_gas_spent`; raise `maximum_daily_loss` if it is " +
      "acceptable.",
    endedBy: ["loss_limit_cleared"],
  },
  loss_limit_cleared: { text: "Losses below maximum_daily_loss again: sending resumed" },
  modules_suspended: {
    text: "Messages between two modules suspended: a paid delivery had no effect",
    meaning: "The receiving module fails when mined although it passes in simulation.",
    action: "Nothing; one message is tried at `next`. Exclude the module with `module_filter` if it repeats.",
  },
  modules_resumed: { text: "Messages between two modules resumed: a delivery had its effect" },
  reward_price_unknown: {
    text:
      "Price of the hub's token unknown, so its rewards pay for nothing: set token_price of the hub in dollars",
    action: "Set `token_price` in the section of the hub.",
  },
  reconciliation_found: {
    text: "Reconciliation found gaps, which are filled now",
    meaning:
      "Blocks read again held messages without a row (`missed`), or messages waited although their target had a " +
      "receipt (`ended`).",
    action: "Nothing for the messages; check the endpoints of the leg, and report it as a defect.",
  },
} as const satisfies Record<string, EventText>;
