import { deepEqual, equal } from "node:assert/strict";
import { encodeFunctionData } from "viem";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { type BundledRead, encodeBundle } from "../../src/core/evm/call_bundle.ts";
import { storagePrefix } from "../../src/core/ismp/storage_keys.ts";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import type { ProxiedCall, ProxiedRequest } from "../scenario/support/rpc_proxy.ts";
import { countCalls } from "./call_counts.ts";

Deno.test("a batch counts as many calls as it holds, by method and purpose", () => {
  const frozen = { to: "0x00", data: encodeFunctionData({ abi: HOST_ABI, functionName: "frozen" }) };
  const time = toHex(storagePrefix("Timestamp", "Now"));
  const { requests, calls, byPurpose } = countCalls([
    requestOf({ method: "eth_call", params: [frozen, "latest"] }, { method: "eth_gasPrice", params: [] }),
    requestOf({ method: "eth_call", params: [frozen, "latest"] }),
    requestOf({ method: "eth_call", params: [frozen, "0x10"] }),
    requestOf({ method: "state_getStorage", params: [time] }),
  ]);
  equal(requests, 4);
  equal(calls, 5);
  deepEqual(byPurpose, [
    ["eth_call frozen", 2],
    ["eth_call frozen at a block", 1],
    ["eth_gasPrice", 1],
    ["state_getStorage Timestamp.Now", 1],
  ]);
});

Deno.test("a bundle of contract reads is one call, about all that it reads", () => {
  const read = (functionName: "frozen" | "hostParams"): BundledRead => ({
    to: `0x${"00".repeat(20)}`,
    data: encodeFunctionData({ abi: HOST_ABI, functionName }),
  });
  const data = encodeBundle([read("frozen"), read("hostParams"), read("frozen")]);
  deepEqual(countCalls([requestOf({ method: "eth_call", params: [{ data }, "latest"] })]).byPurpose, [
    ["eth_call 3 reads: frozen, hostParams", 1],
  ]);
});

function requestOf(...calls: readonly ProxiedCall[]): ProxiedRequest {
  return { transport: "http", atMs: 0, endedAtMs: 1, status: 200, isBatch: calls.length > 1, calls };
}
