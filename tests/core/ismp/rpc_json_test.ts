import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import hub from "../../vectors/hub-scale.json" with { type: "json" };
import { fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import { decodeStrict } from "../../../src/core/encoding/scale.ts";
import type { IsmpEvent } from "../../../src/core/ismp/event.ts";
import type { GetRequest, GetResponse } from "../../../src/core/ismp/message.ts";
import {
  byteArrayToJson,
  IsmpJsonError,
  parseDispatchedRequest,
  parseEventBlocks,
  parseIsmpEvent,
  parseProofAnswer,
  proofKeysToJson,
  stateMachineIdToJson,
} from "../../../src/core/ismp/rpc_json.ts";
import {
  evmStateMachine,
  parseStateMachine,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import { ismpEventCodec } from "../../../devnet/hub/pallets/ismp_events.ts";
import { integerToJson, ismpToJson, parseEvents, taggedToJson } from "../../../devnet/hub/rpc/ismp_json.ts";
import {
  commitmentsParam,
  proofKeysParam,
  stateMachineIdParam,
} from "../../../devnet/hub/rpc/ismp_methods.ts";
import { RpcError } from "../../../devnet/hub/rpc/json_rpc.ts";

const commitment = toHash256("33".repeat(32));
const block = toHash256("44".repeat(32));
const postJson = {
  source: "EVM-1",
  dest: "KUSAMA-4009",
  nonce: 42,
  from: "0x0102",
  to: "0x",
  timeoutTimestamp: 18446744073709551615n,
  body: "0xDEADbeef",
};

function refusesParam(run: () => unknown, what: RegExp): void {
  throws(run, (error) => error instanceof RpcError && error.code === -32602 && what.test(String(error.data)));
}

function refuses(run: () => unknown, field: string): void {
  throws(run, (error) => error instanceof IsmpJsonError && error.field === field);
}

for (const vector of hub.vectors) {
  if (vector.type !== "IsmpEvent") continue;
  Deno.test(`event JSON: ${vector.name} survives`, () => {
    const event = decodeStrict(ismpEventCodec, fromHex(vector.scale), "Event");
    const json = taggedToJson(event);
    equal(parseIsmpEvent(json), event);
    equal(Object.keys(Object(json)), [vector.name.split(".")[1]]);
  });
}

Deno.test("event JSON: field names are those of the node", () => {
  const id = { stateMachine: evmStateMachine(1), consensusStateId: toConsensusStateId("ETH0") };
  const updated: IsmpEvent = { tag: "StateMachineUpdated", value: { stateMachineId: id, latestHeight: 5n } };
  equal(taggedToJson(updated), {
    StateMachineUpdated: {
      state_machine_id: { state_id: "EVM-1", consensus_state_id: "ETH0" },
      latest_height: 5,
    },
  });
  const handled: IsmpEvent = { tag: "PostRequestHandled", value: { commitment, relayer: fromHex("0x0a") } };
  equal(taggedToJson(handled), { PostRequestHandled: { commitment, relayer: "0x0a" } });
});

Deno.test("request JSON: integers above 2^53 arrive as bigint and keep every digit", () => {
  const request = parseIsmpEvent({ PostRequest: postJson });
  ok(request.tag === "PostRequest");
  equal(request.value.timeoutTimestampSec, 0xffffffffffffffffn);
  equal(request.value.nonce, 42n);
  equal(taggedToJson(request), { PostRequest: { ...postJson, body: "0xdeadbeef" } });
  equal(integerToJson(2n ** 53n - 1n), 9007199254740991);
  equal(integerToJson(2n ** 53n), 9007199254740992n);
});

Deno.test("request JSON: the field that does not fit is named", () => {
  const refusesPost = (change: Record<string, unknown>, field: string): void =>
    refuses(() => parseIsmpEvent({ PostRequest: { ...postJson, ...change } }), `PostRequest${field}`);
  refusesPost({ nonce: 2 ** 53 }, ".nonce"); // a number that already lost digits
  refusesPost({ nonce: -1 }, ".nonce");
  refusesPost({ nonce: 1.5 }, ".nonce");
  refusesPost({ nonce: "42" }, ".nonce");
  refusesPost({ nonce: 1n << 64n }, ".nonce");
  refusesPost({ source: "evm-1" }, ".source");
  refusesPost({ body: "deadbeef" }, ".body");
  refusesPost({ body: "0xabc" }, ".body");
  refusesPost({ body: [1, 2] }, ".body");
  refuses(() => parseIsmpEvent({ PostRequest: postJson, GetRequest: postJson }), "");
  refuses(() => parseIsmpEvent({ Put: postJson }), "Put");
  refuses(() => parseIsmpEvent(null), "");
  refuses(() => parseIsmpEvent({ PostResponse: {} }), "PostResponse");
  refuses(
    () => parseIsmpEvent({ PostRequestHandled: { commitment: "0x33", relayer: "0x" } }),
    "PostRequestHandled.commitment",
  );
});

Deno.test("event JSON: the text of an error does not repeat the input", () => {
  throws(() => parseIsmpEvent({ PostRequest: { ...postJson, body: "0xsecret" } }), {
    message: "JSON Event: malformed at PostRequest.body",
  });
});

const getRequest: GetRequest = {
  source: evmStateMachine(1),
  dest: evmStateMachine(56),
  nonce: 1n,
  from: new Uint8Array(20),
  keys: [new Uint8Array(20)],
  height: 7n,
  context: new Uint8Array(0),
  timeoutTimestampSec: 0n,
};

Deno.test("response JSON: absent and empty values both read as absent", () => {
  const response: GetResponse = {
    get: getRequest,
    values: [
      { key: Uint8Array.of(1), value: undefined },
      { key: Uint8Array.of(2), value: Uint8Array.of(3) },
    ],
  };
  const json = ismpToJson(response);
  equal(Object(json).values, [{ key: "0x01", value: "" }, { key: "0x02", value: "0x03" }]);
  const empty = { ...Object(json), values: [{ key: "0x01", value: "0x" }] };
  const event = parseIsmpEvent({ GetResponse: empty });
  ok(event.tag === "GetResponse");
  equal(event.value.values, [{ key: Uint8Array.of(1), value: undefined }]);
  refuses(
    () => parseIsmpEvent({ GetResponse: { ...Object(json), values: [{ key: "0x01", value: "01" }] } }),
    "GetResponse.values.0.value",
  );
  equal(parseIsmpEvent({ GetResponse: json }), { tag: "GetResponse", value: response });
});

const meta = { block_hash: block, transaction_hash: commitment, block_number: 9 };

Deno.test("events of blocks: one undecodable event leaves the others (F11)", () => {
  const events = [{ PostRequest: postJson }, { Unheard: {} }].map((event) => ({ meta, event }));
  const json = { [block]: events, [commitment]: [] };
  equal([...parseEventBlocks(json).keys()], [block, commitment]);
  const [first, second] = parseEvents(json).map(({ decoded }) => decoded);
  ok(first?.kind === "event" && second?.kind === "undecodable");
  equal([second.error.field, second.error.code], ["Unheard", "unknown_kind"]);
  throws(() => parseEvents({ [block]: {} }), IsmpJsonError);
  throws(() => parseEvents({ "0x12": [] }), IsmpJsonError);
  throws(() => parseEvents([]), IsmpJsonError);
});

Deno.test("events with metadata: place and event", () => {
  const [event] = parseEvents({ [block]: [{ meta, event: { PostRequest: postJson } }] });
  equal(event?.meta, { blockHash: block, transactionHash: commitment, blockNumber: 9n });
  equal(event?.decoded.kind, "event");
  throws(() => parseEvents({ [block]: [{ event: {} }] }), IsmpJsonError);
});

Deno.test("event JSON: fields of newer nodes are named, and the known ones used", () => {
  const id = { state_id: "EVM-1", consensus_state_id: "ETH0", later: 1 };
  const rows: readonly (readonly [tag: string, payload: Record<string, unknown>])[] = [
    ["PostRequest", postJson],
    ["PostRequestHandled", { commitment, relayer: "0x0a" }],
    ["GetRequestTimeoutHandled", { commitment, source: "EVM-1", dest: "EVM-56" }],
    ["StateMachineUpdated", { state_machine_id: id, latest_height: 5 }],
    ["StateCommitmentVetoed", { height: { id, height: 5, later: 1 }, fisherman: "0x0a" }],
  ];
  for (const [tag, payload] of rows) {
    const [plain, newer] = parseEvents({
      [block]: [payload, { ...payload, later: "0x" }].map((each) => ({ meta, event: { [tag]: each } })),
    }).map(({ decoded }) => decoded);
    ok(plain?.kind === "event" && newer?.kind === "event", tag);
    equal([newer.event, newer.unknownFields], [plain.event, ["later"]]);
    equal(plain.unknownFields, undefined);
  }
  const body = parseDispatchedRequest({ Put: postJson });
  ok(body.kind === "undecodable");
  equal([body.error.code, body.error.field], ["unknown_kind", "PutRequest"]);
});

Deno.test("proof answers: bytes as numbers, or as hex from gateways", () => {
  const answer = Uint8Array.of(0, 255);
  equal(parseProofAnswer({ proof: [0, 255], height: 3 }), answer);
  equal(parseProofAnswer({ proof: "0x00ff", height: 3n }), answer);
  equal(byteArrayToJson(Uint8Array.of(1)), [1]);
  for (const proof of [[256], [-1], [1.5], ["1"], "00ff", null]) {
    throws(() => parseProofAnswer({ proof, height: 3 }), IsmpJsonError);
  }
});

Deno.test("parameters: ids and proof keys as the hub reads them", () => {
  const id = {
    stateMachine: parseStateMachine("POLKADOT-2030"),
    consensusStateId: toConsensusStateId("DOT0"),
  };
  equal(stateMachineIdToJson(id), { state_id: "POLKADOT-2030", consensus_state_id: "DOT0" });
  equal(stateMachineIdParam(stateMachineIdToJson(id)), id);
  refusesParam(
    () => stateMachineIdParam({ state_id: "EVM-1", consensus_state_id: "ETH00" }),
    /consensus_state_id/,
  );
  refusesParam(() => stateMachineIdParam({ state_id: "EVM-1" }), /consensus_state_id/);
  equal(commitmentsParam([{ commitment }]), [commitment]);
  const keys = { tag: "Requests", value: [commitment] } as const;
  equal(proofKeysToJson(keys), { Requests: [commitment] });
  equal(proofKeysParam(proofKeysToJson(keys)), keys);
  refusesParam(() => proofKeysParam({ Leaves: [] }), /expected one of/);
  refusesParam(() => proofKeysParam({ Responses: ["0x00"] }), /Responses/);
});
