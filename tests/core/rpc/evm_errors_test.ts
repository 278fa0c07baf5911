import assert from "node:assert/strict";
import { translateEvmError } from "../../../src/core/rpc/evm_errors.ts";
import { type RpcFaultCode, scopeOf } from "../../../src/core/rpc/call.ts";

/**
 * What nodes say. A heading is a code, and the method asked where it is not the usual one; below it, a line a phrasing:
 * error number, who says it, the text.
 */
const PHRASINGS = `
reverted
  3 | geth | execution reverted
  -32000 | erigon | execution reverted: UNIV3
  -32015 | nethermind | VM execution error.
  -32000 | besu | Execution reverted
  -32603 | ganache | VM Exception while processing transaction: revert
  -32000 | geth | out of gas
  -32000 | geth | invalid opcode: INVALID
reverted eth_estimateGas
  3 | anvil | execution reverted: custom error 0x2ad4ae2e
  -32000 | geth estimate | gas required exceeds allowance (50000000)
nonce_too_low
  -32000 | geth | nonce too low
  -32000 | reth | nonce too low: next nonce 12, tx nonce 11
  -32000 | arbitrum | nonce too low: address 0x70997970C51812dc3A010C7d01b50e0d17dc79C8, tx: 3 state: 4
  -32010 | nethermind | OldNonce, Current nonce: 5, nonce of rejected tx: 4.
  -32001 | besu | Nonce too low
  -32010 | openethereum | Transaction nonce is too low. Try incrementing the nonce.
  -32003 | anvil | nonce too low
nonce_too_high
  -32000 | geth | nonce too high
  -32010 | nethermind | NonceGap, Future nonce. Expected nonce: 1, tx nonce: 7
  -32000 | besu | Transaction nonce is distant from current sender nonce
already_known
  -32000 | geth | already known
  -32000 | older geth | known transaction: 2ad4ae2e
  -32010 | nethermind | AlreadyKnown
  -32000 | besu | Known transaction
  -32000 | provider | ALREADY_EXISTS: already known
  -32010 | openethereum | Transaction with the same hash was already imported.
  -32003 | anvil | transaction already imported
underpriced
  -32000 | geth, reth | replacement transaction underpriced
  -32000 | bor | transaction underpriced: tip needed 25000000000, tip permitted 1
  -32000 | bor | transaction underpriced: gas tip cap 1500000000, minimum needed 25000000000
  -32000 | bor of 2026 | transaction gas price below minimum: gas tip cap 1500000000, minimum needed 25000000000
  -32000 | geth, arbitrum | max fee per gas less than block base fee: address 0x1, maxFeePerGas: 1, baseFee: 7
  -32010 | nethermind | FeeTooLow, FeePerGas needs to be higher than 0
  -32010 | nethermind | ReplacementNotAllowed
  -32009 | besu | Gas price below configured minimum gas price
  -32009 | besu | Gas price below current base fee
  -32010 | openethereum | Transaction gas price supplied is too low. There is another transaction
  -32000 | erigon | could not replace existing tx
  -32000 | erigon | fee too low
insufficient_funds
  -32000 | geth | insufficient funds for gas * price + value: address 0x1 have 0 want 21000
  -32003 | anvil, reth | Insufficient funds for gas * price + value
  -32010 | nethermind | InsufficientFunds, Account balance: 0, cumulative cost: 1
  -32004 | besu | Upfront cost exceeds account balance
  -32010 | openethereum | Insufficient funds. The account you tried to send transaction from does not have enough funds.
  -32000 | op-geth | insufficient funds for l1Cost + gas * price + value
range_too_wide eth_getLogs
  -32005 | infura | query returned more than 10000 results. Try with this block range [0x1, 0x2].
  -32602 | alchemy | Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range
  -32600 | alchemy | Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.
  -32614 | quicknode | eth_getLogs is limited to a 10,000 range
  -32062 | ankr | Block range is too large
  -32000 | chainstack | Block range limit exceeded. See more details at https://docs.example.org
  35 | drpc | ranges over 10000 blocks are not supported on freetier
  -32602 | reth | query exceeds max block range 100000
  -32602 | reth | query exceeds max results 20000, retry with the range 10-20
  -32701 | publicnode | exceed maximum block range: 50000
  -32000 | bsc | exceed maximum block range: 5000
  -32005 | bsc | limit exceeded
  -32047 | cloudflare | Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800
  -32000 | 1rpc | eth_getLogs is limited to 0 - 10000 blocks range
  -32000 | besu | Requested range exceeds maximum range limit
  -32000 | avalanche | requested too many blocks from 0 to 9000, maximum is set to 2048
  -32005 | nethermind | Too many logs requested. Max is 20000.
  -32000 | thirdweb | Maximum allowed number of requested blocks is 3500
  -32000 | moralis | logs matched by query exceeds limit of 10000
  -32000 | bor | query timeout exceeded
  -32002 | geth | request timed out
  -32002 | geth behind a gateway |
  -32000 | geth, erigon | context deadline exceeded
  -32000 | alchemy, polygon | Query timeout exceeded. Consider reducing your block range.
  -32000 | alchemy | You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1, 0x1f4]
  -32602 | infura | range 1000000 exceeds limit of 10000
  -32005 | infura, its limit of ten seconds | query timed out
  -32614 | quicknode | eth_getLogs is limited to a 5 range
  -32602 | quicknode | eth_getLogs and eth_newFilter are limited to a 10,000 blocks range
  -32600 | ankr | maximum [from, to] blocks distance: 10000
  -32090 | gateway | Block range too wide, please upgrade your tier
  30 | drpc | Request timeout on the free tier, please upgrade your tier to the paid one
  -32603 | frontier | query timeout of 10 seconds exceeded
  -32603 | moonbeam | block range is too wide (maximum 1024)
  -32000 | gateway | eth_getLogs is not included in your current plan for ranges above 100
  -32600 | candle | block range too high
  -32000 | gateway | Timeout expired while searching logs
  -32016 | nethermind | eth_getLogs request was canceled due to enabled timeout.
  -32602 | zkevm-node | logs are limited to a 10000 block range
  -32603 | gateway | query took too long, narrow the range
  -32011 | base | backend response too large
  -32000 | getblock | response size should not greater than 10000000 bytes
lagging eth_getTransactionReceipt
  -32000 | geth, bsc | transaction indexing is in progress
lagging eth_getLogs
  -32000 | geth | block range extends beyond current head block
  -32000 | avalanche | requested to block 12 after last accepted block 9
  -32000 | openethereum | One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.
throttled
  429 | alchemy | Your app has exceeded its compute units per second capacity.
  -32005 | infura | daily request count exceeded, request rate limited
  -32007 | quicknode | 50/second request limit reached - reduce calls per second
  -32003 | quicknode | daily request limit reached - upgrade your account
  -32005 | chainstack | You've exceeded the RPS limit available on the current plan.
  -32016 | base | over rate limit
  -32005 | bsc | limit exceeded
  -32029 | nodereal | Too Many Requests
  -32090 | pokt | Too many requests, reason: call rate limit exhausted, retry in 10s
  15 | drpc | You've reached the usage limit for your current plan
throttled eth_getLogs
  15 | drpc | You've reached the usage limit for your current plan
  -32005 | chainstack | You've exceeded the RPS limit available on the current plan.
pruned
  -32000 | geth | missing trie node 2ad4 (path ) state 0x2ad4 is not available
  -32000 | geth | header not found
  -32000 | geth | required historical state unavailable (reexec=128)
  -32000 | geth path scheme | historical state 5c9f1f5b is not available
  -32000 | substrate-like | State already discarded for #18700000
  -32002 | nethermind | No state available for block 0x2ad4
  -32000 | besu | World state unavailable
  -32001 | reth | state at block #18700000 is pruned
  -32602 | anvil | BlockOutOfRangeError: block height is 4 but requested was 9
  -32000 | erigon | old data not available due to pruning
  -32004 | provider | This request requires an archive node. Please upgrade
  -32000 | infura | project ID does not have access to archive state
  -32000 | avalanche | cannot query unfinalized data
pruned eth_getProof
  -32000 | reth | distance to target block exceeds maximum proof window
  -32000 | erigon | requested block is too old, block must be within 100000 blocks of the head block number
  -32000 | erigon | root hash mismatch witnessTrieRootHash(ba81)!=expectedRootHash(60f8)
  -32000 | erigon | requested block is too old, block must be within 1000 blocks of the head block number (currently 3696916)
missing_method eth_getLogs
  -32601 | gateway | the method eth_getLogs does not exist/is not available
missing_method debug_traceCall
  -32601 | geth | the method debug_traceCall does not exist/is not available
  -32600 | alchemy | debug_traceCall is not available on the Free tier - upgrade to Pay As You Go
  -32000 | geth | tracer not found
missing_method trace_call
  -32601 | anvil | Method not found
missing_method
  -32004 | besu | this method is not supported
  -32053 | gateway | rpc method is not allowed
  -32000 | 1rpc | rpc method is not whitelisted
too_large
  -32600 | geth | batch too large
  -32003 | geth | response too large
  31 | drpc | Batch of more than 3 requests are not allowed on free tier
  -32600 | gateway | maximum batch size is 10
  -32010 | provider | batch limit exceeded
  -32000 | provider | Batch size too large
  -32000 | geth | oversized data: transaction size 140000, limit 131072
  -32600 | gateway | request entity too large
too_large debug_traceCall
  -32000 | geth | execution timeout
  -32000 | gateway | tracing request timed out
too_large eth_simulateV1
  -32000 | geth | execution aborted (timeout = 5s)
unauthorized
  -32000 | infura | project ID is required
  -32600 | alchemy | Must be authenticated!
  -32052 | ankr | API key is not allowed to access blockchain
  -32000 | gateway | Unauthorized: invalid api key
  -32000 | gateway | forbidden
  -32000 | alchemy | App is inactive
  -32000 | gateway | payment required
server_error
  -32001 | alchemy | Unable to complete request at this time.
  12 | drpc | Can't route your request to suitable provider
  -32046 | cloudflare | Cannot fulfill request
  -32000 | proxyd | dial tcp 10.0.0.3:8545: connect: connection refused
  -32603 | erigon | Internal error
  -32603 | anybody |
  -32002 | geth | request timed out
  -32000 | geth | execution aborted (timeout = 5s)
  19 | drpc | Temporary internal error. Please retry, trace-id: 1
  -32000 | gateway | no healthy upstream
  -32000 | erigon | context deadline exceeded
server_error debug_traceCall
  -32000 | gateway | context deadline exceeded
refused
  -32001 | EIP-1474 | Resource not found
  -32602 | geth | invalid argument 0: hex string has length 3
  -32000 | geth | intrinsic gas too low: gas 21000, minimum needed 53000
  -32000 | geth | exceeds block gas limit
  none | geth | invalid sender
refused eth_getTransactionReceipt
  -32000 | gateway | nonce too low
refused eth_getBalance
  -32000 | gateway | insufficient funds for gas * price + value
refused eth_call
  -32000 | gateway | already known
`;

/** Verdicts of pools are about what is sent. */
function usualMethod(code: string): string {
  const [sending, calling] = ["eth_sendRawTransaction", "eth_call"].map((method) =>
    scopeOf({ code: code as RpcFaultCode, where: { chain: "EVM-1", endpointHost: "a.example", method } })
  );
  return sending === calling ? "eth_call" : "eth_sendRawTransaction";
}

let heading = "";
let method = "";
for (const line of PHRASINGS.trim().split("\n")) {
  if (!line.startsWith(" ")) {
    [heading = "", method = usualMethod(heading)] = line.split(" ");
    continue;
  }
  const [number = "", who, message = ""] = line.trim().split(/ \| ?/);
  const [code, asked] = [heading, method];
  Deno.test(`evm errors: ${who} says "${message.slice(0, 60)}" (${number}): ${code}`, () => {
    const error = { code: number === "none" ? undefined : Number(number), message, data: undefined };
    assert.equal(translateEvmError(error, asked).code, code);
  });
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
