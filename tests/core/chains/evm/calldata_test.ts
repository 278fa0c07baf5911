import assert from "node:assert/strict";
import { decodeFunctionData } from "viem";
import { collectMessages, type DeliveryStep } from "../../../../src/core/chains/submission.ts";
import { encodeDelivery } from "../../../../src/core/chains/evm/calldata.ts";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { decodeStrict } from "../../../../src/core/encoding/scale.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { handlerV2Abi } from "../../../../src/core/evm/host_abi.ts";
import { getResponseMessage, type Message, postMessage } from "../../../../src/core/ismp/message.ts";
import { mmrProofCodec } from "../../../../src/core/ismp/proof.ts";
import { parseIsmpEvent } from "../../../../src/core/ismp/rpc_json.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import vectors from "../../../vectors/evm-handler-calls.json" with { type: "json" };

type Vector = typeof vectors.calls[number];

const host = toAddress(vectors.host);
const hub = { stateMachine: parseStateMachine("KUSAMA-4009"), consensusStateId: toConsensusStateId("PAS0") };

/** The vectors write integers as decimal strings, the JSON-RPC as numbers. */
function messageOf(value: unknown, name: string): Message {
  const json: unknown = JSON.parse(
    JSON.stringify(value),
    (key, item) =>
      /^(nonce|height|timeoutTimestamp)$/.test(key)
        ? Number(item)
        : key === "value" && item === null
        ? ""
        : item,
  );
  const event = parseIsmpEvent(name.includes("handleGet") ? { GetResponse: json } : { PostRequest: json });
  assert.ok(event.tag === "PostRequest" || event.tag === "GetResponse");
  return event.tag === "PostRequest" ? postMessage(event.value) : getResponseMessage(event.value);
}

/** Steps of a call; proofs of consensus are opaque, and taken from the calldata. */
function stepsOf({ name, calldata, inner_calls: inner, ...vector }: Vector): readonly DeliveryStep[] {
  return (inner ?? [calldata]).map((call): DeliveryStep => {
    const decoded = decodeFunctionData({ abi: handlerV2Abi, data: toHex(fromHex(call)) });
    if (decoded.functionName === "handleConsensus") {
      return { kind: "consensus", proof: fromHex(decoded.args[1]) };
    }
    const messages = (vector.messages ?? []).map(({ value }) => messageOf(value, name));
    assert.deepEqual(
      messages.map(({ commitment }) => commitment),
      vector.messages?.map(({ commitment }) => commitment),
    );
    const scale = fromHex(vector.hub_proof_scale ?? "0x");
    const { leafIndicesAndPos, ...proof } = decodeStrict(mmrProofCodec, scale, "MmrProof");
    const leafIndices = leafIndicesAndPos.map(({ leafIndex }) => leafIndex);
    const height = { id: hub, height: BigInt(vector.hub_height ?? 0) };
    return { kind: "messages", messages, proof: { kind: "mmr", height, ...proof, leafIndices } };
  });
}

for (const vector of vectors.calls.filter(({ name }) => !name.includes("Timeouts"))) {
  Deno.test(`calldata: ${vector.name}`, () => {
    assert.equal(encodeDelivery({ steps: stepsOf(vector) }, host), vector.calldata);
  });
}

Deno.test("calldata: deliveries that no EVM host takes are refused before anything is asked", () => {
  const [step] = vectors.calls[1] === undefined ? [] : stepsOf(vectors.calls[1]);
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
