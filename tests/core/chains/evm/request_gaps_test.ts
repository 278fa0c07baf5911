/** Endpoints whose logs lack requests that the host has dispatched. */
import assert from "node:assert/strict";
import { encodeAbiParameters, pad } from "viem";
import type { ChainEvent } from "../../../../src/core/chains/chain.ts";
import { hostEventTopics } from "../../../../src/core/protocol/evm/host_abi.ts";
import { hostReads } from "../../../../src/core/protocol/evm/host_reads.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { faultOf, never } from "./chain_fixture.ts";
import { blockHash, chainAt, host, node, zeros } from "./scripted_node.ts";

/** Requests of the host: block by nonce. */
const blocks = [0x20, 0x21, 0x25, 0x30];

function requestLog(nonce: number): Record<string, unknown> {
  const block = blocks[nonce] ?? 0;
  const types = ["string", "string", "bytes", "uint256", "uint256", "bytes", "uint256"];
  return {
    address: host,
    topics: [hostEventTopics.PostRequestEvent, pad("0xaa", { size: 32 })],
    data: encodeAbiParameters(types.map((type) => ({ type })), [
      "EVM-1",
      "EVM-2",
      "0xbb",
      BigInt(nonce),
      0n,
      "0x",
      0n,
    ]),
    blockNumber: `0x${block.toString(16)}`,
    transactionHash: blockHash,
    logIndex: "0x0",
  };
}

/** A node whose index lacks some requests; states below `statesFrom` are pruned. */
function indexed(lacks: readonly number[], statesFrom = 0): ScriptedRpc & { lacks: Set<number> } {
  const missing = new Set(lacks);
  const rpc = node({
    eth_call: ([call, tag]) => {
      if (!JSON.stringify(call).includes(hostReads.nonce.encode())) return zeros(2);
      const height = Number(tag);
      if (height < statesFrom) return new ScriptedError(-32000, "missing trie node");
      const nonce = blocks.filter((block) => block <= height).length;
      return `0x${nonce.toString(16).padStart(64, "0")}`;
    },
    eth_getLogs: ([filter]) => {
      const text = JSON.stringify(filter);
      const read = (field: string): number =>
        Number(new RegExp(`"${field}":"(0x[0-9a-f]+)"`).exec(text)?.[1]);
      return blocks.flatMap((block, nonce) =>
        block >= read("fromBlock") && block <= read("toBlock") && !missing.has(nonce)
          ? [requestLog(nonce)]
          : []
      );
    },
  });
  return Object.assign(rpc, { lacks: missing });
}

const noncesOf = (events: readonly ChainEvent[]): readonly bigint[] =>
  events.flatMap((event) =>
    event.kind === "message" && event.message.kind === "post" ? [event.message.request.nonce] : []
  );

Deno.test("request gaps: an endpoint that answers with an empty list is named and another one is asked", async () => {
  await using behind = indexed([0, 1, 2, 3]);
  await using complete = indexed([]);
  const { chain, log, requests } = chainAt([behind, complete]);
  assert.deepEqual(noncesOf(await chain.fetchEvents(0x20n, 0x26n, never)), [0n, 1n, 2n]);
  assert.equal(requests.count, 2);
  const [warning] = log.lines.filter(({ level }) => level === "warn");
  assert.match(warning?.message ?? "", /Logs of the host are missing/);
  assert.equal(warning?.fields.endpoint, behind.host);
  assert.deepEqual([warning?.fields.first_nonce, warning?.fields.last_nonce], [0n, 2n]);
});

Deno.test("request gaps: one log that is missing in the middle is no answer, and is there when the index has caught up", async () => {
  await using rpc = indexed([1]);
  const { chain } = chainAt([rpc]);
  assert.equal((await faultOf(chain.fetchEvents(0x20n, 0x26n, never))).code, "lagging");
  rpc.lacks.clear();
  assert.deepEqual(noncesOf(await chain.fetchEvents(0x20n, 0x26n, never)), [0n, 1n, 2n]);
});

Deno.test("request gaps: what nobody tells of for ten minutes is given up with its blocks and nonces, and the rest goes on", async () => {
  await using rpc = indexed([1]);
  const clock = new FakeClock();
  const { chain, log } = chainAt([rpc], {}, clock);
  assert.equal((await faultOf(chain.fetchEvents(0x20n, 0x26n, never))).code, "lagging");
  await clock.advance(599_000);
  assert.equal((await faultOf(chain.fetchEvents(0x20n, 0x26n, never))).code, "lagging");
  await clock.advance(1_000);
  assert.deepEqual(noncesOf(await chain.fetchEvents(0x20n, 0x26n, never)), [0n, 2n]);
  const given = log.lines.find(({ message }) => message.includes("given up"));
  assert.deepEqual([given?.level, given?.fields.first_nonce, given?.fields.from_block], ["warn", 1n, 0x20n]);
  assert.deepEqual(noncesOf(await chain.fetchEvents(0x27n, 0x30n, never)), [3n]);
});

Deno.test("request gaps: where nobody keeps the state, the next request shows what was missing before, and it is read again", async () => {
  await using rpc = indexed([1, 2], 0x1000);
  const { chain } = chainAt([rpc]);
  assert.deepEqual(noncesOf(await chain.fetchEvents(0x20n, 0x26n, never)), [0n]);
  assert.equal((await faultOf(chain.fetchEvents(0x27n, 0x30n, never))).code, "lagging");
  rpc.lacks.clear();
  assert.deepEqual(noncesOf(await chain.fetchEvents(0x27n, 0x30n, never)), [0n, 1n, 2n, 3n]);
  assert.deepEqual(noncesOf(await chain.fetchEvents(0x31n, 0x40n, never)), []);
});

Deno.test("request gaps: blocks before the host was there are read like others", async () => {
  await using rpc = node({ eth_call: () => "0x" });
  assert.deepEqual(await chainAt([rpc]).chain.fetchEvents(1n, 0x10n, never), []);
});
