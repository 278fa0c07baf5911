/** Events about endpoints: what they serve, what they lack, what they say. */
import { CHECK_ENDPOINT, type EventText, LEFT_OUT, POLLED_AGAIN } from "./event_text.ts";

/** See {@link EventText}. */
export const endpointEvents = {
  balance_unread: {
    text: "Balance could not be read; again in 1 min",
    meaning: "The status page and the metrics show the balance that was read before.",
  },
  endpoint_wrong_chain: {
    text: "Endpoint serves another chain: correct or remove its URL",
    meaning:
      "The endpoint reported another chain id three times in a row: its URL belongs to another network, or a load balancer routes requests to one. It is not used; its chain id is checked again at least once a minute.",
    action: "Correct or remove its URL.",
    reaction: "the endpoint is not used, and asked again at least once a minute",
  },
  endpoint_behind: {
    text: "Endpoint is behind another one of its chain: used last until it has caught up",
    meaning:
      "The newest block of the endpoint is `blocks` and `seconds` behind. It stands still, is slow, or still syncing.",
    action: "See to the node's peers, disk and load, or replace the endpoint.",
  },
  endpoint_unauthorized: {
    text: "Endpoint refuses everything: check the key in the URL and the plan",
    meaning:
      "It answers every request by HTTP 401 to 405, or names a missing key or plan. The next endpoint is used; it is asked again at least once a minute.",
    action: "Check the key in its URL and the plan of the account at the provider.",
  },
  endpoint_ready: {
    text: "Endpoint is used as configured again",
    meaning: "`before` says what kept it from that: behind, unauthorized or wrong_chain.",
  },
  endpoint_method_missing: {
    text: "Endpoint lacks a required RPC method, checking again in 1 min",
    meaning: "A node or its gateway denies the RPC method that `method` names.",
    action: "Allow the method, or use an endpoint that offers it.",
    reaction: "the chain is polled again in 1 min, the others continue",
  },
  endpoint_data_invalid: {
    text: "Endpoint returned invalid data",
    meaning:
      "Data of an endpoint contradicts itself, a verified root, or the rules of the chain. It is not used.",
    action: "Use another endpoint if it repeats: this one is on a fork, broken, or not honest.",
    reaction: POLLED_AGAIN,
  },
  endpoint_logs_incomplete: {
    text: "Endpoint returned incomplete logs: its index is behind; other endpoints are asked",
    meaning: "Events that must exist are missing in an answer of eth_getLogs.",
    action: CHECK_ENDPOINT,
  },
  signer_unavailable: {
    text: "Remote signer gives no signature; nothing of its chain is sent until it does",
    meaning:
      "The Web3Signer that holds the key of the account does not answer, refuses, or lacks the key; `detail` says which. Messages keep their state.",
    action: "See the explanation in the line. Sending continues by itself.",
  },
  signer_answer_wrong: {
    text: "Remote signer answered something else than it was asked to sign; nothing was sent",
    meaning:
      "The signed transaction or message differs in `field` from what was asked for, or another key signed it.",
    action: "See the explanation in the line. Sending continues by itself.",
    reaction: "nothing of this chain is sent until the signer signs what it is asked for",
  },
  signer_recovered: {
    text: "Remote signer signs again",
    meaning: "It answered as asked after a time in which it did not.",
  },
  endpoint_proof_invalid: {
    text: "Endpoint returned an invalid proof; other endpoints are asked",
    meaning:
      "A state proof does not verify. `storedRoot` tells whether it was checked against the root that the hub stores.",
    action: "Use another endpoint if it repeats: this one is on a fork, or not honest.",
  },
  data_unavailable: {
    text: "Required data not available from any endpoint",
    meaning: "No endpoint has what a consensus proof needs, for example old state.",
    action: "Add an endpoint that serves what the error names.",
    reaction: POLLED_AGAIN,
  },
  rpc_methods_unlisted: {
    text: "RPC methods not listed, so they could not be checked",
    meaning: "The node does not answer rpc_methods.",
    action: "Nothing if the node is of the chain's own software.",
  },
  rpc_methods_missing: {
    text: "Required RPC methods missing",
    meaning: "The node lacks RPC methods without which it cannot be used.",
    action: "Use a node of the chain's own software.",
    reaction: LEFT_OUT,
  },
  offchain_storage_unavailable: {
    text: "Consensus proofs unavailable from this node",
    meaning:
      "The hub node does not offer offchain_localStorageGet, so messages wait for another relayer's updates.",
    action:
      "Start the node with --rpc-methods=unsafe and --enable-offchain-indexing=true, or use such a node.",
  },
  dry_run_unavailable: {
    text: "Dry runs unavailable from this node; the transaction queue's validation is used",
    meaning: "The node does not offer system_dryRun, so failing messages are noticed later.",
    action: "Start the node with --rpc-methods=unsafe, or use such a node.",
  },
  storage_batches_unavailable: {
    text: "Node lacks a method for many values at once: they are read one by one",
    meaning: "Reading state takes more requests with this node.",
  },
  call_bundles_unavailable: {
    text: "Node runs no code that is not on the chain: contracts are read one by one",
    meaning: "Reading contracts takes more calls with this endpoint, which some providers bill.",
  },
  gas_price_implausible: {
    text: "Gas price not plausible; a lower one is offered",
    meaning:
      "An endpoint named a gas price above twice what the fee history, another endpoint or the last price supports.",
    action:
      "Compare the endpoint with a block explorer; remove it if it is wrong. Configure a second endpoint.",
  },
  tracing_unavailable: {
    text: "No debug_traceCall with logs: eth_simulateV1 is used",
    meaning: "Simulations do not tell what each message of a batch costs.",
    action: "Use an endpoint with debug_traceCall for exact costs.",
  },
  simulation_unavailable: {
    text: "Neither debug_traceCall nor eth_simulateV1: failing modules are noticed only after paying",
    meaning: "Deliveries are checked by eth_call, which cannot see that a receiving module fails.",
    action: "Use an endpoint with debug_traceCall or eth_simulateV1.",
  },
  log_range_halved: {
    text: "Log range too wide for the endpoint; halved",
    meaning: "The endpoint refused eth_getLogs for so many blocks; it is asked for fewer.",
  },
  events_pruned: {
    text: "Events of a block pruned by the node: the outcome is read from receipts",
    meaning: "The node no longer has the events of a block with one of our extrinsics.",
    action: "Nothing; a node that keeps more state tells more about failures.",
  },
  extrinsic_never_included: {
    text: "Extrinsic stays in the node's transaction pool and comes into no block: it counts as lost",
    meaning:
      "The blocks in which it was valid are final without it; what it carried is sent again if still needed.",
    action:
      "If it repeats, look at the node: its pool may be stuck, or its extrinsics may not reach the collators.",
  },
  block_unreadable: {
    text:
      "Block larger than what the node answers with: what became of extrinsics in it is read from receipts",
    meaning: "The node refuses the body or the events of a block as too large (--rpc-max-response-size).",
    action: "Nothing; a node with the default of 15 MB tells more about failures.",
  },
  event_unreadable: {
    text: "Event unreadable; skipped",
    meaning: "An event of a chain cannot be decoded, for example a destination that is not text.",
    action: "Nothing if it is one message. Update the program if all messages of the chain are affected.",
  },
  requests_missing: {
    text:
      "Requests not served by any endpoint; skipped. Set initial_height to the block before to read them again",
    meaning: "The nonces of the host show requests whose events no endpoint has returned for a long time.",
    action: "Use an endpoint with a complete index, then set `initial_height` below the blocks of the line.",
  },
  block_states_missing: {
    text:
      "Blocks skipped: the node has discarded their states. Use a node with --state-pruning archive, and set " +
      "initial_height to the block before",
    meaning:
      "A Substrate node keeps states of 256 blocks by default; events of older blocks cannot be read from it.",
    action: "Use a node with --state-pruning archive, and set `initial_height` to the block before `from`.",
    reaction: "the blocks are skipped, reading continues behind them",
  },
  message_bodies_missing: {
    text: "Messages skipped: the node lacks their bodies. Use a node that imported this block itself with " +
      "--enable-offchain-indexing=true, and set initial_height to the block before",
    meaning: "A Substrate node shows that messages exist but not what they are.",
    action:
      "Use a node that imported the block itself with --enable-offchain-indexing=true, and set `initial_height` " +
      "to the block before.",
    reaction: "the messages are skipped, reading continues behind them",
  },
} as const satisfies Record<string, EventText>;
