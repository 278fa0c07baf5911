import assert from "node:assert/strict";
import { faultToRefusal, revertToRefusal } from "../../../../src/core/chains/evm/refusals.ts";
import type { RefusalCode } from "../../../../src/core/chains/submission.ts";
import { type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { encodeErrorResult, toFunctionSelector } from "viem";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import vector from "../../../vectors/evm-reverts.json" with { type: "json" };

const expected: Readonly<Record<string, RefusalCode>> = {
  "delivered before": "duplicate",
  "wrong destination": "bad_destination",
  "timed out": "timed_out",
  "one recipient id that is not 20 bytes long: the whole batch reverts": "bad_destination",
  "unknown hub height": "not_ready",
  "superfluous proof items": "bad_proof",
  "a missing proof item": "bad_proof",
  "a wrong leaf": "bad_proof",
  "an empty batch": "bad_proof",
  "leaves not sorted by index": "bad_proof",
  "leaf count 0": "bad_proof",
  "a response to an unknown request": "unknown_message",
  "a response delivered before": "duplicate",
  "a timeout that has not elapsed": "unspecified",
  "empty consensus proof": "bad_proof",
  "unknown consensus proof type": "bad_proof",
  "a failing call inside batchCall": "bad_destination",
  "host frozen for incoming messages": "host_frozen",
  "challenge period not elapsed": "not_ready",
  "consensus client older than the unstaking period": "client_expired",
};

function dataOf(text: string): Hex {
  return toHex(Uint8Array.fromHex(text.slice(2)));
}

for (const { name, error, revert_data } of vector.rejected) {
  Deno.test(`refusals: ${name}: ${expected[name]}`, () => {
    const refusal = revertToRefusal(dataOf(revert_data), 1);
    assert.equal(refusal.code, expected[name]);
    assert.equal(refusal.step, 0);
    assert.ok(refusal.detail.startsWith(error.slice(0, error.indexOf("("))));
  });
}

const word = "00".repeat(31);

/** Errors of verifiers and of the libraries that they call, with the selectors that chains show. */
const verifierErrors: readonly (readonly [name: string, data: Hex])[] = [
  ["ECDSAInvalidSignature", "0xf645eedf"],
  ["ECDSAInvalidSignatureLength", `0xfce698f7${word}40`],
  ["ECDSAInvalidSignatureS", `0xd78bce0c${"ff".repeat(32)}`],
  ["LeafIndexOutOfBounds", toFunctionSelector("LeafIndexOutOfBounds()")],
  ["UnconsumedLeaves", `${toFunctionSelector("UnconsumedLeaves(uint256)")}${word}02`],
  ["StaleMmrLeaf", toFunctionSelector("StaleMmrLeaf()")],
  [
    "WrongVerifierSelector",
    `${toFunctionSelector("WrongVerifierSelector(bytes4,bytes4)")}a4594c59${"00".repeat(28)}2b4aeaf7${
      "00".repeat(28)
    }`,
  ],
  ["InvalidExitCode", toFunctionSelector("InvalidExitCode()")],
  ["InvalidVkRoot", toFunctionSelector("InvalidVkRoot()")],
  ["ProofInvalid", toFunctionSelector("ProofInvalid()")],
  ["PublicInputNotInField", toFunctionSelector("PublicInputNotInField()")],
  ["RouteNotFound", `${toFunctionSelector("RouteNotFound(bytes4)")}a4594c59${"00".repeat(28)}`],
  ["RouteIsFrozen", `${toFunctionSelector("RouteIsFrozen(bytes4)")}a4594c59${"00".repeat(28)}`],
];

Deno.test("refusals: every error of a verifier is a bad proof by its name, alone and in front of messages", () => {
  for (const [name, data] of verifierErrors) {
    assert.deepEqual(revertToRefusal(data, 1), { code: "bad_proof", detail: name, step: 0 });
    const abi = [{
      type: "error",
      name: "BatchCallFailed",
      inputs: [{ type: "uint256" }, { type: "bytes" }],
    }];
    const batch = encodeErrorResult({ abi, errorName: "BatchCallFailed", args: [0n, data] });
    assert.deepEqual(revertToRefusal(batch, 2), {
      code: "bad_proof",
      detail: `BatchCallFailed[0]: ${name}`,
      step: 0,
    });
  }
});

Deno.test("refusals: in a delivery of several steps the batch's index names the step (F16)", () => {
  const batch = vector.rejected.find(({ error }) => error.startsWith("BatchCallFailed"));
  assert.equal(revertToRefusal(dataOf(batch?.revert_data ?? ""), 2).step, 1);
  assert.equal(revertToRefusal("0xe36afbb8", 2).step, undefined);
});

Deno.test("refusals: reverts of unknown contracts and bare reverts are unspecified, with what there is to say", () => {
  assert.deepEqual(revertToRefusal("0x", 1), { code: "unspecified", detail: "empty", step: 0 });
  assert.deepEqual(revertToRefusal("0xdeadbeef", 1), {
    code: "unspecified",
    detail: "unknown: 0xdeadbeef",
    step: 0,
  });
});

Deno.test("refusals: only reverts and missing funds say something about the delivery", () => {
  const where = { chain: "EVM-1", endpointHost: "node", method: "eth_call" };
  const faultOf = (code: RpcFault["code"], data?: Hex): RpcFault =>
    new RpcFault(code, where, { detail: "words", data });
  assert.equal(faultToRefusal(faultOf("reverted", "0x2ad4ae2e"), 1)?.code, "duplicate");
  assert.deepEqual(faultToRefusal(faultOf("reverted"), 1), { code: "unspecified", detail: "words" });
  assert.equal(faultToRefusal(faultOf("insufficient_funds"), 1)?.code, "insufficient_funds");
  assert.equal(faultToRefusal(faultOf("timeout"), 1), undefined);
  assert.equal(faultToRefusal(faultOf("missing_method"), 1), undefined);
});
