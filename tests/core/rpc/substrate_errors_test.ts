import assert from "node:assert/strict";
import type { RpcFaultCode } from "../../../src/core/rpc/call.ts";
import { translateSubstrateError } from "../../../src/core/rpc/substrate_errors.ts";

const known: readonly (readonly [number | undefined, string, string | undefined, RpcFaultCode])[] = [
  [1010, "Invalid Transaction", "Transaction has a bad signature", "pool_invalid"],
  [1010, "Invalid Transaction", "Transaction call is not expected", "pool_invalid"],
  [1010, "Invalid Transaction", "Transaction is outdated", "pool_invalid"],
  [1011, "Unknown Transaction Validity", undefined, "pool_dropped"],
  [1012, "Transaction is temporarily banned", undefined, "pool_dropped"],
  [1013, "Transaction Already Imported", undefined, "already_known"],
  [1014, "Priority is too low: (100 vs 100)", "The transaction has too low priority", "pool_conflict"],
  [1016, "Immediately Dropped", "The transaction couldn't enter the pool", "pool_dropped"],
  [9876, "Failed to generate mmr proof LeafNotFound", undefined, "not_found"],
  [9876, "Error fetching latest state machine height", undefined, "not_found"],
  [9876, "Error fetching Challenge period", undefined, "not_found"],
  [9876, "Invalid block number provided", undefined, "lagging"],
  [9876, "Could not find valid blockhash for provided height", undefined, "lagging"],
  [9876, "Child trie root storage returned None", undefined, "not_found"],
  [9876, 'failed to read block events UnknownBlock("State already discarded for 0x12")', undefined, "pruned"],
  [9876, "Error generating child trie proof: StateBackend", undefined, "server_error"],
  [1, "BEEFY RPC endpoint not ready", undefined, "lagging"],
  [-32601, "Method not found", undefined, "missing_method"],
  [-32601, "RPC call is unsafe to be called externally", undefined, "missing_method"],
  [-32602, "Invalid params", "invalid type: string", "refused"],
  [-32000, "Client error: UnknownBlock: State already discarded for 0xab", undefined, "pruned"],
  [4003, "Client error: UnknownBlock: Header was not found in the database: 0xab", undefined, "pruned"],
  [-32603, "Internal error", undefined, "server_error"],
  [-32007, "Request is too big", "Exceeded max limit of 15728640", "too_large"],
  [-32008, "Response is too big", "Exceeded max limit of 15728640", "too_large"],
  [-32009, "Server is busy, try again later", undefined, "throttled"],
  [-32005, "Batched requests are not supported by this server", undefined, "refused"],
  [-32005, "limit exceeded", undefined, "throttled"],
  [-32011, "The batch response was too large", undefined, "too_large"],
  [-32010, "The batch request was too large", undefined, "too_large"],
  [-32029, "Too many requests, rate limit reached", undefined, "throttled"],
  [429, "slow down", undefined, "throttled"],
  [-32000, "HTTP status 429", undefined, "throttled"],
  [-32000, "upstream answered with status code: 429", undefined, "throttled"],
  [-32000, "429 from upstream", undefined, "throttled"],
  // The same digits in a hash, a height, a key.
  [
    4003,
    "Client error: UnknownBlock: State already discarded for 0xaa64285d21d748ed429",
    undefined,
    "pruned",
  ],
  [4003, "Client error: UnknownBlock: Header was not found in the database: 0x429b", undefined, "pruned"],
  [4003, "Client error: UnknownBlock: Expect block number from id: 429", undefined, "pruned"],
  [-32000, "429ab7 is no key", undefined, "refused"],
  [undefined, "something else", undefined, "malformed"],
];

for (const [code, message, data, expected] of known) {
  Deno.test(`substrate errors: ${code} "${message}" is ${expected} (F20)`, () => {
    assert.equal(translateSubstrateError({ code, message, data }, "any").code, expected);
  });
}
