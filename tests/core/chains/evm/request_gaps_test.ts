/** Endpoints whose logs lack requests that the host has dispatched. */
import assert from "node:assert/strict";
import type { ChainEvent } from "../../../../src/core/chains/reads.ts";
import { findMissingRequests } from "../../../../src/core/chains/evm/request_gaps.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { catchFault } from "../../../support/rpc_faults.ts";
import { chainAt, node, requestLog, zeros } from "./scripted_node.ts";

/** Requests of the host: block by nonce. */
const blocks = [0x20, 0x21, 0x25, 0x30];

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
          ? [requestLog(nonce, block)]
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
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 1n, 2n]);
  assert.equal(requests.count, 2);
  const [warning] = log.lines.filter(({ level }) => level === "warn");
  assert.equal(warning?.event, "endpoint_data_invalid.logs");
  assert.equal(warning?.fields.endpoint, behind.host);
  assert.deepEqual([warning?.fields.first_nonce, warning?.fields.last_nonce], [0n, 2n]);
});

Deno.test("request gaps: one log that is missing in the middle is no answer, and is there when the index has caught up", async () => {
  await using rpc = indexed([1]);
  const { chain } = chainAt([rpc]);
  assert.equal((await catchFault(chain.events.fetchEvents(0x20n, 0x26n, never))).code, "lagging");
  rpc.lacks.clear();
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 1n, 2n]);
});

Deno.test("request gaps: what no endpoint reports for ten minutes is given up with its blocks and nonces, and the rest continues", async () => {
  await using rpc = indexed([1]);
  const clock = new FakeClock();
  const { chain, log } = chainAt([rpc], {}, clock);
  assert.equal((await catchFault(chain.events.fetchEvents(0x20n, 0x26n, never))).code, "lagging");
  await clock.advance(599_000);
  assert.equal((await catchFault(chain.events.fetchEvents(0x20n, 0x26n, never))).code, "lagging");
  await clock.advance(1_000);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 2n]);
  const given = log.lines.find(({ event }) => event === "messages_skipped.not_served");
  assert.deepEqual([given?.level, given?.fields.first_nonce, given?.fields.from_block], ["warn", 1n, 0x20n]);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x27n, 0x30n, never)), [3n]);
});

Deno.test("request gaps: where no endpoint keeps the state, the next request shows what was missing before, and it is read again", async () => {
  await using rpc = indexed([1, 2], 0x1000);
  const { chain } = chainAt([rpc]);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n]);
  assert.equal((await catchFault(chain.events.fetchEvents(0x27n, 0x30n, never))).code, "lagging");
  rpc.lacks.clear();
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x27n, 0x30n, never)), [0n, 1n, 2n, 3n]);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x31n, 0x40n, never)), []);
});

Deno.test("request gaps: what was missing is read again also where it shows in a later query of a read", async () => {
  await using rpc = indexed([1, 2], 0x1000);
  const { chain, log } = chainAt([rpc], { queryBatchSizeBlocks: 4 });
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n]);
  for (let turn = 0; turn < 2; turn++) {
    assert.equal((await catchFault(chain.events.fetchEvents(0x27n, 0x30n, never))).code, "lagging");
  }
  const told = log.linesOf("endpoint_data_invalid.logs_reread");
  assert.deepEqual(told.map(({ fields }) => [fields.first_nonce, fields.last_nonce]), [[1n, 2n]]);
  rpc.lacks.clear();
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x27n, 0x30n, never)), [0n, 1n, 2n, 3n]);
});

Deno.test("request gaps: a read that fails after its first query forgets nothing of what was read before", async () => {
  await using rpc = indexed([1, 2], 0x1000);
  const { chain } = chainAt([rpc], { queryBatchSizeBlocks: 4 });
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n]);
  let requests = 0;
  rpc.onBatch(() => ++requests === 2 ? { kind: "status", status: 500 } : undefined);
  assert.equal((await catchFault(chain.events.fetchEvents(0x27n, 0x2en, never))).code, "server_error");
  rpc.onBatch(() => undefined);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x27n, 0x2en, never)), []);
  assert.equal((await catchFault(chain.events.fetchEvents(0x2fn, 0x30n, never))).code, "lagging");
  rpc.lacks.clear();
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x2fn, 0x30n, never)), [0n, 1n, 2n, 3n]);
});

