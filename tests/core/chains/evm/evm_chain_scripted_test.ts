import assert from "node:assert/strict";
import { encodeAbiParameters, encodeEventTopics, parseTransaction } from "viem";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { collectMessages } from "../../../../src/core/chains/submission.ts";
import { evmHostAbi, hostEventTopics } from "../../../../src/core/evm/host_abi.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import { getResponseMessage } from "../../../../src/core/ismp/message.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import {
  type Answerer,
  type ArrivedCall,
  httpStatus,
  ScriptedError,
  type ScriptedRpc,
} from "../../../support/scripted_rpc.ts";
import { hub, never } from "./chain_fixture.ts";
import { faultWith } from "../../../support/rpc_faults.ts";
import {
  blockHash,
  blockOf,
  chainAt,
  chainOn,
  deliveryOfPosts,
  host,
  hostAnswers,
  node,
  post,
  sign,
  trySign,
  zeros,
} from "./scripted_node.ts";
import hostVector from "../../../vectors/evm-host-reads.json" with { type: "json" };
import traceVector from "../../../vectors/evm-trace.json" with { type: "json" };
import { accepted } from "../../../support/chain_calls.ts";

/** A node that has mined our transaction, with a receipt of these fields. */
function minedNode(more: Readonly<Record<string, unknown>> = {}): ScriptedRpc {
  const receipt = { blockNumber: "0xf0", blockHash, status: "0x1", gasUsed: "0x5208", logs: [] };
  return node({
    eth_getTransactionByHash: () => ({ hash: blockHash }),
    eth_getTransactionReceipt: () => ({ ...receipt, ...more }),
  });
}

function updatedLog(height: bigint, block: number, logIndex: number): Record<string, unknown> {
  return {
    address: host,
    topics: encodeEventTopics({ abi: evmHostAbi, eventName: "StateMachineUpdated" }),
    data: encodeAbiParameters([{ type: "string" }, { type: "uint256" }], ["KUSAMA-4009", height]),
    blockNumber: `0x${block.toString(16)}`,
    transactionHash: blockHash,
    logIndex: `0x${logIndex.toString(16)}`,
  };
}

/** Blocks of each eth_getLogs, as [from, to]. */
function ranges(rpc: ScriptedRpc): readonly (readonly number[])[] {
  return rpc.calls.filter(({ method }) => method === "eth_getLogs").map((call) => rangeOf([call]));
}

/** Blocks of the eth_getLogs among the calls, as [from, to]; empty without one. */
function rangeOf(calls: readonly ArrivedCall[]): readonly number[] {
  const found = calls.find(({ method }) => method === "eth_getLogs");
  if (found === undefined) return [];
  const text = JSON.stringify(found.params);
  const read = (field: string): number => Number(new RegExp(`"${field}":"(0x[0-9a-f]+)"`).exec(text)?.[1]);
  return [read("fromBlock"), read("toBlock")];
}

Deno.test("evm chain: receipts of responses are filed under the request, and all are one request", async () => {
  const get = {
    source: evmStateMachine(1),
    dest: evmStateMachine(2),
    nonce: 1n,
    from: new Uint8Array(20),
    keys: [],
    height: 5n,
    context: new Uint8Array(),
    timeoutTimestampSec: 0n,
  };
  const response = getResponseMessage({ get, values: [] });
  const asked = hostReads.responseReceipts.encode(response.requestCommitment);
  const word = (hex: string): string => hex.padStart(64, "0");
  const { chain, requests } = chainOn({
    eth_call: ([call]) =>
      JSON.stringify(call).includes(asked)
        ? `0x${response.commitment.slice(2)}${word("cd".repeat(20))}`
        : `0x${word("ab".repeat(20))}`,
  });
  const receipts = await chain.reads.fetchReceipts([post(1n), response], never);
  assert.deepEqual(receipts, [fromHex("ab".repeat(20)), fromHex("cd".repeat(20))]);
  assert.equal(requests.count, 1);
  assert.deepEqual(await chain.reads.fetchReceipts([], never), []);
  assert.equal(requests.count, 1);
});

