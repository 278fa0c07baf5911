import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import { decodeFunctionData, type DecodeFunctionDataReturnType } from "viem";
import vectors from "../../vectors/evm-handler-calls.json" with { type: "json" };
import { fromHex, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import {
  HandlerCallError,
  namesOfCalls,
  postRequestsCall,
  type ProvedAt,
} from "../../../src/core/evm/handler_calls.ts";
import { handlerV2Abi } from "../../../src/core/evm/host_abi.ts";
import type { PostRequest } from "../../../src/core/ismp/message.ts";
import type { MmrProof } from "../../../src/core/ismp/proof.ts";
import { IdentifierError, parseStateMachine } from "../../../src/core/ismp/state_machine.ts";

const host = toAddress(vectors.host);

function hexOf(text: string): Hex {
  return toHex(fromHex(text));
}

function decode(data: Hex): DecodeFunctionDataReturnType<typeof handlerV2Abi> {
  return decodeFunctionData({ abi: handlerV2Abi, data });
}

for (const { name, calldata, inner_calls: inner } of vectors.calls) {
  // Relayers send no timeouts.
  if (/Timeouts/.test(name)) continue;
  Deno.test(`handler call vector: ${name}`, () => {
    const calls = (inner ?? [calldata]).map((call) => decode(hexOf(call)).functionName);
    equal(namesOfCalls(hexOf(calldata)), calls);
  });
}

function refuses(run: () => unknown, code: HandlerCallError["code"]): void {
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

Deno.test("handler call: truncated or foreign calldata is none", () => {
  for (const data of ["0x", "0xdeadbeef", `0x82ad56cb${"00".repeat(8)}`] as const) {
    equal(namesOfCalls(data), []);
  }
  const calldata = postRequestsCall(where, [post], mmr([0n], 1n));
  for (let length = 4; length < (calldata.length - 2) / 2 - 32; length += 32) {
    equal(namesOfCalls(`0x${calldata.slice(2, 2 + 2 * length)}`), []);
  }
});

Deno.test("handler call: whatever the order of the proof, leaves are ascending and keep their requests", () => {
  const indices = fc.uniqueArray(fc.bigInt({ min: 0n, max: 1000n }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(indices, (order) => {
      const requests = order.map((index) => ({ ...post, nonce: index }));
      const call = decode(postRequestsCall(where, requests, mmr(order, 1001n)));
      ok(call.functionName === "handlePostRequests");
      const leaves = call.args[1].requests;
      equal(leaves.map((leaf) => leaf.index), [...order].sort((a, b) => Number(a - b)));
      equal(leaves.map((leaf) => leaf.request.nonce), leaves.map((leaf) => leaf.index));
    }),
    { numRuns: 20 },
  );
});