Deno.test("request gaps: what is not in the index yet is not given up together with what has been missing for long", async () => {
  await using rpc = indexed([1]);
  const clock = new FakeClock();
  const { chain } = chainAt([rpc], {}, clock);
  assert.equal((await catchFault(chain.events.fetchEvents(0x20n, 0x26n, never))).code, "lagging");
  await clock.advance(600_000);
  rpc.lacks.add(3);
  assert.equal((await catchFault(chain.events.fetchEvents(0x20n, 0x30n, never))).code, "lagging");
  rpc.lacks.delete(3);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x30n, never)), [0n, 2n, 3n]);
});

Deno.test("request gaps: blocks before the host was there are read like others", async () => {
  await using rpc = node({ eth_call: () => "0x" });
  assert.deepEqual(await chainAt([rpc]).chain.events.fetchEvents(1n, 0x10n, never), []);
});

Deno.test("request gaps: an index that falls behind further and further is given up an hour after its first missing request", async () => {
  const clock = new FakeClock();
  let block = 0x21;
  await using rpc = node({
    eth_blockNumber: () => "0x1000",
    eth_call: ([call, tag]) => {
      if (!JSON.stringify(call).includes(hostReads.nonce.encode())) return zeros(2);
      return `0x${Math.max(0, Number(tag) - 0x20).toString(16).padStart(64, "0")}`;
    },
  });
  const { chain, log } = chainAt([rpc], {}, clock);
  for (let minutes = 0; minutes < 60; minutes += 5, block++) {
    const read = chain.events.fetchEvents(0x21n, BigInt(block), never);
    assert.equal((await catchFault(read)).code, "lagging", `${minutes}`);
    await clock.advance(5 * 60_000);
  }
  assert.deepEqual(await chain.events.fetchEvents(0x21n, BigInt(block), never), []);
  assert.deepEqual(log.linesOf("messages_skipped.not_served").map(({ fields }) => fields.requests), [13n]);
});

Deno.test("request gaps: an endpoint that hides requests and their nonces is found out by the next range of another one", async () => {
  await using lying = indexed([1, 2]);
  lying.on("eth_call", ([, tag]) => `0x${(Number(tag) < 0x20 ? "0" : "1").padStart(64, "0")}`);
  await using complete = indexed([]);
  const { chain, log } = chainAt([lying, complete]);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n]);
  lying.onBatch(() => ({ kind: "status", status: 500 }));
  await catchFault(chain.events.fetchEvents(0x27n, 0x30n, never));
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x27n, 0x30n, never)), [0n, 1n, 2n, 3n]);
  assert.equal(log.linesOf("endpoint_data_invalid.logs_reread").length, 1);
});

type RequestCount = Parameters<typeof findMissingRequests>[0];

const all: RequestCount = { first: 5n, end: 8n, nonces: [7n, 5n, 6n], unreadable: 0 };

const cases:
  readonly (readonly [string, Partial<RequestCount>, readonly [bigint, bigint, bigint] | undefined])[] = [
    ["every request is there", {}, undefined],
    ["a log came twice", { nonces: [5n, 6n, 6n, 7n] }, undefined],
    ["the list is empty", { nonces: [] }, [3n, 5n, 7n]],
    ["one in the middle is missing", { nonces: [5n, 7n] }, [1n, 6n, 6n]],
    ["the first is missing", { nonces: [6n, 7n] }, [1n, 5n, 5n]],
    ["the last is missing", { nonces: [5n, 6n] }, [1n, 7n, 7n]],
    ["one could not be read", { nonces: [5n, 7n], unreadable: 1 }, undefined],
    ["nothing is known of the end", { end: undefined, nonces: [5n, 7n] }, [1n, 6n, 6n]],
    ["nothing is known of the start", { first: undefined, nonces: [6n] }, [1n, 7n, 7n]],
    ["nothing is known, and nothing was found", { first: undefined, end: undefined, nonces: [] }, undefined],
    ["only the start is known, and nothing was found", { end: undefined, nonces: [] }, undefined],
  ];

for (const [name, change, missing] of cases) {
  Deno.test(`request gaps, by nonces: ${name}`, () => {
    const [count, from, to] = missing ?? [];
    const expected = missing === undefined ? undefined : { count, from, to };
    assert.deepEqual(findMissingRequests({ ...all, ...change }), expected);
  });
}
