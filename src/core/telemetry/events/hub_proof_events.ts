/** Events of consensus proofs of the hub: made, sent with or without messages, accepted or refused by hosts. */
import { type EventText, POLLED_AGAIN } from "./event_text.ts";

/** See {@link EventText}. */
export const hubProofEvents = {
  proofs_not_needed: { text: "No proofs needed" },
  proof_built: { text: "Proof built from the relay chain" },
  proofs_unavailable: {
    text: "Proofs of the hub unavailable",
    meaning: "Messages to the chain wait for updates by other relayers.",
    action: "Follow the explanation of the line.",
    reaction: POLLED_AGAIN,
    codes: {
      gap: "Proofs of the hub unavailable: one that the host needs is lost permanently",
      withheld: "Proofs of the hub unavailable: this node does not serve them",
      mismatch: "Proofs of the hub unavailable: the configuration does not match",
      not_offered: {
        text: "Hub node does not offer accepted proofs; messages wait for other relayers' updates",
        action: "Start the hub node with --rpc-methods=unsafe and --enable-offchain-indexing=true.",
      },
      not_indexed: {
        text: "Hub node lacks the bytes of an accepted proof; messages wait for other relayers' updates",
        action: "Start the hub node with --enable-offchain-indexing=true.",
      },
      unknown_kind: {
        text: "Hub has accepted a consensus proof of a kind that this version does not know; skipped",
        action: "Update the program. Chains advance by the next older proof of a known kind.",
      },
      rotation: {
        text: "Rotation of the authority set no longer kept by the hub",
        action:
          "Run a consensus relayer with [hub.prover]; otherwise the chain's light client must be reset.",
      },
    },
  },
  proofs_overtaken: {
    text: "Another relayer was faster with consensus proofs",
    codes: {
      pending: "Proof of another relayer is pending; nothing is sent",
      delivered: "Consensus proofs already delivered by another relayer",
      known: "Consensus proofs submitted by another relayer between simulation and signing; not sent",
      wasted: "Proofs already delivered by another relayer; gas wasted",
    },
  },
  proofs_sent: { text: "Consensus proofs sent" },
  proofs_delivered: { text: "Consensus proofs delivered" },
  proofs_failed: {
    text: "Transaction with proofs of the hub failed",
    action: "Nothing if it passes. If it repeats as a warning, check the endpoint and report it.",
    reaction: "the host is polled again in 10 min",
    codes: {
      rejected: "Proofs rejected by the host, retrying",
      lost: "Transaction with proofs lost, retrying",
      interrupted: "Stopped before a transaction with proofs was mined; it may still be mined",
      too_large: {
        text: "Proof too large for one transaction",
        action:
          "Use an endpoint that accepts larger transactions, or a hub whose accepted proofs are small (SP1).",
      },
      rotations_rejected: {
        text: "Target rejected authority set updates",
        action: "If it repeats, check the light client of the hub on that chain; `detail` gives the reason.",
      },
    },
  },
  proofs_gas_spent: { text: "Gas spent on a transaction with proofs" },
  rotations_unprofitable: {
    text: "Rotations not covered by the hub's reward: they travel with messages that pay for them",
  },
} as const satisfies Record<string, EventText>;
