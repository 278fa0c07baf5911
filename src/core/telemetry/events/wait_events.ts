/** Events of waits: every five minutes a wait that lasts says what is awaited and for how long. */
import { CHECK_ENDPOINT, type EventText } from "./event_text.ts";

/** See {@link EventText}. */
export const waitEvents = {
  poll_awaited: {
    text: "Waiting for the current poll to end",
    meaning: "A proof takes long to read and build.",
    action: CHECK_ENDPOINT,
  },
  update_awaited: {
    text: "Waiting for something to prove",
    meaning: "The chain has had nothing new to prove; `reason` says why.",
  },
  update_inclusion_awaited: {
    text: "Waiting for a block with the update",
    meaning: "An update was sent and is not in a block yet.",
    action: "Check the node if it lasts.",
  },
  initial_state_awaited: {
    text: "Waiting for the initial state",
    meaning: "`log-consensus-state` still reads what it needs.",
  },
  hub_proofs_awaited: {
    text: "Waiting for proofs of the hub",
    meaning: "A host needs proofs that no source has; `reason` says why.",
    action: "See `proofs_unavailable`.",
  },
  proof_source_awaited: {
    text: "Waiting for a source of proofs of the hub",
    meaning: "A proof of the hub takes long to read and build.",
    action: CHECK_ENDPOINT,
  },
  host_awaited: {
    text: "Waiting for the host to accept proofs of the hub",
    meaning: "The host takes nothing now; `code` says why.",
    action: "See the warning or error before it.",
  },
  proofs_inclusion_awaited: {
    text: "Waiting for a block with proofs of the hub",
    meaning: "A transaction with proofs was sent and is not mined yet.",
  },
  source_height_awaited: {
    text: "Waiting for the target to learn a height of the source",
    meaning: "No update of the source's light client on the target covers the messages yet.",
    action: "Run a consensus relayer if it lasts, or check the one that runs.",
  },
  challenge_period_awaited: {
    text: "Waiting for the challenge period to end",
    meaning: "The target knows the height, but accepts messages of it only later.",
  },
  unfreeze_awaited: {
    text: "Waiting for the host to be unfrozen",
    meaning: "The host takes no messages now.",
  },
  state_proofs_awaited: {
    text: "Waiting for an endpoint that serves state proofs",
    meaning:
      "No endpoint of the target serves eth_getProof at the height that the hub knows, so nothing is delivered.",
    action: "See the row `state_proof` of `check`.",
  },
  acceptance_awaited: {
    text: "Waiting for governance to accept the source",
    meaning: "The hub does not take messages of the source chain.",
    action: "See `chain_not_accepted`.",
  },
  runtime_support_awaited: {
    text: "Waiting for a runtime that this program knows",
    meaning: "The target was upgraded to another runtime than this program knows; nothing is sent to it.",
    action: "Update the program.",
  },
  inclusion_awaited: {
    text: "Waiting for transactions to be included",
    meaning: "Transactions of ours are pending.",
    action: "Check endpoint and gas price settings if it lasts.",
  },
  claims_awaited: {
    text: "Waiting for claims to be final on the hub",
    meaning: "Claims were sent and are not final yet.",
  },
  hub_height_awaited: {
    text: "Waiting for the hub to learn a height",
    meaning: "The hub does not know the blocks yet that prove our deliveries.",
    action: "Run a consensus relayer if it lasts.",
  },
  withdrawals_awaited: {
    text: "Waiting for fees to be paid out",
    meaning: "Withdrawals were requested and are not received yet.",
  },
} as const satisfies Record<string, EventText>;
