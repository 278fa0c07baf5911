import assert from "node:assert/strict";
import { translateCometError } from "../../../src/core/rpc/cometbft_errors.ts";
import type { RpcFaultCode } from "../../../src/core/rpc/call.ts";

const known: readonly (readonly [number | undefined, string, string | undefined, RpcFaultCode])[] = [
  [
    -32603,
    "Internal error",
    "height 12 must be less than or equal to the current blockchain height 11",
    "lagging",
  ],
  [-32603, "Internal error", "height 12 is not available, lowest height is 400", "pruned"],
  [-32603, "Internal error", "could not find validator set for height #12", "pruned"],
  [-32603, "Internal error", "could not find results for height #12", "pruned"],
  [-32603, "Internal error", "something else", "server_error"],
  [-32603, "Internal error", undefined, "server_error"],
  [-32000, "Server error", "response is too large", "too_large"],
  [-32601, "Method not found", undefined, "missing_method"],
  [-32602, "Invalid params", "error converting json params to arguments", "refused"],
  [-32005, "rate limit exceeded", undefined, "throttled"],
  [429, "slow down", undefined, "throttled"],
  [undefined, "Too Many Requests", undefined, "throttled"],
  [undefined, "no", undefined, "refused"],
];

for (const [code, message, data, expected] of known) {
  Deno.test(`CometBFT error ${code} "${message}"${data === undefined ? "" : `, "${data}"`}: ${expected}`, () => {
    assert.deepEqual(translateCometError({ code, message, data }, "commit"), {
      code: expected,
      data: undefined,
    });
  });
}
