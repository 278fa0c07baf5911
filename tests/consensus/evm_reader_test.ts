// Reads of execution chains: what is checked while the endpoint is known, and what happens when it is not good.
import assert from "node:assert/strict";
import { createTestClient, http, numberToHex } from "viem";
import { openEvmReader } from "../../src/consensus/evm_reader.ts";
import { EndpointUrl } from "../../src/core/config/redact.ts";
import { toHash256 } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { evmStateMachine } from "../../src/core/ismp/state_machine.ts";
import { type Fetch } from "../../src/core/rpc/http_exchange.ts";
import { platformFetch } from "../../src/core/rpc/http.ts";
import { evmBlockHeaderCodec, parseHashedBlock } from "../../src/core/evm/block_header.ts";
import { reportFailedPoll } from "../../src/consensus/poll_loop.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { type Anvil, startAnvil } from "../../devnet/evm/anvil.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { ScriptedError, scriptedFetch, ScriptedRpc } from "../support/scripted_rpc.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { never, readerOf } from "./rollup/fixture.ts";
import { readAmsterdamBlocks } from "./clients/sync_committee/spec/vectors.ts";
import { catchFault } from "../support/rpc_faults.ts";

const account = toAddress(DEVNET_ACCOUNTS.deployer.address);
const contract = toAddress(`0x${"c0".repeat(20)}`);
const zeroSlot = toHash256(numberToHex(0, { size: 32 }));
const oneSlot = toHash256(numberToHex(1, { size: 32 }));

/** A node with a contract whose slot 0 holds 7, and which answers calls with 32 bytes of that slot. */
async function withNode(work: (node: Anvil) => Promise<void>): Promise<void> {
  await using node = await startAnvil({ chainId: 31337 });
  const client = createTestClient({ mode: "anvil", transport: http(node.rpcUrl) });
  // PUSH0 SLOAD PUSH0 MSTORE PUSH1 32 PUSH0 RETURN
  await client.setCode({ address: contract, bytecode: "0x5f545f5260205ff3" });
  await client.setStorageAt({ address: contract, index: 0, value: numberToHex(7, { size: 32 }) });
  await client.mine({ blocks: 3 });
  await work(node);
}

Deno.test("evm reader: headers by number, hash and name are one block, and missing ones are reported", async () => {
  await withNode(async (node) => {
    const reader = readerOf(31337, [node.rpcUrl], new RecordedLog());
    assert.equal(await reader.fetchHeight(never), 3n);
    const [byNumber, latest] = await reader.fetchHeaders([3n, "latest"], never);
    assert.ok(byNumber);
    assert.deepEqual(latest, byNumber);
    assert.deepEqual(await reader.fetchHeader(byNumber.hash, never), byNumber);
    assert.equal(await reader.fetchHeader(4n, never), undefined);
    assert.equal(await reader.fetchHeader(oneSlot, never), undefined);
    const fault = await catchFault(reader.fetchHeaders([2n, 4n], never));
    assert.deepEqual([fault.code, fault.detail], ["lagging", "no block 4"]);
    assert.equal(fault.where.endpointHost, new URL(node.rpcUrl).host);
    assert.deepEqual((await reader.fetchChainIds(never)).map(({ id }) => id), [31337n]);
    // Neither is missing what one endpoint lacks while another, which may have it, does not answer.
    const half = readerOf(31337, [node.rpcUrl, "http://127.0.0.1:1"], new RecordedLog());
    assert.equal((await catchFault(half.fetchHeader(4n, never))).code, "unreachable");
  });
});

Deno.test("evm reader: calls and proofs come in one request each, and a revert is an answer", async () => {
  await withNode(async (node) => {
    const requests: string[] = [];
    const reader = readerOf(31337, [node.rpcUrl], new RecordedLog(), (url, init) => {
      requests.push(String(init.body));
      return platformFetch(url, init);
    });
    const latest = await reader.fetchHeader("latest", never);
    assert.ok(latest);
    requests.length = 0;
    assert.deepEqual(
      await reader.fetchCalls([{ to: contract, data: "0x" }, { to: account, data: "0x1234" }], never),
      [numberToHex(7, { size: 32 }), "0x"],
    );
    assert.equal(requests.length, 1);
    const block = { height: 3n, stateRoot: latest.header.stateRoot };
    const [proof, absent] = await reader.fetchProofs(
      [
        { account: contract, slots: [zeroSlot, oneSlot] },
        { account: toAddress(`0x${"ab".repeat(20)}`), slots: [] },
      ],
      block,
      never,
    );
    assert.equal(requests.length, 2);
    assert.equal(proof?.storageProof.length, 2);
    assert.ok((absent?.accountProof.length ?? 0) > 0);
    const words = { account: contract, slots: [zeroSlot, oneSlot] };
    assert.deepEqual(await reader.fetchProvenWords(words, block, never), [
      numberToHex(7, { size: 32 }),
      undefined,
    ]);
    const ofNobody = { ...words, account: toAddress(`0x${"ab".repeat(20)}`) };
    assert.deepEqual(await reader.fetchProvenWords(ofNobody, block, never), [undefined, undefined]);
    const wrong = await catchFault(
      reader.fetchProofs([{ account: contract, slots: [zeroSlot] }], { ...block, stateRoot: oneSlot }, never),
    );
    assert.equal(wrong.code, "malformed");
    assert.match(wrong.detail ?? "", /the proof of block 3 does not verify: invalid_account_proof/);
    const client = createTestClient({ mode: "anvil", transport: http(node.rpcUrl) });
    // PUSH0 PUSH0 REVERT
    await client.setCode({ address: contract, bytecode: "0x5f5ffd" });
    assert.deepEqual(await reader.fetchCalls([{ to: contract, data: "0x" }], never), [undefined]);
    assert.deepEqual(await reader.fetchCalls([], never), []);
  });
});

