import { deepStrictEqual as equal, ok } from "node:assert/strict";
import hub from "../../tests/vectors/hub-scale.json" with { type: "json" };
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { decodePrefix, decodeStrict, list, Struct } from "../../src/core/encoding/scale.ts";
import { withdrawalInputDataCodec } from "../../src/core/ismp/fees.ts";
import { getRequestCodec } from "../../src/core/ismp/message.ts";
import { type IsmpMessage, ismpMessageCodec } from "../../src/core/ismp/ismp_message.ts";
import {
  getRequestsTag,
  getRequestsTagPreimage,
  messagesTag,
  messagesTagPreimage,
  relayerCallTag,
  stateMachineUpdatedTag,
} from "./pool_tags.ts";
import { evmStateMachine, toConsensusStateId } from "../../src/core/ismp/state_machine.ts";

function vectorBytes(name: string): Uint8Array {
  const vector = hub.vectors.find((other) => other.name === name);
  ok(vector !== undefined, name);
  return fromHex(vector.scale);
}

function message(name: string): IsmpMessage {
  return decodeStrict(ismpMessageCodec, vectorBytes(name), "Message");
}

function tagVector(name: string): { readonly preimage: string; readonly tag: string } {
  const vector = hub.poolTags.find((other) => other.name === name);
  ok(vector !== undefined, name);
  return vector;
}

Deno.test("pool tags: those of the vectors, from the same bytes", () => {
  for (
    const [name, source] of [
      ["provides.Request[post]", "Message.Request.evm"],
      ["provides.Consensus (no state machine advanced)", "Message.Consensus"],
    ] as const
  ) {
    const vector = tagVector(name);
    equal(toHex(messagesTagPreimage([message(source)])), vector.preimage);
    equal(messagesTag([message(source)]), vector.tag);
  }
  const id = { stateMachine: evmStateMachine(1), consensusStateId: toConsensusStateId("ETH0") };
  equal(stateMachineUpdatedTag(id), tagVector("provides.StateMachineUpdated").tag);
  const [, ...response] = vectorBytes("Message.Response");
  const { requests } = decodePrefix(
    Struct({ requests: list(getRequestCodec) }),
    Uint8Array.from(response),
    "Response",
  );
  const gets = tagVector("provides.StateCoprocessor[get]");
  equal(toHex(getRequestsTagPreimage(requests)), gets.preimage);
  equal(getRequestsTag(requests), gets.tag);
  const withdrawal = tagVector("provides.Relayer.withdraw_fees");
  const input = decodeStrict(withdrawalInputDataCodec, fromHex(withdrawal.preimage), "WithdrawalInputData");
  equal(relayerCallTag(withdrawalInputDataCodec.enc(input)), withdrawal.tag);
});

Deno.test("pool tag: neither the order of messages nor the signer nor the proof changes it", () => {
  const request = message("Message.Request.evm");
  const other = message("Message.Consensus");
  ok(request.tag === "Request");
  const resigned: IsmpMessage = {
    tag: "Request",
    value: {
      ...request.value,
      signer: new Uint8Array(20),
      proof: { ...request.value.proof, proof: new Uint8Array(1) },
    },
  };
  equal(messagesTag([request, other]), messagesTag([other, resigned]));
  ok(messagesTag([request]) !== messagesTag([request, other]));
});
