import assert from "node:assert/strict";
import { translateEvmError } from "../../../src/core/rpc/evm_errors.ts";
import { type RpcFaultCode, scopeOf } from "../../../src/core/rpc/call.ts";

/** Error number, text as the node words it, who says it, the method asked. */
type Row = readonly [number | undefined, string, string, string?];

const phrasings: Readonly<Partial<Record<RpcFaultCode, readonly Row[]>>> = {
  reverted: [
    [3, "execution reverted", "geth"],
    [3, "execution reverted: custom error 0x2ad4ae2e", "anvil", "eth_estimateGas"],
    [-32000, "execution reverted: UNIV3", "erigon"],
    [-32015, "VM execution error.", "nethermind"],
    [-32000, "Execution reverted", "besu"],
    [-32603, "VM Exception while processing transaction: revert", "ganache"],
    [-32000, "gas required exceeds allowance (50000000)", "geth estimate", "eth_estimateGas"],
    [-32000, "out of gas", "geth"],
    [-32000, "invalid opcode: INVALID", "geth"],
  ],
  nonce_too_low: [
    [-32000, "nonce too low", "geth"],
    [-32000, "nonce too low: next nonce 12, tx nonce 11", "reth"],
    [-32000, "nonce too low: address 0x70997970C51812dc3A010C7d01b50e0d17dc79C8, tx: 3 state: 4", "arbitrum"],
    [-32010, "OldNonce, Current nonce: 5, nonce of rejected tx: 4.", "nethermind"],
    [-32001, "Nonce too low", "besu"],
    [-32010, "Transaction nonce is too low. Try incrementing the nonce.", "openethereum"],
    [-32003, "nonce too low", "anvil"],
  ],
  nonce_too_high: [
    [-32000, "nonce too high", "geth"],
    [-32010, "NonceGap, Future nonce. Expected nonce: 1, tx nonce: 7", "nethermind"],
    [-32000, "Transaction nonce is distant from current sender nonce", "besu"],
  ],
  already_known: [
    [-32000, "already known", "geth"],
    [-32000, "known transaction: 2ad4ae2e", "older geth"],
    [-32010, "AlreadyKnown", "nethermind"],
    [-32000, "Known transaction", "besu"],
    [-32000, "ALREADY_EXISTS: already known", "provider"],
    [-32010, "Transaction with the same hash was already imported.", "openethereum"],
    [-32003, "transaction already imported", "anvil"],
  ],
  underpriced: [
    [-32000, "replacement transaction underpriced", "geth, reth"],
    [-32000, "transaction underpriced: tip needed 25000000000, tip permitted 1", "bor"],
    [-32000, "transaction underpriced: gas tip cap 1500000000, minimum needed 25000000000", "bor"],
    [
      -32000,
      "transaction gas price below minimum: gas tip cap 1500000000, minimum needed 25000000000",
      "bor of 2026",
    ],
    [
      -32000,
      "max fee per gas less than block base fee: address 0x1, maxFeePerGas: 1, baseFee: 7",
      "geth, arbitrum",
    ],
    [-32010, "FeeTooLow, FeePerGas needs to be higher than 0", "nethermind"],
    [-32010, "ReplacementNotAllowed", "nethermind"],
    [-32009, "Gas price below configured minimum gas price", "besu"],
    [-32009, "Gas price below current base fee", "besu"],
    [-32010, "Transaction gas price supplied is too low. There is another transaction", "openethereum"],
    [-32000, "could not replace existing tx", "erigon"],
    [-32000, "fee too low", "erigon"],
  ],
  insufficient_funds: [
    [-32000, "insufficient funds for gas * price + value: address 0x1 have 0 want 21000", "geth"],
    [-32003, "Insufficient funds for gas * price + value", "anvil, reth"],
    [-32010, "InsufficientFunds, Account balance: 0, cumulative cost: 1", "nethermind"],
    [-32004, "Upfront cost exceeds account balance", "besu"],
    [
      -32010,
      "Insufficient funds. The account you tried to send transaction from does not have enough funds.",
      "openethereum",
    ],
    [-32000, "insufficient funds for l1Cost + gas * price + value", "op-geth"],
  ],
  range_too_wide: [
    [
      -32005,
      "query returned more than 10000 results. Try with this block range [0x1, 0x2].",
      "infura",
      "eth_getLogs",
    ],
    [
      -32602,
      "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range",
      "alchemy",
      "eth_getLogs",
    ],
    [
      -32600,
      "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.",
      "alchemy",
      "eth_getLogs",
    ],
    [-32614, "eth_getLogs is limited to a 10,000 range", "quicknode", "eth_getLogs"],
    [-32062, "Block range is too large", "ankr", "eth_getLogs"],
    [
      -32000,
      "Block range limit exceeded. See more details at https://docs.example.org",
      "chainstack",
      "eth_getLogs",
    ],
    [35, "ranges over 10000 blocks are not supported on freetier", "drpc", "eth_getLogs"],
    [-32602, "query exceeds max block range 100000", "reth", "eth_getLogs"],
    [-32602, "query exceeds max results 20000, retry with the range 10-20", "reth", "eth_getLogs"],
    [-32701, "exceed maximum block range: 50000", "publicnode", "eth_getLogs"],
    [-32000, "exceed maximum block range: 5000", "bsc", "eth_getLogs"],
    [-32005, "limit exceeded", "bsc", "eth_getLogs"],
    [
      -32047,
      "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
      "cloudflare",
      "eth_getLogs",
    ],
    [-32000, "eth_getLogs is limited to 0 - 10000 blocks range", "1rpc", "eth_getLogs"],
    [-32000, "Requested range exceeds maximum range limit", "besu", "eth_getLogs"],
    [-32000, "requested too many blocks from 0 to 9000, maximum is set to 2048", "avalanche", "eth_getLogs"],
    [-32005, "Too many logs requested. Max is 20000.", "nethermind", "eth_getLogs"],
    [-32000, "Maximum allowed number of requested blocks is 3500", "thirdweb", "eth_getLogs"],
    [-32000, "logs matched by query exceeds limit of 10000", "moralis", "eth_getLogs"],
    [-32000, "query timeout exceeded", "bor", "eth_getLogs"],
    [-32002, "request timed out", "geth", "eth_getLogs"],
    [-32002, "", "geth behind a gateway", "eth_getLogs"],
    [-32000, "context deadline exceeded", "geth, erigon", "eth_getLogs"],
    [
      -32000,
      "Query timeout exceeded. Consider reducing your block range.",
      "alchemy, polygon",
      "eth_getLogs",
    ],
    [
      -32000,
      "You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1, 0x1f4]",
      "alchemy",
      "eth_getLogs",
    ],
    [-32602, "range 1000000 exceeds limit of 10000", "infura", "eth_getLogs"],
    [-32005, "query timed out", "infura, its limit of ten seconds", "eth_getLogs"],
    [-32614, "eth_getLogs is limited to a 5 range", "quicknode", "eth_getLogs"],
    [
      -32602,
      "eth_getLogs and eth_newFilter are limited to a 10,000 blocks range",
      "quicknode",
      "eth_getLogs",
    ],
    [-32600, "maximum [from, to] blocks distance: 10000", "ankr", "eth_getLogs"],
    [-32090, "Block range too wide, please upgrade your tier", "gateway", "eth_getLogs"],
    [30, "Request timeout on the free tier, please upgrade your tier to the paid one", "drpc", "eth_getLogs"],
    [-32603, "query timeout of 10 seconds exceeded", "frontier", "eth_getLogs"],
    [-32603, "block range is too wide (maximum 1024)", "moonbeam", "eth_getLogs"],
    [
      -32000,
      "eth_getLogs is not included in your current plan for ranges above 100",
      "gateway",
      "eth_getLogs",
    ],
    [-32600, "block range too high", "candle", "eth_getLogs"],
    [-32000, "Timeout expired while searching logs", "gateway", "eth_getLogs"],
    [-32016, "eth_getLogs request was canceled due to enabled timeout.", "nethermind", "eth_getLogs"],
    [-32602, "logs are limited to a 10000 block range", "zkevm-node", "eth_getLogs"],
    [-32603, "query took too long, narrow the range", "gateway", "eth_getLogs"],
    [-32011, "backend response too large", "base", "eth_getLogs"],
    [-32000, "response size should not greater than 10000000 bytes", "getblock", "eth_getLogs"],
  ],
  lagging: [
    [-32000, "transaction indexing is in progress", "geth, bsc", "eth_getTransactionReceipt"],
    [-32000, "block range extends beyond current head block", "geth", "eth_getLogs"],
    [-32000, "requested to block 12 after last accepted block 9", "avalanche", "eth_getLogs"],
    [
      -32000,
      "One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.",
      "openethereum",
      "eth_getLogs",
    ],
  ],
  throttled: [
    [429, "Your app has exceeded its compute units per second capacity.", "alchemy"],
    [-32005, "daily request count exceeded, request rate limited", "infura"],
    [-32007, "50/second request limit reached - reduce calls per second", "quicknode"],
    [-32003, "daily request limit reached - upgrade your account", "quicknode"],
    [-32005, "You've exceeded the RPS limit available on the current plan.", "chainstack"],
    [-32016, "over rate limit", "base"],
    [-32005, "limit exceeded", "bsc"],
    [-32029, "Too Many Requests", "nodereal"],
    [-32090, "Too many requests, reason: call rate limit exhausted, retry in 10s", "pokt"],
    [15, "You've reached the usage limit for your current plan", "drpc", "eth_getLogs"],
    [-32005, "You've exceeded the RPS limit available on the current plan.", "chainstack", "eth_getLogs"],
    [15, "You've reached the usage limit for your current plan", "drpc"],
  ],
  pruned: [
    [-32000, "missing trie node 2ad4 (path ) state 0x2ad4 is not available", "geth"],
    [-32000, "header not found", "geth"],
    [-32000, "required historical state unavailable (reexec=128)", "geth"],
    [-32000, "historical state 5c9f1f5b is not available", "geth path scheme"],
    [-32000, "State already discarded for #18700000", "substrate-like"],
    [-32002, "No state available for block 0x2ad4", "nethermind"],
    [-32000, "World state unavailable", "besu"],
    [-32001, "state at block #18700000 is pruned", "reth"],
    [-32000, "distance to target block exceeds maximum proof window", "reth", "eth_getProof"],
    [
      -32000,
      "requested block is too old, block must be within 100000 blocks of the head block number",
      "erigon",
      "eth_getProof",
    ],
    [-32602, "BlockOutOfRangeError: block height is 4 but requested was 9", "anvil"],
    [-32000, "old data not available due to pruning", "erigon"],
    [
      -32000,
      "root hash mismatch witnessTrieRootHash(ba81)!=expectedRootHash(60f8)",
      "erigon",
      "eth_getProof",
    ],
    [
      -32000,
      "requested block is too old, block must be within 1000 blocks of the head block number (currently 3696916)",
      "erigon",
      "eth_getProof",
    ],
    [-32004, "This request requires an archive node. Please upgrade", "provider"],
    [-32000, "project ID does not have access to archive state", "infura"],
    [-32000, "cannot query unfinalized data", "avalanche"],
  ],
  missing_method: [
    [-32601, "the method eth_getLogs does not exist/is not available", "gateway", "eth_getLogs"],
    [-32601, "the method debug_traceCall does not exist/is not available", "geth", "debug_traceCall"],
    [-32601, "Method not found", "anvil", "trace_call"],
    [-32004, "this method is not supported", "besu"],
    [-32053, "rpc method is not allowed", "gateway"],
    [-32000, "rpc method is not whitelisted", "1rpc"],
    [
      -32600,
      "debug_traceCall is not available on the Free tier - upgrade to Pay As You Go",
      "alchemy",
      "debug_traceCall",
    ],
    [-32000, "tracer not found", "geth", "debug_traceCall"],
  ],
  too_large: [
    [-32600, "batch too large", "geth"],
    [-32003, "response too large", "geth"],
    [31, "Batch of more than 3 requests are not allowed on free tier", "drpc"],
    [-32600, "maximum batch size is 10", "gateway"],
    [-32010, "batch limit exceeded", "provider"],
    [-32000, "Batch size too large", "provider"],
    [-32000, "oversized data: transaction size 140000, limit 131072", "geth"],
    [-32600, "request entity too large", "gateway"],
    [-32000, "execution timeout", "geth", "debug_traceCall"],
    [-32000, "execution aborted (timeout = 5s)", "geth", "eth_simulateV1"],
    [-32000, "tracing request timed out", "gateway", "debug_traceCall"],
  ],
  unauthorized: [
    [-32000, "project ID is required", "infura"],
    [-32600, "Must be authenticated!", "alchemy"],
    [-32052, "API key is not allowed to access blockchain", "ankr"],
    [-32000, "Unauthorized: invalid api key", "gateway"],
    [-32000, "forbidden", "gateway"],
    [-32000, "App is inactive", "alchemy"],
    [-32000, "payment required", "gateway"],
  ],
  server_error: [
    [-32001, "Unable to complete request at this time.", "alchemy"],
    [12, "Can't route your request to suitable provider", "drpc"],
    [-32046, "Cannot fulfill request", "cloudflare"],
    [-32000, "dial tcp 10.0.0.3:8545: connect: connection refused", "proxyd"],
    [-32603, "Internal error", "erigon"],
    [-32603, "", "anybody"],
    [-32002, "request timed out", "geth"],
    [-32000, "execution aborted (timeout = 5s)", "geth"],
    [19, "Temporary internal error. Please retry, trace-id: 1", "drpc"],
    [-32000, "no healthy upstream", "gateway"],
    [-32000, "context deadline exceeded", "erigon"],
    [-32000, "context deadline exceeded", "gateway", "debug_traceCall"],
  ],
  refused: [
    [-32001, "Resource not found", "EIP-1474"],
    [-32000, "nonce too low", "gateway", "eth_getTransactionReceipt"],
    [-32000, "insufficient funds for gas * price + value", "gateway", "eth_getBalance"],
    [-32000, "already known", "gateway", "eth_call"],
    [-32602, "invalid argument 0: hex string has length 3", "geth"],
    [-32000, "intrinsic gas too low: gas 21000, minimum needed 53000", "geth"],
    [-32000, "exceeds block gas limit", "geth"],
    [undefined, "invalid sender", "geth"],
  ],
};

