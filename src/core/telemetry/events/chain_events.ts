/** Events about chains and their ISMP parts: accounts, runtimes, hosts, light clients. */
import { type EventText, POLLED_AGAIN } from "./event_text.ts";

/** See {@link EventText}. */
export const chainEvents = {
  unknown_met: {
    text: "Unknown value from the network; skipped",
    meaning:
      "Newer software of a chain, contract or node has a variant, field or kind that this version does not know. " +
      "Logged once per run for each; `check` and `status` list them.",
    action: "Update this program.",
  },
  balance_insufficient: {
    text: "Account cannot pay for gas; send it funds",
    meaning: "Its messages wait because the account is out of native tokens.",
    action: "Send the account native tokens of the chain. Sending continues by itself.",
    reaction: "messages wait, the balance is read again every minute",
  },
  balance_restored: { text: "Account can pay for gas again" },
  account_shared: {
    text: "Nonces of this account are used by another program",
    action: "Give this relayer an account of its own.",
    codes: {
      mined:
        "Another program uses this account: deliveries continue more slowly. Give this relayer its own account",
      ahead: {
        text: "Deliveries wait behind a transaction of this account that this relayer does not know",
        action:
          "Replace it in a wallet by one at a higher price: it may be of this relayer's, from before its database " +
          "was lost. Give this relayer an account of its own.",
      },
      seen: "Nonce used by an unknown transaction; signing after it",
    },
  },
  runtime_changed: {
    text: "Runtime of a chain changed",
    action: "Update the program.",
    codes: {
      upgraded: "Runtime upgraded",
      differs: "Runtime has other calls, storage or events than this program knows for part of its work",
      update_layout: "Hub reads another layout of beacon updates, which is used from now on",
    },
  },
  host_changed: { text: "Host parameters changed by governance; the new ones are used" },
  host_unusable: {
    text: "Host of a chain accepts nothing now",
    action: "Ask the governance of the chain if it lasts; the host is polled, and work continues by itself.",
    reaction: POLLED_AGAIN,
    codes: {
      frozen: "Host is frozen: messages and proofs wait until its governance unfreezes it",
      expired: "Light client of the hub on the host has expired: governance must create it again",
      other_client: {
        text: "Consensus client of the host not supported: ConsensusRouter is required",
        action: "Remove the chain, or wait for its governance.",
      },
      unknown_layout: {
        text:
          "State of the host's consensus client has an unknown layout: no proofs of the hub are sent to it",
        action: "Update the program; until then messages wait for proofs of other relayers.",
      },
      foreign_hub: {
        text: "Hub not accepted by the chain: nothing can be delivered to it",
        action: "Its governance must add the hub, or a consensus relayer must deliver the first height.",
      },
    },
  },
  host_resumed: { text: "Host or light client is usable again" },
  client_unusable: {
    text: "Light client cannot be updated",
    action:
      "Ask the governance of the chain that has the light client; it is polled, and work continues by itself.",
    reaction: POLLED_AGAIN,
    codes: {
      frozen: "Light client is frozen: waiting until governance unfreezes it",
      expired: "Light client has expired: governance must create it again",
      hub_state: {
        text: "Type or state of the light client do not fit the configuration",
        action: "Compare the configuration with the explanation or error of the line.",
      },
      unrecoverable: {
        text: "No update can advance this light client, checking again in 10 min",
        action: "Governance must reset the client: what it trusts is no longer connected to the chain.",
      },
      fork_not_followed: {
        text: "Fork of a beacon chain that cannot be followed, in force or due within 14 days",
        action: "Upgrade this program before the fork; the hub's runtime is upgraded by its governance.",
      },
      header_unknown: {
        text: "Block header with fields that the hub does not know, checking again in 10 min",
        action: "Nothing can be proved until the hub's runtime is upgraded; no node is at fault.",
      },
    },
  },
} as const satisfies Record<string, EventText>;
