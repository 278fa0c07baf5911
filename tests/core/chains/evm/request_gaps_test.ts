/** Endpoints whose logs lack requests that the host has dispatched. */
import assert from "node:assert/strict";
import { findMissingRequests } from "../../../../src/core/chains/evm/log_reader.ts";
import type { ChainEvent } from "../../../../src/core/chains/reads.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { faultWith } from "../../../support/rpc_faults.ts";
import { ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { chainAt, chainOn, node, requestLog, zeros } from "./scripted_node.ts";

/** Requests of the host: block by nonce. */
const blocks = [0x20, 0x21, 0x25, 0x30];

/** A node whose index lacks some requests, and which has no states of some blocks. */
function indexed(
  lacks: readonly number[],
  isGone = (_height: number): boolean => false,
): ScriptedRpc & { lacks: Set<number> } {
  const missing = new Set(lacks);
  const rpc = node({
    eth_call: ([call, tag]) => {
      if (!JSON.stringify(call).includes(hostReads.nonce.encode())) return zeros(2);
      const height = Number(tag);
      if (isGone(height)) return new ScriptedError(-32000, "missing trie node");
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
  const behind = indexed([0, 1, 2, 3]);
  const complete = indexed([]);
  const { chain, log, requests } = chainAt([behind, complete]);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 1n, 2n]);
  assert.equal(requests.count, 2);
  const [warning] = log.lines.filter(({ level }) => level === "warn");
  assert.equal(warning?.event, "endpoint_data_invalid.logs");
  assert.equal(warning?.fields.endpoint, behind.host);
  assert.deepEqual([warning?.fields.first_nonce, warning?.fields.last_nonce], [0n, 2n]);
});

for (const statesFrom of [0, 0x1000]) {
  Deno.test(`request gaps: one log that is missing in the middle is no answer, with states from block ${statesFrom}, and is there when the index has caught up`, async () => {
    const rpc = indexed([1], (height) => height < statesFrom);
    const { chain } = chainAt([rpc]);
    await assert.rejects(chain.events.fetchEvents(0x20n, 0x26n, never), faultWith("lagging"));
    rpc.lacks.clear();
    assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 1n, 2n]);
  });
}

Deno.test("request gaps: what no endpoint reports for half an hour is given up with its blocks and nonces, and the rest continues", async () => {
  const { chain, log, clock } = chainOn(indexed([1]));
  await assert.rejects(chain.events.fetchEvents(0x20n, 0x26n, never), faultWith("lagging"));
  await clock.advance(1_799_000);
  await assert.rejects(chain.events.fetchEvents(0x20n, 0x26n, never), faultWith("lagging"));
  await clock.advance(1_000);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 2n]);
  const given = log.lines.find(({ event }) => event === "messages_skipped.not_served");
  assert.deepEqual([given?.level, given?.fields.first_nonce, given?.fields.from_block], ["warn", 1n, 0x20n]);
  assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x27n, 0x30n, never)), [3n]);
});

Deno.test("request gaps: what one endpoint lacks and another one has is never given up", async () => {
  const behind = indexed([1]);
  const complete = indexed([]);
  const clock = new FakeClock();
  const { chain, log } = chainAt([behind, complete], {}, clock);
  for (let turn = 0; turn < 3; turn++) {
    assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 1n, 2n]);
    await clock.advance(3_600_000);
  }
  assert.deepEqual(log.linesOf("messages_skipped.not_served"), []);
});

for (const unreached of [0x1f, 0x26]) {
  Deno.test(`request gaps: a node without block ${unreached} yet, behind the URL of one that is ahead, is no witness`, async () => {
    const split = indexed([0, 1, 2, 3], (height) => height === unreached);
    split.on("eth_blockNumber", () => "0x40");
    await assert.rejects(chainAt([split]).chain.events.fetchEvents(0x20n, 0x26n, never), faultWith("pruned"));
    const { chain } = chainAt([split, indexed([])]);
    assert.deepEqual(noncesOf(await chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 1n, 2n]);
  });
}

Deno.test("request gaps: a log that cannot be read stands for its nonce", async () => {
  const rpc = indexed([]);
  rpc.on(
    "eth_getLogs",
    () => [requestLog(0, 0x20), { ...requestLog(1, 0x21), data: "0x" }, requestLog(2, 0x25)],
  );
  assert.deepEqual(noncesOf(await chainAt([rpc]).chain.events.fetchEvents(0x20n, 0x26n, never)), [0n, 2n]);
});

Deno.test("request gaps: blocks before the host was there are read like others", async () => {
  const rpc = node({ eth_call: () => "0x" });
  assert.deepEqual(await chainAt([rpc]).chain.events.fetchEvents(1n, 0x10n, never), []);
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