/** Verdicts of pools are about what is sent. */
function usualMethod(code: string): string {
  const [sending, calling] = ["eth_sendRawTransaction", "eth_call"].map((method) =>
    scopeOf({ code: code as RpcFaultCode, where: { chain: "EVM-1", endpointHost: "a.example", method } })
  );
  return sending === calling ? "eth_call" : "eth_sendRawTransaction";
}

for (const [code, rows] of Object.entries(phrasings)) {
  for (const [number, message, who, method] of rows) {
    Deno.test(`evm errors: ${who} says "${message.slice(0, 60)}" (${number}): ${code}`, () => {
      const translated = translateEvmError(
        { code: number, message, data: undefined },
        method ?? usualMethod(code),
      );
      assert.equal(translated.code, code);
    });
  }
}

Deno.test("evm errors: revert data is found in each of the shapes nodes use", () => {
  const dataOf = (data: Parameters<typeof translateEvmError>[0]["data"]): string | undefined =>
    translateEvmError({ code: 3, message: "execution reverted", data }, "eth_call").data;
  assert.equal(dataOf("0x2AD4ae2e"), "0x2ad4ae2e");
  assert.equal(dataOf("Reverted 0x2ad4ae2e"), "0x2ad4ae2e");
  assert.equal(dataOf({ message: "reverted", data: "0x2ad4ae2e" }), "0x2ad4ae2e");
  assert.equal(dataOf({ data: { data: "0x2ad4ae2e" } }), "0x2ad4ae2e");
  assert.equal(dataOf("0x"), "0x");
  for (const none of [undefined, null, "0x2ad", "because", 5, ["0x2ad4ae2e"]]) {
    assert.equal(dataOf(none), undefined);
  }
});
