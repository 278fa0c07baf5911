/** Events of the consensus relayer: updates of light clients on the hub, and the rollups behind them. */
import type { EventText } from "./event_text.ts";

/** See {@link EventText}. */
export const updateEvents = {
  update_not_needed: { text: "No update needed" },
  update_built: { text: "Update built" },
  update_sent: { text: "Update sent" },
  update_accepted: { text: "Update accepted" },
  update_overtaken: {
    text: "Another relayer was faster",
    codes: {
      superseded: "Update accepted, but a newer height is already known",
      already_submitted: "Update already submitted by another relayer",
    },
  },
  update_failed: {
    text: "Update not included",
    action: "Nothing if it passes. If it repeats as a warning, check the node and report it.",
    reaction: "the update is built again at the next poll",
    codes: {
      too_large: {
        text: "Update too large for one extrinsic",
        action: "Follow the explanation of the line.",
      },
      rejected: {
        text: "Update rejected by the target, retrying",
        action: "If it repeats as a warning, compare the versions of chain and program, and report it.",
      },
      lost: "Update lost before inclusion, retrying",
    },
  },
  update_missing: {
    text: "No update of a watched chain; its interval counts from the start",
    action: "Check that its light client exists.",
  },
  update_overdue: {
    text: "No update for too long; the program ends",
    meaning: "The newest update of a watched chain is older than `maximum_update_intervals` allows.",
    action: "Let a supervisor start the program again, and read the lines of that chain.",
    reaction: "the program ends",
  },
  chain_limited: {
    text: "Part of the work does not exist for a chain",
    codes: {
      receive_only: "Chain is receive-only: the hub has no light client for its finality",
      no_hub_proofs: "No proofs of the hub for this chain",
    },
  },
  base_checked: {
    text: "Chain of --base was checked; relaying continues, for which the option is not needed",
    action: "Leave the option out, or name another chain.",
    reaction: "relaying continues, for which the option is not needed",
    codes: {
      confirmed: "--base is a host that follows the hub; proofs start from what each chain holds",
      ignored: "--base has no effect: proofs of the hub start from what each chain holds",
      client_missing: "--base names a chain without a BEEFY client of the hub",
      unreadable: "State of the chain of --base cannot be read",
    },
  },
  command_failed: {
    text: "Command failed; nothing was started",
    action: "Correct the argument or the configuration.",
    reaction: "the command ends",
    codes: {
      chain_not_configured: "Chain not in the configuration",
      receive_only: {
        text: "No initial state: the hub has no light client for the finality of this chain",
        action: "Name another chain.",
      },
      initial_state: {
        text: "Initial state could not be built",
        action: "Fix the endpoint that the error names and run the command again.",
      },
      cache_unusable: {
        text: "--cache cannot be used; nothing was started",
        action: "Correct the path or its rights.",
      },
    },
  },
  cache_fault: {
    text: "A file in the folder of --cache is not usable",
    action: "Check space and rights of the folder, and the disk if it repeats.",
    codes: {
      losses_unreadable:
        "Transactions of the last day unreadable in the folder of --cache: maximum_daily_loss counts from now on",
    },
  },
  rollup_claim_skipped: {
    text: "Rollup claim cannot be proved now; trying the next one",
    meaning: "It is tried again after the others.",
    action: "Use endpoints that are up to date and keep state for about an hour if it happens often.",
  },
} as const satisfies Record<string, EventText>;
