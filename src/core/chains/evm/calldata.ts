/**
 * Encodes a delivery as calldata of the host's handler: one step is the plain function, several are one `batchCall`.
 * Source: docs/protocol/evm-host.md sections 6 and 8.
 */
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { batchCall, consensusCall, getResponsesCall, postRequestsCall } from "../../evm/handler_calls.ts";
import type { Delivery, DeliveryStep } from "../submission.ts";

/**
 * Calldata for the handler of `host`.
 * @throws {HandlerCallError} when a proof does not fit its messages.
 * @throws {Error} for deliveries that no EVM host accepts: no step, no message, mixed kinds, gets, state proofs.
 */
export function encodeDelivery(delivery: Delivery, host: Address): Hex {
  const calls = delivery.steps.map((step) => callOf(step, host));
  const [first] = calls;
  if (first === undefined) throw new Error("A delivery without steps");
  return calls.length === 1 ? first : batchCall(calls);
}

function callOf(step: DeliveryStep, host: Address): Hex {
  if (step.kind === "consensus") return consensusCall(host, step.proof);
  const { proof, messages } = step;
  if (proof.kind !== "mmr") throw new Error("An EVM host accepts proofs of the hub's mountain range only");
  const at = { host, hub: proof.height.id.stateMachine, hubHeight: proof.height.height };
  const mmr = { ...proof, leafIndicesAndPos: proof.leafIndices.map((leafIndex) => ({ leafIndex })) };
  const posts = messages.flatMap((message) => message.kind === "post" ? [message.request] : []);
  const responses = messages.flatMap((message) => message.kind === "getResponse" ? [message.response] : []);
  if (messages.length === 0) throw new Error("A step without messages");
  if (posts.length === messages.length) return postRequestsCall(at, posts, mmr);
  if (responses.length === messages.length) return getResponsesCall(at, responses, mmr);
  throw new Error("The messages of a step are not all posts or all responses");
}
