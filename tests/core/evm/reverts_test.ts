import { deepStrictEqual as equal } from "node:assert/strict";
import { encodeErrorResult, parseAbi } from "viem";
import vectors from "../../vectors/evm-reverts.json" with { type: "json" };
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { beefyVerifierAbi, handlerV2Abi } from "../../../src/core/evm/host_abi.ts";
import { decodeRevert, describeRevert, innermostRevert } from "../../../src/core/evm/reverts.ts";

for (const vector of vectors.rejected) {
  Deno.test(`revert vector: ${vector.name}`, () => {
    const revert = decodeRevert(toHex(fromHex(vector.revert_data)));
    equal(revert.code, vector.error.replace(/\(.*$/, ""));
    if (revert.code === "BatchCallFailed") {
      equal(revert.index, 1n);
      equal(innermostRevert(revert).code, "InvalidMessageDestination");
      equal(describeRevert(revert), "BatchCallFailed[1]: InvalidMessageDestination");
    }
  });
}

Deno.test("revert: texts, panics, nothing and foreign errors", () => {
  const abi = parseAbi(["error Error(string)", "error Panic(uint256)"]);
  const text = encodeErrorResult({ abi, errorName: "Error", args: ["no funds"] });
  equal(decodeRevert(text), { code: "Error", reason: "no funds" });
  const panic = decodeRevert(encodeErrorResult({ abi, errorName: "Panic", args: [0x11n] }));
  equal(panic, { code: "Panic", panic: 0x11n });
  equal(describeRevert(panic), "Panic: 0x11");
  equal(decodeRevert("0x"), { code: "empty" });
  equal(decodeRevert("0xdeadbeef"), { code: "unknown", data: "0xdeadbeef" });
  equal(decodeRevert("0x651ab1b3"), { code: "unknown", data: "0x651ab1b3" });
  equal(describeRevert({ code: "unknown", data: "0xdeadbeef00" }), "unknown: 0xdeadbeef");
  equal(decodeRevert(encodeErrorResult({ abi: beefyVerifierAbi, errorName: "UnknownAuthoritySet" })), {
    code: "UnknownAuthoritySet",
  });
});

Deno.test("revert: batches nested without end stop", () => {
  let data = encodeErrorResult({ abi: handlerV2Abi, errorName: "DuplicateMessage" });
  for (let depth = 0; depth < 10; depth++) {
    data = encodeErrorResult({ abi: handlerV2Abi, errorName: "BatchCallFailed", args: [0n, data] });
  }
  equal(innermostRevert(decodeRevert(data)).code, "unknown");
});
