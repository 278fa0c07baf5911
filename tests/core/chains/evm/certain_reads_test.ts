/** Reads that may end a message, at endpoints that are behind, disagree, or do not answer. */
import assert from "node:assert/strict";
import type { Certain } from "../../../../src/core/chains/reads.ts";
import { fromHex } from "../../../../src/core/encoding/bytes.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { type Answerer, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { blockHash, chainAt, node, post, zeros } from "./scripted_node.ts";

const relayer = "ab".repeat(20);
const receipt = `0x${relayer.padStart(64, "0")}`;

/** A node at a height and time whose host answers every read with `word`. */
function nodeAt(height: number, timeSec: number, word: string): ScriptedRpc {
  const call: Answerer = ([, tag]) =>
    tag !== "latest" && Number(tag) > height ? new ScriptedError(-32000, "header not found") : word;
  return node({
    eth_blockNumber: () => `0x${height.toString(16)}`,
    eth_getBlockByNumber: () => ({
      number: `0x${height.toString(16)}`,
      hash: blockHash,
      timestamp: `0x${timeSec.toString(16)}`,
    }),
    eth_call: call,
  });
}

const certain = <T>(value: T): Certain<T> => ({ kind: "certain", value });
const unsure = { kind: "unsure" } as const;

Deno.test("certain reads: a node that has not reached the block has no say, alone or beside one that has", async () => {
  await using behind = nodeAt(0x10, 100, zeros(2));
  await using ahead = nodeAt(0x30, 500, receipt);
  const since = { height: 0x20n };
  assert.deepEqual(await chainAt([behind]).chain.certain.fetchCertainReceipts([post(1n)], since, never), [
    unsure,
  ]);
  const both = chainAt([behind, ahead]).chain;
  assert.deepEqual(await both.certain.fetchCertainReceipts([post(1n)], since, never), [
    certain(fromHex(relayer)),
  ]);
});

Deno.test("certain reads: a node whose clock is before the timeout is no evidence that the message was not delivered", async () => {
  await using early = nodeAt(0x30, 100, zeros(2));
  const { chain } = chainAt([early]);
  assert.deepEqual(await chain.certain.fetchCertainReceipts([post(1n)], { timeSec: 101n }, never), [unsure]);
  assert.deepEqual(await chain.certain.fetchCertainReceipts([post(1n)], { timeSec: 100n }, never), [
    certain(undefined),
  ]);
});

Deno.test("certain reads: a node whose clock is far ahead ends no message while one with the right time is there", async () => {
  const clock = new FakeClock();
  const nowSec = Math.floor(clock.now() / 1_000);
  await using ahead = nodeAt(0x30, nowSec + 10 ** 7, zeros(2));
  await using right = nodeAt(0x30, nowSec, zeros(2));
  const past = (seconds: number): Promise<readonly Certain<unknown>[]> => {
    const { certain } = chainAt([ahead, right], {}, clock).chain;
    return certain.fetchCertainReceipts([post(1n)], { timeSec: BigInt(nowSec + seconds) }, never);
  };
  assert.deepEqual([await past(0), await past(1)], [[certain(undefined)], [unsure]]);
  // Alone, it ends none that our own clock leaves time.
  const alone = chainAt([ahead], {}, clock).chain.certain;
  const inAnHour = { timeSec: BigInt(nowSec + 3_600) };
  assert.deepEqual(await alone.fetchCertainReceipts([post(1n)], inAnHour, never), [unsure]);
  // One that stands still says nothing about the time.
  await clock.advance(700_000);
  assert.deepEqual(await past(1), [certain(undefined)]);
});

Deno.test("certain reads: two endpoints are asked at a block that both have, and must agree", async () => {
  await using one = nodeAt(0x30, 500, zeros(2));
  await using two = nodeAt(0x2e, 490, receipt);
  await using three = nodeAt(0x2f, 495, zeros(2));
  const disagreeing = chainAt([one, two, three]).chain;
  assert.deepEqual(await disagreeing.certain.fetchCertainReceipts([post(1n)], {}, never), [unsure]);
  const tags = [one, two].map((rpc) => rpc.calls.find(({ method }) => method === "eth_call")?.params[1]);
  assert.deepEqual(tags, ["0x2e", "0x2e"]);
  assert.equal(three.requests.length, 0);
  const agreeing = chainAt([one, three]).chain;
  assert.deepEqual(await agreeing.certain.fetchCertainReceipts([post(1n)], {}, never), [certain(undefined)]);
});

Deno.test("certain reads: an endpoint that does not answer leaves its say to the others; with none nothing is certain", async () => {
  await using dead = nodeAt(0x30, 500, zeros(2));
  await using alive = nodeAt(0x30, 500, zeros(2));
  dead.failAlways({ kind: "status", status: 502 });
  const since = { height: 0x20n };
  const commitments = [post(1n).commitment];
  assert.deepEqual(await chainAt([dead, alive]).chain.certain.fetchCertainFees(commitments, since, never), [
    certain(undefined),
  ]);
  assert.deepEqual(await chainAt([dead]).chain.certain.fetchCertainFees(commitments, since, never), [unsure]);
});

Deno.test("certain reads: behind one URL a node that is behind refuses the block by its number, so nothing ends", async () => {
  await using mixed = nodeAt(0x30, 500, zeros(2));
  mixed.on("eth_call", () => new ScriptedError(-32000, "header not found"));
  const { chain } = chainAt([mixed]);
  assert.deepEqual(await chain.certain.fetchCertainFees([post(1n).commitment], { height: 0x20n }, never), [
    unsure,
  ]);
});

Deno.test("certain reads: behind one URL the values that a node refused are asked for again, the others are kept", async () => {
  await using mixed = nodeAt(0x30, 500, receipt);
  mixed.runsBundles = false;
  let asked = 0;
  mixed.on("eth_call", () => ++asked % 3 === 1 ? receipt : new ScriptedError(-32000, "header not found"));
  const { chain } = chainAt([mixed]);
  const messages = [post(1n), post(2n), post(3n)];
  const told = await chain.certain.fetchCertainReceipts(messages, { height: 0x20n }, never);
  assert.deepEqual(told, messages.map(() => certain(fromHex(relayer))));
  assert.equal(asked, 3 + 2 + 1 + 1);
});

Deno.test("certain reads: behind one URL a bundle that a node which is behind refused is asked for again", async () => {
  await using mixed = nodeAt(0x30, 500, receipt);
  let bundles = 0;
  mixed.onBatch((calls) => {
    const isBehind = calls.some(({ method }) => method === "eth_call") && ++bundles < 3;
    return isBehind ? { kind: "error", error: new ScriptedError(-32000, "header not found") } : undefined;
  });
  const { chain } = chainAt([mixed]);
  const messages = [post(1n), post(2n), post(3n)];
  const told = await chain.certain.fetchCertainReceipts(messages, { height: 0x20n }, never);
  assert.deepEqual(told, messages.map(() => certain(fromHex(relayer))));
  assert.equal(mixed.calls.filter(({ method }) => method === "eth_call").length, 3);
});
