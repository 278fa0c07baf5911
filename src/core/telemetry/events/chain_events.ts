/** Events about chains and their ISMP parts: start-up checks, governance, accounts, light clients. */
import { type EventText, LEFT_OUT, POLLED_AGAIN } from "./event_text.ts";

/** See {@link EventText}. */
export const chainEvents = {
  unknown_met: {
    text: "Unknown value from the network; skipped",
    meaning:
      "A chain, a contract or a node has something that a newer version of its software has: a variant, a " +
      "field, a kind of event or of light client. What is known beside it is used. Logged once per run for each; " +
      "`check` and `status` list them.",
    action: "Update this program.",
  },
  host_not_found: {
    text: "No contract at ismp_host",
    meaning:
      "The configured address of the ISMP host has no code; at level warn, at one endpoint only, which is not used first.",
    action: "Correct `ismp_host`, or wait until the node is synced.",
    reaction: LEFT_OUT,
  },
  host_invalid: {
    text: "Contract at ismp_host is not an ISMP host",
    meaning: "The contract does not answer as an ISMP host does.",
    action: "Correct `ismp_host`.",
    reaction: LEFT_OUT,
  },
  host_wrong_hub: {
    text: "Host belongs to another hub",
    meaning: "The ISMP host of the chain is connected to a hub other than the configured one.",
    action: "Correct `ismp_host`, or `state_machine` of the hub.",
    reaction: LEFT_OUT,
  },
  hub_not_accepted: {
    text: "Hub not accepted by the chain: nothing can be delivered to it",
    meaning: "The chain has no height of the hub, or does not list the hub.",
    action: "Its governance must add the hub, or a consensus relayer must bring the first height.",
    reaction: POLLED_AGAIN,
  },
  handler_not_found: {
    text: "No contract at the host's handler address",
    meaning: "The host names a handler that has no code.",
    action: "Correct `ismp_host`, or tell those who run the host.",
    reaction: LEFT_OUT,
  },
  fee_token_unreadable: {
    text: "Decimals of the host's fee token cannot be read",
    meaning: "Amounts of fees would have no scale.",
    action: "Correct `ismp_host`, or tell those who run the host.",
    reaction: LEFT_OUT,
  },
  batch_call_unavailable: {
    text: "Handler has no batchCall: consensus proofs cannot travel with messages",
    meaning: "An older handler takes one call per transaction.",
  },
  balance_insufficient: {
    text: "Account cannot pay for gas; send it funds",
    meaning: "A transaction was refused, or not sent, for want of native tokens. Its messages wait.",
    action: "Send the account native tokens of the chain. Sending continues by itself.",
    reaction: "messages wait, the balance is read again every minute",
  },
  balance_restored: {
    text: "Account can pay for gas again",
    meaning: "Sending continues.",
  },
  account_shared: {
    text:
      "Another program uses this account: deliveries continue more slowly. Give this relayer its own account",
    meaning: "A transaction that this relayer did not make used a nonce, and delivered none of its messages.",
    action: "Give this relayer an account of its own.",
  },
  foreign_nonce_used: {
    text: "Nonce used by an unknown transaction; signing after it",
    meaning: "A transaction that this relayer did not make has its nonce, in a block or in the mempool.",
    action: "Give this relayer an account of its own.",
  },
  state_machine_unreadable: {
    text: "State machine of the node unknown: not an ISMP chain",
    meaning: "The node does not tell which ISMP state machine it is, or one of an unknown kind.",
    action: "Correct `rpc_ws`.",
    reaction: LEFT_OUT,
  },
  hashing_mismatch: {
    text: "Headers are hashed with another algorithm",
    meaning: "The configured hash algorithm does not give the hash of a known block.",
    action: "Set `hashing` as the line says.",
    reaction: LEFT_OUT,
  },
  pallets_missing: {
    text: "Required pallets missing in the runtime",
    meaning: "The chain is no ISMP chain, or an older one.",
    action: "Correct `rpc_ws`, or remove the chain.",
    reaction: LEFT_OUT,
  },
  runtime_unsupported: {
    text: "Runtime has other calls, storage or events than this program knows",
    meaning: "The chain runs a newer or much older runtime, which would be misread.",
    action: "Update the program.",
    reaction: LEFT_OUT,
  },
  runtime_differs: {
    text: "Runtime has other calls, storage or events than this program knows for part of its work",
    meaning: "The chain runs a newer or much older runtime; the line says what is not done there.",
    action: "Update the program.",
  },
  chain_unknown: {
    text: "Chain unknown to the hub",
    meaning: "The hub has no height of the chain under the configured `consensus_state_id`.",
    action: "Correct `consensus_state_id`, or run a consensus relayer for the chain.",
    reaction: LEFT_OUT,
  },
  chain_not_accepted: {
    text: "Chain not listed by its light client: its messages are not accepted",
    meaning: "The light client exists, but does not list this chain, so its messages wait.",
    action: "Governance must list the chain; the line names the call.",
  },
  challenge_period_missing: {
    text: "Challenge period missing: messages of the chain will be refused",
    meaning: "The hub has no challenge period for the chain.",
    action: "Governance of the hub must set it.",
  },
  host_contract_unknown: {
    text: "Host contract of the chain unknown to the hub: every proof would be refused",
    meaning: "The hub stores no ISMP host for the chain.",
    action: "Governance of the hub must set it.",
    reaction: LEFT_OUT,
  },
  host_contract_mismatch: {
    text: "Host contract differs from the one that the hub stores",
    meaning: "`ismp_host` is not the address that the hub verifies proofs against.",
    action: "Set `ismp_host` to the address of the line.",
    reaction: LEFT_OUT,
  },
  host_changed: {
    text: "Host parameters changed by governance",
    meaning: "Governance replaced parts of the ISMP host; the new ones are used from now on.",
  },
  runtime_upgraded: {
    text: "Runtime upgraded",
    meaning: "The chain runs a newer runtime; its metadata was read again.",
  },
  swap_price_unavailable: {
    text: "Swap price unavailable from the host's router",
    meaning: "The price of the native token cannot be read from the chain; other sources are asked.",
  },
  host_frozen: {
    text: "Host is frozen: messages and proofs wait until its governance unfreezes it",
    meaning: "The ISMP host takes nothing now.",
    action: "Ask the governance of the chain if it lasts; the host is polled, and work continues by itself.",
    reaction: POLLED_AGAIN,
  },
  client_frozen: {
    text: "Light client is frozen: waiting until governance unfreezes it",
    meaning: "The light client takes no updates and proves no messages.",
    action:
      "Ask the governance of the chain if it lasts; the client is polled, and work continues by itself.",
    reaction: POLLED_AGAIN,
  },
  freeze_ended: {
    text: "Host or light client no longer frozen",
    meaning: "Messages are delivered again.",
  },
  client_expired: {
    text: "Light client has expired: governance must create it again",
    meaning: "Its last update is older than its unbonding period; no relayer can update it.",
    action: "Ask governance of the chain that has the light client.",
    reaction: POLLED_AGAIN,
  },
  client_missing: {
    text: "Light client missing",
    meaning: "There is no light client with the configured `consensus_state_id`.",
    action: "Correct the id, or let governance create the client with the output of `log-consensus-state`.",
    reaction: LEFT_OUT,
  },
  client_id_mismatch: {
    text: "Light client has another id than configured",
    meaning: "The client of a rollup was found under its own id, which is used.",
    action: "Correct `consensus_state_id`.",
  },
  client_unusable: {
    text: "Light client cannot be updated",
    meaning: "Type or state of the light client do not fit the configuration.",
    action: "Compare the configuration with the explanation or error of the line.",
    reaction: POLLED_AGAIN,
  },
  client_unsupported: {
    text: "Consensus client of the host not supported: ConsensusRouter is required",
    meaning: "The consensus client of the host takes no proofs of the form that this program makes.",
    action: "Remove the chain, or wait for its governance.",
    reaction: POLLED_AGAIN,
  },
  client_layout_unknown: {
    text: "State of the host's consensus client has an unknown layout: no proofs of the hub are sent to it",
    meaning:
      "The contract stores a state of a length that this version cannot read, with newer fields perhaps.",
    action: "Update the program; until then messages wait for proofs of other relayers.",
    reaction: POLLED_AGAIN,
  },
  coprocessor_mismatch: {
    text: "Chain's runtime has another coprocessor: messages of the hub cannot be proved to it",
    meaning: "The chain stores heads of the hub as those of an ordinary or another chain.",
    action: "Its governance must upgrade the runtime; until then remove the chain.",
  },
  relay_blocks_unknown: {
    text: "No relay chain blocks known to the chain: no parachain can be proved to it",
    meaning: "The light client for parachains has seen no block of the relay chain yet.",
    action: "Nothing if it passes after some blocks. Otherwise ask governance of the chain.",
  },
  client_unrecoverable: {
    text: "No update can advance this light client, checking again in 10 min",
    meaning: "What the client trusts is no longer connected to the chain by anything that can be proved.",
    action: "Governance must reset the client.",
    reaction: "the chain is checked again in 10 min, the others continue",
  },
} as const satisfies Record<string, EventText>;
