import assert from "node:assert/strict";
import type { DeliveryStep } from "../../../../src/core/chains/submission.ts";
import { collectMessages, encodeDelivery } from "../../../../src/core/chains/evm/calldata.ts";
import { fromHex, type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import {
  decodeHandlerCall,
  type HandlerCall,
  type HandlerProof,
} from "../../../../src/core/evm/handler_calls.ts";
import { getResponseMessage, postMessage } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import vector from "../../../vectors/evm-handler-calls.json" with { type: "json" };

const host = toAddress(vector.host);
const hub = { stateMachine: parseStateMachine("KUSAMA-4009"), consensusStateId: toConsensusStateId("PAS0") };

/** The step that a handler call was made from, its messages in the reverse order of their leaves. */
function stepOf(call: HandlerCall): DeliveryStep | undefined {
  const proofOf = (proof: HandlerProof, indices: readonly bigint[]) => ({
    kind: "mmr" as const,
    height: { id: hub, height: proof.height.height },
    leafCount: proof.leafCount,
    items: proof.multiproof,
    leafIndices: indices,
  });
  if (call.tag === "handleConsensus") return { kind: "consensus", proof: call.value.proof };
  if (call.tag === "handlePostRequests") {
    const leaves = call.value.requests.toReversed();
    const messages = leaves.map(({ request }) => postMessage(request));
    return { kind: "messages", messages, proof: proofOf(call.value.proof, leaves.map(({ index }) => index)) };
  }
  if (call.tag === "handleGetResponses") {
    const leaves = call.value.responses.toReversed();
    const messages = leaves.map(({ response }) => getResponseMessage(response));
    return { kind: "messages", messages, proof: proofOf(call.value.proof, leaves.map(({ index }) => index)) };
  }
  return undefined;
}

let encoded = 0;
for (const { name, calldata } of vector.calls) {
  const data: Hex = toHex(fromHex(calldata));
  const call = decodeHandlerCall(data);
  const calls = call.tag === "batchCall" ? call.value.calls : [call];
  const steps = calls.flatMap((each) => stepOf(each) ?? []);
  if (steps.length !== calls.length) continue;
  encoded++;
  Deno.test(`calldata: ${name}`, () => {
    assert.equal(encodeDelivery({ steps }, host), data);
  });
}

Deno.test("calldata: the vectors cover consensus, posts, responses and batches", () => {
  assert.equal(encoded, 8);
});

Deno.test("calldata: deliveries that no EVM host takes are refused before anything is asked", () => {
  const post = decodeHandlerCall(toHex(fromHex(vector.calls[1]?.calldata ?? "")));
  const step = stepOf(post);
  assert.ok(step?.kind === "messages");
  assert.equal(collectMessages({ steps: [step, step] }).length, 4);
  assert.throws(() => encodeDelivery({ steps: [] }, host), /without steps/);
  assert.throws(() => encodeDelivery({ steps: [{ ...step, messages: [] }] }, host), /without messages/);
  const state = { kind: "state", height: step.proof.height, proof: new Uint8Array() } as const;
  assert.throws(() => encodeDelivery({ steps: [{ ...step, proof: state }] }, host), /mountain range/);
  assert.throws(() => encodeDelivery({ steps: [{ ...step, messages: step.messages.slice(1) }] }, host), {
    code: "leaf_count_mismatch",
  });
});
