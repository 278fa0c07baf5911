import { deepEqual, equal, ok } from "node:assert/strict";
import { RLP } from "@ethereumjs/rlp";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { contractSlotKey, word } from "../../src/core/evm/host_storage.ts";
import type { GetRequest, GetResponse } from "../../src/core/ismp/message.ts";
import { abiEncodeResponse, commitmentOfGet, commitmentOfResponse } from "../../src/core/ismp/message.ts";
import { responseReceiptCodec } from "../../src/core/ismp/host_state.ts";
import type { GetRequestsWithProof } from "../../src/core/ismp/ismp_message.ts";
import { mmrProofCodec } from "../../src/core/ismp/proof.ts";
import { childTrieKey, childTrieKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeStrict } from "../../src/core/encoding/scale.ts";
import { eventsOf, receiver, sender, senderHost } from "./deliveries.ts";
import {
  address,
  askQuestions,
  fetchRefusal,
  heldSlot,
  question,
  receiverHost,
  relayerCalls,
  slots,
  startGetHub,
} from "./relayer_work.ts";
import { resultHttp } from "./json_rpc_client.ts";

function answerOf(get: GetRequest): GetResponse {
  const value = RLP.encode(77);
  return {
    get,
    values: slots.map((slot) => ({
      key: contractSlotKey(receiverHost, slot),
      value: slot === heldSlot ? value : undefined,
    })),
  };
}

Deno.test("coprocessor: proven questions become responses with receipt, leaf and events", async () => {
  await using hub = await startGetHub();
  const requests = [question(1n), question(2n)];
  const message = await askQuestions(hub, requests);
  equal(await fetchRefusal(hub, relayerCalls.answerGets(message)), undefined);
  // The same questions in another order have the same tag.
  const turned = relayerCalls.answerGets({ ...message, requests: requests.toReversed() });
  equal(
    await fetchRefusal(hub, turned),
    "1014 The transaction has too low priority to replace another transaction already in the pool.",
  );
  const { number } = hub.produceBlock();
  const getJson = (nonce: number): unknown => ({
    source: "EVM-1",
    dest: "EVM-56",
    nonce,
    from: toHex(new Uint8Array(20).fill(1)),
    keys: question(1n).keys.map(toHex),
    height: 20,
    context: "0x",
    timeoutTimestamp: 0,
  });
  const valuesJson = [
    { key: toHex(contractSlotKey(receiverHost, word(3n))), value: "0x4d" },
    { key: toHex(contractSlotKey(receiverHost, word(4n))), value: "" },
  ];
  const handled = requests.map((get) => ({
    GetRequestHandled: { commitment: commitmentOfGet(get), relayer: toHex(address) },
  }));
  deepEqual(await eventsOf(hub), [
    { GetResponse: { get: getJson(1), values: valuesJson } },
    handled[0],
    { GetResponse: { get: getJson(2), values: valuesJson } },
    handled[1],
  ]);
  const commitments = requests.map((get) => commitmentOfResponse(answerOf(get)));
  const query = commitments.map((commitment) => ({ commitment }));
  deepEqual(await resultHttp(hub.httpUrl, "ismp_queryResponses", [query]), [
    { get: getJson(1), values: valuesJson },
    { get: getJson(2), values: valuesJson },
  ]);
  hub.produceBlock();
  const { proof } = Object(
    await resultHttp(hub.httpUrl, "mmr_queryProof", [number, { Responses: commitments }]),
  );
  const { leafIndicesAndPos, leafCount } = decodeStrict(mmrProofCodec, Uint8Array.from(proof), "Proof");
  deepEqual([leafIndicesAndPos.map(({ leafIndex }) => leafIndex), leafCount], [[0n, 1n], 2n]);
  const receipt = await resultHttp(hub.httpUrl, "childstate_getStorage", [
    toHex(childTrieKey()),
    toHex(childTrieKeys.responseReceipt(commitmentOfGet(question(1n)))),
  ]);
  deepEqual(decodeStrict(responseReceiptCodec, fromHex(String(receipt)), "ResponseReceipt"), {
    response: commitments[0],
    relayer: address,
  });
  equal(await fetchRefusal(hub, turned), "StateCoprocessor.HandlingError");
  equal(hub.rejections.findLast(({ stage }) => stage === "pool")?.ismp, "duplicate_response");
});