Deno.test("evm chain: a transaction is found by its receipt, one that is in no block is not, and a refusal is a fault", async () => {
  const { chain: { events }, rpc } = chainOn(minedNode());
  const find = (): Promise<bigint | undefined> => Promise.resolve(events.findTransaction?.(blockHash, never));
  assert.equal(await find(), 0xf0n);
  assert.deepEqual(rpc.calls.at(-1)?.params, [blockHash]);
  rpc.on("eth_getTransactionReceipt", () => null);
  assert.equal(await find(), undefined);
  rpc.on("eth_getTransactionReceipt", () => new ScriptedError(-32601, "the method does not exist"));
  await assert.rejects(find(), faultWith("missing_method"));
});

Deno.test("evm chain: the start-up check names a host without the hub, and a handler without batches", async () => {
  const { chain, rpc } = chainOn({ eth_getCode: () => "0x60", eth_getBalance: () => "0x0" });
  const texts = async (): Promise<string> =>
    (await chain.check(hub, never)).map(({ result, found }) => `${result}: ${found}`).join("\n");
  assert.match(
    await texts(),
    /^warning: Host .* does not accept KUSAMA-4009;.*\nok: Host .* of KUSAMA-4009, handler .*, fee token .* with 0 decimals.*\nok: Handler .* has no batchCall.*$/i,
  );
  rpc.on("eth_call", hostAnswers(() => "0x"));
  rpc.on("eth_getCode", ([account]) => account === host ? "0x60" : "0x");
  assert.match(await texts(), /^failed: no contract at the host's handler 0x/m);
  rpc.on("eth_getCode", () => "0x60");
  assert.match(await texts(), /^failed: .*decimals of the host's fee token 0x.* cannot be read/m);
});

Deno.test("evm chain: a handler without batchCall is distinguished by its answer or its revert, and asked once", async () => {
  for (const answer of [zeros(1), new ScriptedError(3, "execution reverted"), "0x"]) {
    const { chain, requests } = chainOn({ eth_call: hostAnswers(() => answer) });
    for (let round = 0; round < 2; round++) {
      assert.equal(await chain.hubClient.fetchHasBatchCall(never), false);
    }
    assert.equal(requests.count, 2, "the host's parameters, and its handler");
  }
  const busy = chainOn({ eth_call: hostAnswers(() => new ScriptedError(-32603, "internal error")) }).chain;
  await assert.rejects(busy.hubClient.fetchHasBatchCall(never), faultWith("server_error"));
});

Deno.test("evm chain: a throttled contract read at start is a fault to try again, not a finding", async () => {
  const refused = new ScriptedError(-32005, "rate limit exceeded");
  const { chain } = chainOn({ eth_getCode: () => "0x60", eth_call: () => refused });
  await assert.rejects(chain.check(hub, never), faultWith("throttled"));
});

Deno.test("evm chain: events come in the order of block and log, without removed ones, from one request", async () => {
  const { chain, requests, rpc } = chainOn({
    eth_getLogs: () => [
      updatedLog(3n, 0x21, 0),
      updatedLog(2n, 0x20, 10),
      { ...updatedLog(9n, 0x20, 3), removed: true },
      updatedLog(1n, 0x20, 2),
    ],
  });
  const events = await chain.events.fetchEvents(0x20n, 0x21n, never);
  assert.deepEqual(events.map((event) => event.kind === "updated" ? event.height : undefined), [1n, 2n, 3n]);
  assert.equal(requests.count, 1);
  const [filter] = rpc.calls.find(({ method }) => method === "eth_getLogs")?.params ?? [];
  const text = JSON.stringify(filter);
  assert.ok(text.includes(host) && text.includes(hostEventTopics.PostRequestEvent));
});

Deno.test("evm chain: a log that cannot be read is skipped with one warning; its neighbours are kept (F11)", async () => {
  const broken = { ...updatedLog(1n, 0x20, 0), data: "0x1234" };
  const { chain, log } = chainOn({ eth_getLogs: () => [broken, updatedLog(2n, 0x20, 1)] });
  const events = await chain.events.fetchEvents(0x20n, 0x20n, never);
  assert.deepEqual(events.map(({ kind }) => kind), ["updated"]);
  assert.equal(log.events("warn").length, 1);
});

/** What an endpoint says to more than ten blocks at once; a number is an HTTP status. */
const tooWide: readonly (readonly [string, ScriptedError | number])[] = [
  ["the node has a limit", new ScriptedError(-32005, "query returned more than 10000 results")],
  ["a gateway in front of it gives up", 504],
  ["geth gives up", new ScriptedError(-32002, "request timed out")],
  ["the node gives up", new ScriptedError(-32000, "context deadline exceeded")],
  ["the plan ends", new ScriptedError(-32600, "please upgrade your tier")],
];

/** A node that refuses logs of more than so many blocks; it has one for each question that it answers. */
function narrowNode(refusal: ScriptedError | number, most = 10): ScriptedRpc {
  const isTooMuch = ([from = 0, to = 0]: readonly number[]): boolean => to - from + 1 > most;
  const rpc = node({
    eth_getLogs: (params, self) => {
      const range = rangeOf([{ method: "eth_getLogs", params }]);
      if (ranges(self).length > 20) throw new Error("asked without end");
      const [from = 0] = range;
      return typeof refusal !== "number" && isTooMuch(range) ? refusal : [updatedLog(BigInt(from), from, 0)];
    },
  });
  if (typeof refusal === "number") {
    const refuse = httpStatus(refusal);
    rpc.fault = (calls, answers) => isTooMuch(rangeOf(calls)) ? refuse(calls, answers) : undefined;
  }
  return rpc;
}

for (const [who, refusal] of tooWide) {
  Deno.test(`evm chain: a range that is too wide is halved until it fits, and the width is remembered (F8): ${who}`, async () => {
    const { chain, rpc } = chainOn(narrowNode(refusal));
    const events = await chain.events.fetchEvents(1n, 40n, never);
    assert.deepEqual(ranges(rpc), [[1, 40], [1, 20], [1, 10], [11, 20], [21, 30], [31, 40]]);
    assert.deepEqual(events.map(({ at }) => at.height), [1n, 11n, 21n, 31n]);
    await chain.events.fetchEvents(41n, 60n, never);
    assert.deepEqual(ranges(rpc).slice(6), [[41, 50], [51, 60]]);
  });
}

const outOfRange = new ScriptedError(-32000, "block range too large");

Deno.test("evm chain: halving ends at one block; then the fault is the caller's (F8)", async () => {
  const { chain, rpc } = chainOn(narrowNode(outOfRange, 0));
  await assert.rejects(chain.events.fetchEvents(1n, 8n, never), faultWith("range_too_wide"));
  assert.deepEqual(ranges(rpc), [[1, 8], [1, 4], [1, 2], [1, 1]]);
});

Deno.test("evm chain: an endpoint that is down is not asked for less: the caller hears of it at once", async () => {
  const { chain, rpc } = chainOn();
  rpc.fault = httpStatus(504);
  await assert.rejects(chain.events.fetchEvents(1n, 40n, never), faultWith("timeout"));
  assert.deepEqual(ranges(rpc), [[1, 40]]);
});

Deno.test("evm chain: each endpoint is asked for what it can do: the width is its own, and grows again slowly", async () => {
  const [narrow, wide] = [narrowNode(504), node()];
  const { chain } = chainAt([narrow, wide]);
  // The second one serves what is too much for the first, which is asked for less from then on.
  await chain.events.fetchEvents(1n, 16n, never);
  assert.deepEqual(ranges(wide), [[1, 16]]);
  await chain.events.fetchEvents(17n, 32n, never);
  assert.deepEqual(ranges(narrow), [[1, 16], [17, 24], [25, 32]]);
  assert.equal(ranges(wide).length, 1);
  for (let from = 33n; from < 33n + 14n * 8n; from += 8n) {
    await chain.events.fetchEvents(from, from + 7n, never);
  }
  await chain.events.fetchEvents(201n, 216n, never);
  assert.deepEqual(ranges(narrow).at(-1), [201, 216]);
});

Deno.test("evm chain: what is too wide is narrowed also behind an endpoint that cannot answer at all", async () => {
  const narrow = narrowNode(outOfRange);
  const { chain } = chainAt([node({ eth_blockNumber: () => "0x10" }), narrow]);
  await chain.events.fetchEvents(33n, 72n, never);
  assert.deepEqual(ranges(narrow), [[33, 72], [33, 52], [33, 42], [43, 52], [53, 62], [63, 72]]);
});

Deno.test("evm chain: the configured batch size bounds every query", async () => {
  const { chain, rpc } = chainOn({}, { queryBatchSizeBlocks: 4 });
  await chain.events.fetchEvents(1n, 10n, never);
  assert.deepEqual(ranges(rpc), [[1, 4], [5, 8], [9, 10]]);
});

Deno.test("evm chain: an endpoint that has not reached the last block, or for which one block is too much, is skipped (F8)", async () => {
  const good = node({ eth_getLogs: () => [updatedLog(5n, 0x30, 0)] });
  const behind = node({ eth_blockNumber: () => "0x20" });
  const small = node({ eth_getLogs: () => new ScriptedError(-32000, "response size exceeded") });
  for (const bad of [behind, small]) {
    assert.equal((await chainAt([bad, good]).chain.events.fetchEvents(0x30n, 0x30n, never)).length, 1);
  }
  await assert.rejects(chainOn(behind).chain.events.fetchEvents(0x10n, 0x30n, never), faultWith("lagging"));
});

Deno.test("evm chain: after half an answer or a wrong shape of the first endpoint the second is asked", async () => {
  const broken = node({ eth_call: () => "0x1234", eth_getLogs: () => [{ address: host }] });
  const { chain } = chainAt([broken, node()]);
  broken.fault = (_, answers) => new Response(JSON.stringify(answers).slice(0, 20));
  assert.equal(await chain.reads.fetchHeight(never), 0x100n);
  broken.fault = undefined;
  assert.deepEqual(await chain.reads.fetchReceipts([post(1n)], never), [undefined]);
  await assert.rejects(chainOn(broken).chain.events.fetchEvents(1n, 2n, never), faultWith("malformed"));
});

Deno.test("evm chain: with five URLs a delivery takes one request more than with one, to send it twice", async () => {
  const methods = {
    debug_traceCall: () => traceVector.succeeds.trace,
    eth_sendRawTransaction: () => blockHash,
  };
  const rpcs = Array.from({ length: 5 }, () => node(methods));
  const { chain, requests } = chainAt(rpcs);
  const delivery = deliveryOfPosts(100);
  await chain.reads.fetchView(hub, never).catch(() => undefined);
  requests.count = 0;
  await chain.reads.fetchReceipts(collectMessages(delivery), never);
  await chain.simulator.simulate(delivery, never);
  await chain.sender.broadcast(await sign(chain, { nonceAtLeast: 5n }, delivery), never);
  // The others are the host's parameters, which a check at start leaves in the cache, and what the first price is
  // compared with, once: the fee history, which these nodes lack, the chain id that tells so, and the price of two others.
  assert.equal(requests.count, 10);
  assert.deepEqual(rpcs.slice(1).map((rpc) => rpc.requests.length), [2, 1, 0, 0]);
});

Deno.test("evm chain: a transaction from the database is signed again only when this account signed it before", async () => {
  const { chain } = chainOn();
  const own = await sign(chain);
  const price = { type: "eip1559", maxFeeWei: 10n ** 10n, maxPriorityFeeWei: 1n } as const;
  const middle = own.raw.length >> 1; // where the data of the delivery is
  const tampered = { ...own, raw: own.raw.with(middle, (own.raw[middle] ?? 0) ^ 1) };
  const refusal = /none of ours: nothing is signed in its place/;
  await assert.rejects(chain.replacement.resign(tampered, price, never), refusal);
  await assert.rejects(chain.replacement.cancel(tampered, price, never), refusal);
  await assert.rejects(chain.replacement.fetchReplacementState(tampered, never), refusal);
  await assert.rejects(chain.replacement.resign({ ...own, nonce: 99n }, price, never), /another nonce/);
  const others = { ...own, account: host };
  await assert.rejects(chain.replacement.resign(others, price, never), /not one of this account/);
  await assert.rejects(chain.replacement.cancel(others, price, never), /not one of this account/);
  assert.equal((await chain.replacement.resign(own, price, never)).nonce, own.nonce);
});

Deno.test("evm chain: Erigon gets a price in traced calls and no more gas than the account can pay (F22)", async () => {
  const { chain, rpc } = chainOn({
    debug_traceCall: () => traceVector.succeeds.trace,
    eth_getBalance: () => "0x3b9aca00",
  }, { clientType: "Erigon" });
  const traced = (of: ScriptedRpc): string =>
    JSON.stringify(of.calls.find(({ method }) => method === "debug_traceCall")?.params[0]);
  await accepted(chain, deliveryOfPosts(1));
  assert.match(traced(rpc), /"gasPrice":"0x64"/);
  assert.match(traced(rpc), /"gas":"0x989680"/);
  const geth = chainOn({ debug_traceCall: () => traceVector.succeeds.trace });
  await accepted(geth.chain, deliveryOfPosts(1));
  assert.ok(geth.rpc.countOf("debug_traceCall") === 1 && !traced(geth.rpc).includes("gasPrice"));
});

Deno.test("evm chain: legacy without a base fee, type 2 with one; the buffer raises the maximum, not the tip", async () => {
  const { chain, rpc } = chainOn({}, { gasPriceBufferPercent: 10 });
  const legacy = await sign(chain);
  const { gasPriceWei, nonce, gasLimit, madeAtHeight } = legacy;
  assert.deepEqual([gasPriceWei, nonce, gasLimit, madeAtHeight], [110n, 5n, 200_000n, 0x100n]);
  const plain = parseTransaction(toHex(legacy.raw));
  assert.deepEqual([plain.type, plain.gasPrice, plain.nonce, plain.chainId], ["legacy", 110n, 5, 1]);
  assert.equal(plain.to?.toLowerCase(), hostVector.reads.hostParams.decoded.handler.toLowerCase());

  rpc.on("eth_getBlockByNumber", () => blockOf("0x50"));
  const typed = parseTransaction(toHex((await sign(chain)).raw));
  assert.deepEqual([typed.type, typed.maxFeePerGas, typed.maxPriorityFeePerGas], ["eip1559", 132n, 20n]);
});

Deno.test("evm chain: Polygon's node that suggests less than it takes is offered its lowest tip, which the fees have to pay", async () => {
  const lowestTipWei = 25_000_000_000n;
  const { chain } = chainOn({
    eth_chainId: () => "0x13882",
    eth_getBlockByNumber: () => blockOf("0x50"),
  }, { stateMachine: evmStateMachine(80002) });
  const { gasPriceWei } = await chain.gas.fetchGasQuote(never);
  assert.equal(gasPriceWei, 80n + lowestTipWei);
  const typed = parseTransaction(toHex((await sign(chain)).raw));
  assert.deepEqual([typed.maxFeePerGas, typed.maxPriorityFeePerGas], [100n + lowestTipWei, lowestTipWei]);
});

Deno.test("evm chain: above the price that the fees pay for nothing is signed, and no offer exceeds it", async () => {
  const { chain, rpc } = chainOn({}, { gasPriceBufferPercent: 10 });
  const signAt = async (maxGasPriceWei: bigint): Promise<unknown> => {
    const result = await trySign(chain, { maxGasPriceWei });
    return result.kind === "signed" ? result.submission.gasPriceWei : JSON.stringify(result);
  };
  assert.match(String(await signAt(99n)), /too_expensive.*gas costs 100 wei now, 99 wei may be paid/);
  assert.deepEqual([await signAt(100n), await signAt(104n), await signAt(1_000n)], [100n, 104n, 110n]);
  rpc.on("eth_getBlockByNumber", () => blockOf("0x50"));
  assert.deepEqual([await signAt(100n), await signAt(120n), await signAt(1_000n)], [100n, 120n, 132n]);
  rpc.on("eth_getBlockByNumber", () => blockOf("0x78"));
  assert.match(String(await signAt(119n)), /too_expensive/);
});

Deno.test("evm chain: the newest block is asked for beside the final one until the tag was answered; without the tag, 64 blocks below are final", async () => {
  const { chain, rpc, clock } = chainOn();
  const read = async (method: string): Promise<readonly [bigint, number]> => {
    const height = await chain.reads.fetchFinalHeight(never);
    return [height, rpc.countOf(method)];
  };
  assert.deepEqual([await read("eth_blockNumber"), await read("eth_blockNumber")], [[0xf0n, 1], [0xf0n, 1]]);
  // Behind the same URL another node answers, which does not know the tag.
  const refusal = new ScriptedError(-32602, "invalid argument 0: hex string without 0x prefix");
  rpc.on("eth_getBlockByNumber", () => refusal);
  await assert.rejects(chain.reads.fetchFinalHeight(never));
  assert.deepEqual(await read("eth_blockNumber"), [0x100n - 64n, 2]);
  assert.deepEqual(await read("eth_getBlockByNumber"), [0x100n - 64n, 4], "it is not asked again");
  rpc.on("eth_getBlockByNumber", () => ({ number: "0xf0", hash: blockHash, timestamp: "0x1" }));
  await clock.advance(10 * 60_000);
  assert.equal((await read("eth_blockNumber"))[0], 0xf0n);
});

Deno.test("evm chain: the nonces of the account are those of the further of two endpoints", async () => {
  const counts = (latest: string, pending: string): Answerer => ([, tag]) =>
    tag === "pending" ? pending : latest;
  const behind = node({ eth_getTransactionCount: counts("0x5", "0x8") });
  const ahead = node({ eth_getTransactionCount: counts("0x8", "0x8") });
  const fetchNonces = (): Promise<unknown> => chainAt([behind, ahead]).chain.replacement.fetchNonces(never);
  assert.deepEqual(await fetchNonces(), { latest: 8n, pending: 8n });
  ahead.fault = httpStatus(502);
  assert.deepEqual(await fetchNonces(), { latest: 5n, pending: 8n });
  behind.fault = httpStatus(502);
  await assert.rejects(fetchNonces(), faultWith("server_error"));
});

Deno.test("evm chain: a reverted transaction that ran out of gas says so", async () => {
  const { chain } = chainOn(minedNode({ blockNumber: "0xf8", status: "0x0", gasUsed: "0x30d40" }));
  const outcome = await chain.outcomes.fetchOutcome(await sign(chain), never);
  assert.ok(outcome.kind === "included" && !outcome.succeeded && !outcome.isFinal);
  assert.deepEqual(outcome.refusal, { code: "unspecified", detail: "ran out of gas (limit 200000)" });
});
