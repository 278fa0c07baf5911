/** Reads that may end a message, at endpoints that are behind, disagree, or do not answer. */
import assert from "node:assert/strict";
import type { Certain } from "../../../../src/core/chains/reads.ts";
import { fromHex } from "../../../../src/core/encoding/bytes.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { type Answerer, httpStatus, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
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
const delivered = certain(fromHex(relayer));
const none = certain(undefined);
const FAR = 10 ** 7;

/** Height, seconds from now and answer of a node; `undefined`: it does not answer. */
type NodePlan = readonly [height: number, atSec: number, word: string] | undefined;

/** Per row: the nodes, minimum height and seconds from now, and the receipt that is read, also after 700 s. */
const rows: readonly (readonly [
  string,
  readonly NodePlan[],
  { readonly height?: bigint; readonly atSec?: number },
  Certain<unknown>,
  Certain<unknown>?,
])[] = [
  ["a node that has not reached the block has no say", [[0x10, 0, zeros(2)]], { height: 0x20n }, unsure],
  ["nor beside one that has", [[0x10, 0, zeros(2)], [0x30, 0, receipt]], { height: 0x20n }, delivered],
  [
    "a node whose clock is before the timeout is no evidence",
    [[0x30, -2_000, zeros(2)]],
    { atSec: -1_999 },
    unsure,
  ],
  ["one whose clock is at the timeout is", [[0x30, -2_000, zeros(2)]], { atSec: -2_000 }, none],
  ["a clock far ahead, beside a right one", [[0x30, FAR, zeros(2)], [0x30, 0, zeros(2)]], { atSec: 0 }, none],
  [
    "a clock far ahead ends nothing while a right one is not there, until that stands still",
    [[0x30, FAR, zeros(2)], [0x30, 0, zeros(2)]],
    { atSec: 1 },
    unsure,
    none,
  ],
  ["alone, it ends none that our own clock leaves time", [[0x30, FAR, zeros(2)]], { atSec: 3_600 }, unsure],
  [
    "two that name different relayers",
    [[0x30, 0, receipt], [0x2f, 0, receipt.replace(/ab$/, "cd")]],
    {},
    unsure,
  ],
  ["two that agree", [[0x30, 0, zeros(2)], [0x2f, 0, zeros(2)]], {}, none],
  ["one that does not answer leaves its say to the other", [undefined, [0x30, 0, zeros(2)]], {
    height: 0x20n,
  }, none],
  ["none that answers", [undefined], { height: 0x20n }, unsure],
];

for (const [what, plans, { height, atSec }, expected, later = expected] of rows) {
  Deno.test(`certain reads: ${what}`, async () => {
    const clock = new FakeClock();
    const nowSec = Math.floor(clock.now() / 1_000);
    const nodes = plans.map((plan) => {
      if (plan === undefined) return Object.assign(node(), { fault: httpStatus(502) });
      const [height, atSec, word] = plan;
      return nodeAt(height, nowSec + atSec, word);
    });
    const { chain } = chainAt(nodes, {}, clock);
    const since = { height, timeSec: atSec === undefined ? undefined : BigInt(nowSec + atSec) };
    assert.deepEqual(await chain.certain.fetchCertainReceipts([post(1n)], since, never), [expected]);
    await clock.advance(700_000);
    assert.deepEqual(await chain.certain.fetchCertainReceipts([post(1n)], since, never), [later]);
  });
}

Deno.test("certain reads: two endpoints are asked at a block that both have, and must agree", async () => {
  const one = nodeAt(0x30, 500, zeros(2));
  const two = nodeAt(0x2e, 490, receipt);
  const three = nodeAt(0x2f, 495, zeros(2));
  const { certain: reads } = chainAt([one, two, three]).chain;
  assert.deepEqual(await reads.fetchCertainReceipts([post(1n)], {}, never), [unsure]);
  const tags = [one, two].map((rpc) => rpc.calls.find(({ method }) => method === "eth_call")?.params[1]);
  assert.deepEqual([tags, three.requests.length], [["0x2e", "0x2e"], 0]);
});

Deno.test("certain reads: behind one URL a node that is behind refuses the block by its number, so nothing ends", async () => {
  const mixed = nodeAt(0x30, 500, zeros(2));
  mixed.on("eth_call", () => new ScriptedError(-32000, "header not found"));
  const { chain } = chainAt([mixed]);
  assert.deepEqual(await chain.certain.fetchCertainFees([post(1n).commitment], { height: 0x20n }, never), [
    unsure,
  ]);
});

for (
  const [what, runsBundles, isRefused, answered] of [
    [
      "the values that a node refused are asked for again, the others are kept",
      false,
      (at: number) => at % 3 !== 1,
      1 + 3 + 2 + 1 + 1, // the bundle, then what is left of them
    ],
    ["a bundle that a node which is behind refused is asked for again", true, (at: number) => at <= 6, 3],
  ] as const
) {
  Deno.test(`certain reads: behind one URL ${what}`, async () => {
    const mixed = nodeAt(0x30, 500, receipt);
    mixed.runsBundles = runsBundles;
    let asked = 0;
    mixed.on("eth_call", () => isRefused(++asked) ? new ScriptedError(-32000, "header not found") : receipt);
    const messages = [post(1n), post(2n), post(3n)];
    const { certain: reads } = chainAt([mixed]).chain;
    const told = await reads.fetchCertainReceipts(messages, { height: 0x20n }, never);
    assert.deepEqual(told, messages.map(() => delivered));
    assert.equal(mixed.countOf("eth_call"), answered);
  });
}