Deno.test("evm reader: a reader held to a block refuses endpoints that have another one there", async () => {
  await withNode(async (node) => {
    const reader = readerOf(31337, [node.rpcUrl], new RecordedLog());
    const [third] = await reader.fetchHeaders([3n], never);
    assert.ok(third);
    const calls = [{ to: contract, data: "0x" as const }];
    const good = reader.heldTo({ height: 3n, stateRoot: third.header.stateRoot });
    assert.equal((await good.fetchCalls(calls, never)).length, 1);
    assert.deepEqual(
      await good.fetchLogs({ address: contract, topics: [zeroSlot] }, { from: 0n, to: 3n }, never),
      [],
    );
    const fault = await catchFault(
      reader.heldTo({ height: 3n, stateRoot: oneSlot }).fetchCalls(calls, never),
    );
    assert.equal(fault.code, "wrong_chain");
    assert.match(fault.detail ?? "", /the endpoint is on another chain or fork/);
  });
});

Deno.test("evm reader: a range of logs that is too wide is split, and an endpoint below its end is lagging", async () => {
  const node = new ScriptedRpc({
    eth_chainId: () => "0x7a69",
    eth_blockNumber: () => "0x64",
    eth_getLogs: ([filter]) => {
      const { fromBlock, toBlock } = Object(filter);
      const [from, to] = [Number(fromBlock), Number(toBlock)];
      if (to - from >= 30) return new ScriptedError(-32005, "block range is too wide");
      return [{
        address: contract,
        topics: [zeroSlot],
        data: "0x",
        blockNumber: fromBlock,
        transactionHash: oneSlot,
        logIndex: "0x0",
        removed: false,
      }];
    },
  });
  const reader = openEvmReader({
    fetch: scriptedFetch,
    clock: systemClock,
    randomness: seededRandomness(1),
    log: new RecordedLog(),
  }, { stateMachine: evmStateMachine(31337), urls: [new EndpointUrl(node.url)], blocksPerLogQuery: 50n });
  const filter = { address: contract, topics: [zeroSlot] };
  const logs = await reader.fetchLogs(filter, { from: 1n, to: 100n }, never);
  assert.deepEqual(logs.map(({ blockNumber }) => blockNumber), [1n, 26n, 51n, 76n]);
  const fault = await catchFault(reader.fetchLogs(filter, { from: 90n, to: 101n }, never));
  assert.equal(fault.code, "lagging");
});

Deno.test("evm reader: a header that is not what its hash says sends the question to the next endpoint", async () => {
  await withNode(async (node) => {
    const response = await fetch(node.rpcUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber", params: ["0x3", false] }),
    });
    const { result } = await response.json();
    const liar = new ScriptedRpc({
      eth_chainId: () => "0x7a69",
      eth_getBlockByNumber: () => ({ ...result, gasUsed: "0x1" }),
    });
    const other = new ScriptedRpc({ eth_chainId: () => "0x7a69", eth_getBlockByNumber: () => result });
    const alone = readerOf(31337, [liar.url], new RecordedLog());
    const fault = await catchFault(alone.fetchHeader(3n, never));
    assert.deepEqual([fault.code, fault.where.endpointHost], ["malformed", liar.host]);
    const both = readerOf(31337, [liar.url, node.rpcUrl], new RecordedLog());
    assert.equal((await both.fetchHeader(3n, never))?.hash, result.hash);
    // Another block than the one that was asked for.
    const confused = await catchFault(readerOf(31337, [other.url], new RecordedLog()).fetchHeader(2n, never));
    assert.match(confused.detail ?? "", /not the requested block/);
  });
});

/** Answers every request with this block. */
function nodeWithBlock(block: unknown): Fetch {
  return (_url, { body }) => {
    const asked: unknown = JSON.parse(String(body));
    const one = (call: unknown) => {
      const { id, method } = Object(call);
      return { jsonrpc: "2.0", id, result: method === "eth_chainId" ? "0xaa36a7" : block };
    };
    return Promise.resolve(Response.json(Array.isArray(asked) ? asked.map(one) : one(asked)));
  };
}

Deno.test("evm reader: blocks of Amsterdam are read, one of a later fork is no fault of its node", async () => {
  const urls = ["http://a.test", "http://b.test"];
  const { amsterdam } = readAmsterdamBlocks();
  const reader = readerOf(11155111, urls, new RecordedLog(), nodeWithBlock(amsterdam));
  assert.equal((await reader.fetchHeader(192n, never))?.header.slotNumber, 192n);
  const log = new RecordedLog();
  const later = { ...Object(amsterdam), slotNumber: "0xc1", inclusionListRoot: `0x${"12".repeat(32)}` };
  const newer = readerOf(11155111, urls, log, nodeWithBlock(later));
  for (let round = 0; round < 3; round++) {
    const fault = await catchFault(newer.fetchHeader(192n, never));
    assert.equal(fault.code, "refused");
    assert.match(String(fault.detail), /refused/);
  }
  assert.ok(!JSON.stringify(log.lines.map(({ event }) => event)).includes("malformed"));
});

Deno.test("poll fault: a header that the hub has no place for is named, and the chain looked at again later", () => {
  const log = new RecordedLog();
  const { header } = parseHashedBlock(readAmsterdamBlocks().amsterdam);
  const encode = (): unknown => evmBlockHeaderCodec.enc(header);
  assert.throws(encode, (error) => {
    assert.equal(reportFailedPoll(log, error, 0).kind, "suspended");
    return true;
  });
  assert.deepEqual(log.events("error"), ["client_unusable.header_unknown"]);
});