Deno.test("coprocessor: refuses the whole batch with the live reason", async (t) => {
  await using hub = await startGetHub();
  const good = question(1n);
  const late = question(2n, { timeoutTimestampSec: 1_700_000_000n });
  const otherSource = question(3n, { source: receiver.stateMachine });
  const otherDest = question(4n, { dest: sender.stateMachine });
  const otherHeight = question(5n, { height: 21n });
  const otherKey = question(6n, { keys: [new Uint8Array(31)] });
  const elsewhere = question(7n, { keys: [contractSlotKey(senderHost, word(3n))] });
  const all = [good, late, otherSource, otherDest, otherHeight, otherKey, elsewhere];
  const message = await askQuestions(hub, all);
  const of = (...requests: readonly GetRequest[]): GetRequestsWithProof => ({ ...message, requests });
  const { source, response } = message;
  const cut = (proof: typeof source): typeof source => ({ ...proof, proof: proof.proof.slice(0, -1) });
  const cases: readonly (readonly [string, GetRequestsWithProof, string])[] = [
    ["a question twice", of(good, good), "duplicate_request"],
    ["a question too late", of(good, late), "request_timeout"],
    ["a question of another chain", of(otherSource), "request_proof_metadata_not_valid"],
    ["a question to another chain", of(otherDest), "request_proof_metadata_not_valid"],
    ["a question about another height", of(good, otherHeight), "insufficient_proof_height"],
    ["a question that nobody asked", of(question(9n)), "membership_proof_verification_failed"],
    ["a broken source proof", { ...of(good), source: cut(source) }, "membership_proof_verification_failed"],
    ["a broken state proof", { ...of(good), response: cut(response) }, "state_proof_verification_failed"],
    ["a key of an odd length", of(otherKey), "state_proof_verification_failed"],
    ["a contract that is not in the proof", of(elsewhere), "state_proof_verification_failed"],
    [
      "an unknown height",
      { ...of(good), source: { ...source, height: { id: sender, height: 11n } } },
      "state_commitment_not_found",
    ],
    [
      "an address that is no signer",
      { ...of(good), address: new Uint8Array(33).fill(9) },
      "signature_decoding_failed",
    ],
  ];
  for (const [name, wrong, reason] of cases) {
    await t.step(name, async () => {
      equal(await fetchRefusal(hub, relayerCalls.answerGets(wrong)), "StateCoprocessor.HandlingError");
      equal(hub.rejections.findLast(({ stage }) => stage === "pool")?.ismp, reason);
    });
  }
  equal(await fetchRefusal(hub, relayerCalls.answerGets(of(good))), undefined);
});

Deno.test("coprocessor: the bandwidth gate charges the sender for the answer", async () => {
  await using hub = await startGetHub({ bandwidthGate: true });
  const get = question(1n);
  const message = await askQuestions(hub, [get]);
  equal(await fetchRefusal(hub, relayerCalls.answerGets(message)), "StateCoprocessor.HandlingError");
  const credit = { source: sender.stateMachine, app: get.from, tier: "TierOne", durationSec: 1000n } as const;
  const cost = BigInt(abiEncodeResponse(answerOf(get)).length);
  void hub.creditBandwidth({ ...credit, bytes: cost - 1n });
  hub.produceBlock();
  equal(await fetchRefusal(hub, relayerCalls.answerGets(message)), "StateCoprocessor.HandlingError");
  void hub.creditBandwidth({ ...credit, bytes: 1n });
  hub.produceBlock();
  equal(await fetchRefusal(hub, relayerCalls.answerGets(message)), undefined);
  ok(hub.produceBlock().number > 0);
});
