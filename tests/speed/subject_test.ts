import { deepEqual, equal } from "node:assert/strict";
import type { ProxiedCall, ProxiedRequest } from "../scenario/support/rpc_proxy.ts";
import { linesOf, trafficOf } from "./subject.ts";

function requestOf(answer: string | undefined, ...calls: readonly ProxiedCall[]): ProxiedRequest {
  const request = {
    transport: "http",
    atMs: 0,
    endedAtMs: 1,
    status: 200,
    isBatch: calls.length > 1,
  } as const;
  return { ...request, calls, ...answer !== undefined && { answer } };
}

Deno.test("bench: a batch is one request with as many calls as it holds, and bytes go both ways", () => {
  const call = { method: "eth_call", params: [] };
  const requests = [
    requestOf("[1,2]", call, { method: "eth_gasPrice", params: [] }),
    requestOf(undefined, call),
  ];
  const { bytes, ...counts } = trafficOf(requests);
  deepEqual(counts, { requests: 2, calls: 3 });
  equal(bytes - trafficOf(requests.map((each) => ({ ...each, answer: "" }))).bytes, "[1,2]".length);
  deepEqual(linesOf("A", requests), [
    " -- A: 2 requests, 3 calls",
    "       2  eth_call",
    "       1  eth_gasPrice",
  ]);
});
