/** Events about endpoints: what they serve, what they lack, what is wrong with their data. */
import { type EventText, POLLED_AGAIN } from "./event_text.ts";

/** See {@link EventText}. */
export const endpointEvents = {
  endpoint_unusable: {
    text: "Endpoint not used as configured; it is asked again at least once a minute",
    reaction: "the endpoint is not used, and asked again at least once a minute",
    action: "Correct or remove its URL.",
    codes: {
      wrong_chain: "Endpoint serves another chain: correct or remove its URL",
      behind: {
        text: "Endpoint is behind another one of its chain: used last until it has caught up",
        action: "Check the node's peers, disk and load, or replace the endpoint.",
      },
      unauthorized: {
        text: "Endpoint refuses everything: check the key in the URL and the plan",
        action: "Check the key in its URL and the plan of the account at the provider.",
      },
      method_missing: {
        text: "Endpoint lacks a required RPC method, checking again in 1 min",
        action: "Allow the RPC method that `method` names, or use an endpoint that offers it.",
      },
    },
  },
  endpoint_ready: { text: "Endpoint is used as configured again" },
  endpoint_data_invalid: {
    text: "Endpoint returned data that contradicts itself, a verified root, or the rules of the chain",
    action: "Use another endpoint if it repeats: this one is on a fork, broken, or not honest.",
    reaction: POLLED_AGAIN,
    codes: {
      contradiction: "Endpoint returned invalid data",
      proof: "Endpoint returned an invalid proof; other endpoints are asked",
      logs: "Endpoint returned incomplete logs: its index is behind; other endpoints are asked",
      gas_price: {
        text: "Gas price not plausible; another one is offered",
        action:
          "Compare the endpoint with a block explorer; remove it if it is wrong. Configure a second endpoint.",
      },
    },
  },
  endpoint_limited: {
    text: "Endpoint lacks an optional feature; the work continues in another way",
    action: "Use an endpoint with the feature; without it requests, costs or checks are worse.",
    codes: {
      call_bundles: "Node rejects calls to undeployed code; reading contracts individually",
      tracing: "No debug_traceCall with logs: eth_simulateV1 is used",
      simulation: {
        text: "Neither debug_traceCall nor eth_simulateV1: failing modules are noticed only after paying",
        action: "Use an endpoint with debug_traceCall or eth_simulateV1.",
      },
      events: "Events of a block pruned by the node; reading the outcome from receipts",
      block_size: {
        text: "Block exceeds the node's response limit; reading extrinsic outcomes from receipts",
        action:
          "None. A node with the default --rpc-max-response-size of 15 MB gives more detail on failures.",
      },
      light_client_data: "No light client data for this update; reading blocks and states",
    },
  },
  data_unavailable: {
    text: "Required data not available from any endpoint",
    action: "Add an endpoint that serves what the error names, for example old state.",
    reaction: POLLED_AGAIN,
  },
  signer_unavailable: {
    text: "Remote signer gives no signature; nothing of its chain is sent until it does",
    meaning: "Web3Signer does not answer, refuses, or lacks the key (`detail`). Messages keep their state.",
    action: "See the explanation in the line. Sending continues by itself.",
  },
  signer_answer_wrong: {
    text: "Remote signer answered no signature of what it was asked to sign; nothing was sent",
    meaning: "It signed something else, or another key signed (`detail`).",
    action: "See the explanation in the line. Sending continues by itself.",
    reaction: "nothing of this chain is sent until the signer signs what it is asked for",
  },
  signer_recovered: { text: "Remote signer signs again" },
} as const satisfies Record<string, EventText>;
