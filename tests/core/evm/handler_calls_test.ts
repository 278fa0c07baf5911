import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import reverts from "../../vectors/evm-reverts.json" with { type: "json" };
import vectors from "../../vectors/evm-handler-calls.json" with { type: "json" };
import { fromHex, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import { decodeStrict } from "../../../src/core/encoding/scale.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import {
  batchCall,
  consensusCall,
  decodeHandlerCall,
  encodeHandlerCall,
  getResponsesCall,
  type HandlerCall,
  HandlerCallError,
  type HandlerCallErrorCode,
  postRequestsCall,
  type ProvedAt,
  toHubHeight,
} from "../../../src/core/evm/handler_calls.ts";
import type { GetRequest, GetResponse, PostRequest } from "../../../src/core/ismp/message.ts";
import { commitmentOfGet, commitmentOfPost, commitmentOfResponse } from "../../../src/core/ismp/message.ts";
import { type MmrProof, mmrProofCodec } from "../../../src/core/ismp/proof.ts";
import { parseIsmpEvent } from "../../../src/core/ismp/rpc_json.ts";
import { IdentifierError, parseStateMachine } from "../../../src/core/ismp/state_machine.ts";

type Vector = typeof vectors.calls[number];

const host = toAddress(vectors.host);

function at(vector: Vector): ProvedAt {
  ok(vector.hub_height !== undefined);
  return { host, hub: parseStateMachine("KUSAMA-4009"), hubHeight: BigInt(vector.hub_height) };
}

/** The vectors write integers as decimal strings, the JSON-RPC as numbers. */
function integers(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      value,
      (name, item) =>
        /^(nonce|height|timeoutTimestamp)$/.test(name)
          ? Number(item)
          : name === "value" && item === null
          ? ""
          : item,
    ),
  );
}

function postOf(value: unknown): PostRequest {
  const event = parseIsmpEvent({ PostRequest: integers(value) });
  ok(event.tag === "PostRequest");
  return event.value;
}

function getOf(value: unknown): GetRequest {
  const event = parseIsmpEvent({ GetRequest: integers(value) });
  ok(event.tag === "GetRequest");
  return event.value;
}

function responseOf(value: unknown): GetResponse {
  const event = parseIsmpEvent({ GetResponse: integers(value) });
  ok(event.tag === "GetResponse");
  return event.value;
}

function proofOf(vector: Vector): MmrProof {
  ok(vector.hub_proof_scale !== undefined && vector.hub_proof !== undefined);
  const proof = decodeStrict(mmrProofCodec, fromHex(vector.hub_proof_scale), "MmrProof");
  equal(proof.items, vector.hub_proof.items);
  return proof;
}

function messagesOf(vector: Vector): readonly { readonly value: unknown; readonly commitment: string }[] {
  ok(vector.messages !== undefined);
  return vector.messages.map((message) => {
    ok(message.value !== undefined && message.commitment !== undefined);
    return { value: message.value, commitment: message.commitment };
  });
}

function hexOf(text: string): Hex {
  return toHex(fromHex(text));
}

/** Nodes and proofs of consensus are opaque: they are taken from the calldata, the rest is built from the vector. */
function built(vector: Vector): HandlerCall {
  const decoded = decodeHandlerCall(hexOf(vector.calldata));
  switch (decoded.tag) {
    case "handleConsensus":
      return consensusCall(host, decoded.value.proof);
    case "handlePostRequests": {
      const messages = messagesOf(vector);
      const requests = messages.map((message) => postOf(message.value));
      equal(requests.map(commitmentOfPost), messages.map((message) => message.commitment));
      return postRequestsCall(at(vector), requests, proofOf(vector));
    }
    case "handleGetResponses": {
      const messages = messagesOf(vector);
      const responses = messages.map((message) => responseOf(message.value));
      equal(responses.map(commitmentOfResponse), messages.map((message) => message.commitment));
      return getResponsesCall(at(vector), responses, proofOf(vector));
    }
    case "handlePostRequestTimeouts": {
      const request = postOf(vector.request);
      equal(commitmentOfPost(request), vector.commitment);
      return {
        tag: decoded.tag,
        value: { host, height: toHubHeight(at(vector)), timeouts: [request], proof: decoded.value.proof },
      };
    }
    case "handleGetRequestTimeouts": {
      const request = getOf(vector.request);
      equal(commitmentOfGet(request), vector.commitment);
      return {
        tag: decoded.tag,
        value: { host, height: toHubHeight(at(vector)), timeouts: [request], proof: decoded.value.proof },
      };
    }
    case "batchCall": {
      const [first] = decoded.value.calls;
      ok(first?.tag === "handleConsensus");
      const requests = messagesOf(vector).map((message) => postOf(message.value));
      return batchCall([
        consensusCall(host, first.value.proof),
        postRequestsCall(at(vector), requests, proofOf(vector)),
      ]);
    }
  }
}

for (const vector of vectors.calls) {
  Deno.test(`handler call vector: ${vector.name}`, () => {
    const call = built(vector);
    equal(encodeHandlerCall(call), vector.calldata);
    equal(decodeHandlerCall(hexOf(vector.calldata)), call);
    if (call.tag === "batchCall") equal(call.value.calls.map(encodeHandlerCall), vector.inner_calls);
  });
}

for (const vector of reverts.rejected) {
  Deno.test(`handler call vector that the contract refuses: ${vector.name}`, () => {
    equal(encodeHandlerCall(decodeHandlerCall(hexOf(vector.calldata))), vector.calldata);
  });
}

function refuses(run: () => unknown, code: HandlerCallErrorCode): void {
  throws(run, (error) => error instanceof HandlerCallError && error.code === code);
}

const post: PostRequest = {
  source: parseStateMachine("EVM-97"),
  dest: parseStateMachine("EVM-1"),
  nonce: 0n,
  from: new Uint8Array(20),
  to: new Uint8Array(20),
  timeoutTimestampSec: 0n,
  body: new Uint8Array(0),
};
const where: ProvedAt = { host, hub: parseStateMachine("POLKADOT-3367"), hubHeight: 5n };

function mmr(indices: readonly bigint[], leafCount: bigint): MmrProof {
  return { leafIndicesAndPos: indices.map((leafIndex) => ({ leafIndex, pos: 0n })), leafCount, items: [] };
}

Deno.test("handler call: proofs that do not fit the messages are refused", () => {
  refuses(() => postRequestsCall(where, [post], mmr([], 3n)), "leaf_count_mismatch");
  refuses(() => postRequestsCall(where, [post], mmr([1n, 2n], 3n)), "leaf_count_mismatch");
  refuses(() => postRequestsCall(where, [post, post], mmr([1n, 1n], 3n)), "duplicate_leaf");
  refuses(() => postRequestsCall(where, [post], mmr([3n], 3n)), "leaf_out_of_range");
  throws(
    () => postRequestsCall({ ...where, hub: parseStateMachine("SUBSTRATE-cere") }, [post], mmr([0n], 1n)),
    (error) => error instanceof IdentifierError && error.code === "no_para_id",
  );
});

Deno.test("handler call: truncated or foreign calldata is undecodable", () => {
  refuses(() => decodeHandlerCall("0x"), "undecodable");
  refuses(() => decodeHandlerCall("0xdeadbeef"), "undecodable");
  refuses(() => decodeHandlerCall(`0x01ffc9a7${"00".repeat(32)}`), "undecodable");
  const calldata = encodeHandlerCall(postRequestsCall(where, [post], mmr([0n], 1n)));
  for (let length = 4; length < (calldata.length - 2) / 2 - 32; length += 32) {
    refuses(() => decodeHandlerCall(`0x${calldata.slice(2, 2 + 2 * length)}`), "undecodable");
  }
});

Deno.test("handler call: whatever the order of the proof, leaves are ascending and keep their requests", () => {
  const indices = fc.uniqueArray(fc.bigInt({ min: 0n, max: 1000n }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(indices, (order) => {
      const requests = order.map((index) => ({ ...post, nonce: index }));
      const call = decodeHandlerCall(encodeHandlerCall(postRequestsCall(where, requests, mmr(order, 1001n))));
      ok(call.tag === "handlePostRequests");
      const leaves = call.value.requests;
      equal(leaves.map((leaf) => leaf.index), [...order].sort((a, b) => Number(a - b)));
      equal(leaves.map((leaf) => leaf.request.nonce), leaves.map((leaf) => leaf.index));
    }),
    { numRuns: 20 },
  );
});
