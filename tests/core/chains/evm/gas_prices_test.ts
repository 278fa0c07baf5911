import assert from "node:assert/strict";
import { parseTransaction } from "viem";
import { boundPrice, type PriceFacts } from "../../../../src/core/chains/evm/gas_prices.ts";
import { defaultMaximumPrice } from "../../../../src/core/chains/evm/gas.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import type { Answerer } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { blockHash, chainAt, chainOn, node, sign, trySign } from "./scripted_node.ts";

const gwei = 10n ** 9n;
const minuteMs = 60_000;
const nowMs = 1_000 * minuteMs;

const facts: PriceFacts = {
  namedWei: 30n * gwei,
  lowestTipWei: 0n,
  history: { baseFeeWei: 20n * gwei, tipWei: 2n * gwei },
  otherWei: undefined,
  accepted: undefined,
  nowMs,
};

const accepted = (wei: bigint, minutes: number): Pick<PriceFacts, "accepted"> => ({
  accepted: { wei, atMs: nowMs - minutes * minuteMs },
});

const rows: readonly [string, Partial<PriceFacts>, readonly [bigint, string | undefined]][] = [
  ["the fee history supports up to twice base fee and tip", { namedWei: 44n * gwei }, [44n, undefined]],
  ["more than that is not offered", { namedWei: 45n * gwei }, [44n, "fee history"]],
  [
    "an idle chain's tip is Geth's",
    { namedWei: 42n * gwei, history: { baseFeeWei: 20n * gwei, tipWei: undefined } },
    [42n, undefined],
  ],
  [
    "nodes of a chain with a lowest tip name it",
    { namedWei: 90n * gwei, lowestTipWei: 25n * gwei },
    [90n, undefined],
  ],
  [
    "blocks without a base fee and without transactions show no price",
    { history: { baseFeeWei: 0n, tipWei: undefined } },
    [30n, undefined],
  ],
  ["without a history, and alone, the first price counts", { history: undefined }, [30n, undefined]],
  ["another endpoint contradicts", { history: undefined, otherWei: 10n * gwei }, [20n, "other endpoint"]],
  [
    "a rise that another endpoint sees is followed at once",
    { otherWei: 29n * gwei, ...accepted(gwei, 1) },
    [30n, undefined],
  ],
  [
    "a fall that another endpoint sees is followed at once",
    { otherWei: 31n * gwei, ...accepted(100n * gwei, 1) },
    [30n, undefined],
  ],
  [
    "a price far below another endpoint's counts as that one's",
    { namedWei: 0n, otherWei: 10n * gwei },
    [10n, "other endpoint"],
  ],
  [
    "another endpoint that names next to nothing moves no price that both named before",
    { otherWei: 1n, ...accepted(20n * gwei, 1) },
    [30n, undefined],
  ],
  ["one that nobody else sees is not", accepted(gwei, 1), [2n, "last price"]],
];

for (const [what, changed, [offeredGwei, against]] of rows) {
  Deno.test(`gas prices: ${what}`, () => {
    const bounded = boundPrice({ ...facts, ...changed });
    assert.deepEqual([bounded.wei, bounded.against], [offeredGwei * gwei, against]);
  });
}

Deno.test("gas prices: one node alone doubles the price once in ten minutes, so that an outlier ends as it began", () => {
  let { accepted: last } = boundPrice({ ...facts, namedWei: gwei, history: undefined });
  const offers: bigint[] = [];
  for (let minute = 1; minute <= 25; minute++) {
    const named = { namedWei: 1_000n * gwei, history: undefined, nowMs: nowMs + minute * minuteMs };
    const bounded = boundPrice({ ...facts, ...named, accepted: last });
    last = bounded.accepted;
    offers.push(bounded.wei / gwei);
  }
  assert.deepEqual([0, 8, 9, 10, 19, 20].map((at) => offers[at]), [2n, 2n, 2n, 4n, 4n, 8n]);
});

/** What is offered reading by reading, in gwei, from an accepted price on; each reading a minute after the one before. */
function offersOf(
  readings: readonly Pick<PriceFacts, "namedWei" | "otherWei">[],
  startWei: bigint,
): readonly bigint[] {
  let { accepted: last } = accepted(startWei, 1);
  return readings.map((reading, minute) => {
    const at = { nowMs: nowMs + minute * minuteMs, history: undefined };
    const isOld = last !== undefined && at.nowMs - last.atMs >= 60 * minuteMs;
    const bounded = boundPrice({ ...facts, ...reading, ...at, accepted: isOld ? undefined : last });
    last = bounded.accepted;
    return bounded.wei / gwei;
  });
}

Deno.test("gas prices: a price that another endpoint contradicts does not rise with each reading", () => {
  const named = (namedGwei: bigint) => ({ namedWei: namedGwei * gwei, otherWei: 10n * gwei });
  const atOnce = offersOf(Array.from({ length: 20 }, () => named(10_000n)), 10n * gwei);
  assert.deepEqual(atOnce, atOnce.map(() => 20n));
  const inSteps = offersOf(
    Array.from({ length: 10 }, (_, step) => named(10n * 2n ** BigInt(step))),
    10n * gwei,
  );
  assert.deepEqual(inSteps, [10n, ...inSteps.slice(1).map(() => 20n)]);
});

Deno.test("gas prices: after a peak another endpoint that names more keeps the price there for an hour at most", () => {
  const fallen = { namedWei: 2n * gwei, otherWei: 1_000n * gwei };
  const offers = offersOf(Array.from({ length: 70 }, () => fallen), 200n * gwei);
  assert.deepEqual([offers[0], offers[58], offers[59], offers[69]], [200n, 200n, 2n, 2n]);
});

Deno.test("gas prices: what calls gas nearly free moves no price that another endpoint confirms, however long it does", () => {
  const low = { namedWei: 1n, otherWei: 11n * gwei };
  const offers = offersOf(Array.from({ length: 130 }, () => low), 10n * gwei);
  assert.deepEqual(offers, offers.map(() => 10n));
});

Deno.test("gas prices: another endpoint that names none says nothing about a lasting rise", () => {
  const risen = { namedWei: 40n * gwei, otherWei: 0n };
  const offers = offersOf(Array.from({ length: 20 }, () => risen), 10n * gwei);
  assert.deepEqual([offers[0], offers[8], offers[19]], [20n, 20n, 40n]);
});

Deno.test("gas prices: the tables of maximum prices know the live chains", () => {
  assert.deepEqual([1, 56, 137, 8453, 31337].map(defaultMaximumPrice), [
    500n * gwei,
    25n * gwei,
    5_000n * gwei,
    10n * gwei,
    undefined,
  ]);
});

const block = (baseFeeWei: bigint): Answerer => () => ({
  number: "0x100",
  hash: blockHash,
  timestamp: "0x10",
  baseFeePerGas: `0x${baseFeeWei.toString(16)}`,
});

const history = (baseFeeWei: bigint, tipWei: bigint): Answerer => () => ({
  oldestBlock: "0xec",
  baseFeePerGas: [`0x${baseFeeWei.toString(16)}`],
  gasUsedRatio: [],
  reward: [["0x0"], [`0x${tipWei.toString(16)}`]],
});

/** Answers about prices of a node that multiplies them. */
const priced = (times: bigint): Readonly<Record<string, Answerer>> => ({
  eth_gasPrice: () => `0x${(22n * gwei * times).toString(16)}`,
  eth_feeHistory: history(20n * gwei * times, 2n * gwei * times),
  eth_getBlockByNumber: block(20n * gwei * times),
  eth_getBalance: () => `0x${(10n ** 24n).toString(16)}`,
});

/** Highest price and tip of a transaction signed now, gwei; or why it was not. */
async function offered(
  chain: ReturnType<typeof chainAt>["chain"],
): Promise<readonly [bigint, bigint] | string> {
  const result = await trySign(chain);
  if (result.kind !== "signed") return result.kind === "refused" ? result.refusal.detail : result.kind;
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = parseTransaction(toHex(result.submission.raw));
  return [maxFeePerGas / gwei, maxPriorityFeePerGas / gwei];
}

/** The same, at nodes with these answers. */
function offeredBy(...nodes: readonly ReturnType<typeof priced>[]): ReturnType<typeof offered> {
  return offered(chainAt(nodes.map((methods) => node(methods))).chain);
}

Deno.test("gas prices: an endpoint that multiplies its price only is contradicted by its own fee history", async () => {
  const { chain, log } = chainOn({
    ...priced(1n),
    eth_gasPrice: () => `0x${(22n * gwei * 1_000_000n).toString(16)}`,
  });
  assert.deepEqual(await offered(chain), [49n, 24n]);
  assert.deepEqual(log.lines.map(({ event }) => event), ["endpoint_data_invalid.gas_price"]);
});

Deno.test("gas prices: an endpoint that multiplies all that it says is contradicted by the second one", async () => {
  for (const order of [[20n, 1n], [1n, 20n]] as const) {
    const price = await offeredBy(...order.map((times) => priced(times)));
    assert.ok(typeof price !== "string", String(price));
    assert.ok(price[0] * price[1] <= 125n * 44n, String(price));
  }
});

Deno.test("gas prices: what an endpoint that calls gas free says counts for nothing, first or second, at the start and later", async () => {
  for (const [order, expected] of [[[0n, 1n], [22n, 22n]], [[1n, 0n], [27n, 2n]]] as const) {
    assert.deepEqual(await offeredBy(...order.map((times) => priced(times))), expected);
  }
  const first = node(priced(1n));
  const { chain } = chainAt([first, node(priced(1n))]);
  assert.deepEqual(await offered(chain), [27n, 2n]);
  first.onAll(priced(0n));
  assert.deepEqual(await offered(chain), [22n, 22n]);
});

Deno.test("gas prices: an endpoint that names next to nothing, at the start too, names at least the base fee of its block", async () => {
  const low = { ...priced(1n), eth_gasPrice: () => "0x1" };
  assert.deepEqual(await offeredBy(priced(1n), low), [27n, 2n]);
  assert.deepEqual(await offeredBy(low, priced(1n)), [25n, 0n]);
});

Deno.test("gas prices: one endpoint that names next to nothing lowers no price that two others name", async () => {
  const low = { ...priced(0n), eth_gasPrice: () => "0x1" };
  const { chain, log } = chainAt([priced(1n), low, priced(1n)].map((methods) => node(methods)));
  assert.deepEqual(await offered(chain), [27n, 2n]);
  assert.deepEqual(log.lines.map(({ event }) => event), []);
});

Deno.test("gas prices: 24 seconds of a hundred times the price change nothing where there is one endpoint", async () => {
  const { chain, rpc, clock } = chainOn(priced(1n));
  assert.deepEqual(await offered(chain), [27n, 2n]);
  rpc.onAll(priced(100n));
  await clock.advance(24_000);
  const during = await offered(chain);
  assert.ok(typeof during !== "string" && during[0] <= 110n, String(during));
  rpc.onAll(priced(1n));
  assert.deepEqual(await offered(chain), [27n, 2n]);
});

Deno.test("gas prices: a base fee that nothing else confirms changes no later offer", async () => {
  for (const [readings, laterMs] of [[1, 0], [2, 0], [1, 61 * minuteMs], [2, 61 * minuteMs]] as const) {
    const { chain, rpc, clock } = chainOn(priced(1n));
    if (readings > 1) await offered(chain);
    rpc.on("eth_getBlockByNumber", block(2_000n * gwei));
    await offered(chain);
    await clock.advance(laterMs);
    rpc.on("eth_getBlockByNumber", block(20n * gwei));
    rpc.on("eth_gasPrice", () => `0x${(20n * gwei).toString(16)}`);
    assert.deepEqual(await offered(chain), [25n, 0n]);
  }
});

Deno.test("gas prices: above maximum_gas_price nothing is signed, and below it the offer does not exceed it", async () => {
  const rpc = node(priced(1n));
  const at = (maximumGasPriceGwei: number): Promise<readonly [bigint, bigint] | string> =>
    offered(chainAt([rpc], { maximumGasPriceGwei }).chain);
  assert.match(
    String(await at(21.5)),
    /gas costs 22000000000 wei now, above maximum_gas_price = 21500000000 wei/,
  );
  assert.deepEqual([await at(24), await at(1_000)], [[24n, 2n], [27n, 2n]]);
});

Deno.test("gas prices: without a base fee the buffer is paid once, however often a node names what we paid last", async () => {
  let last = 100n * gwei;
  const { chain } = chainOn({
    eth_gasPrice: () => `0x${last.toString(16)}`,
    eth_getBalance: () => `0x${(10n ** 24n).toString(16)}`,
  }, { gasPriceBufferPercent: 20 });
  const pay = async (): Promise<bigint> => parseTransaction(toHex((await sign(chain)).raw)).gasPrice ?? 0n;
  for (let count = 0; count < 400; count++) last = await pay();
  assert.equal(last, 120n * gwei);
  last = 150n * gwei;
  assert.equal(await pay(), 180n * gwei, "a market above what we pay is followed");
});

Deno.test("gas prices: the tip of a replacement is no market for what follows, a false base fee between or not", async () => {
  let tip = 2n * gwei;
  const { chain, rpc } = chainOn({
    ...priced(1n),
    eth_gasPrice: () => `0x${(20n * gwei + tip).toString(16)}`,
  });
  const first = await sign(chain);
  const price = { type: "eip1559", maxFeeWei: 40n * gwei, maxPriorityFeeWei: 3n * gwei } as const;
  await chain.replacement.resign(first, price, never);
  rpc.on("eth_getBlockByNumber", block(2_000n * gwei));
  await offered(chain);
  rpc.on("eth_getBlockByNumber", block(20n * gwei));
  tip = 3n * gwei;
  assert.deepEqual(await offered(chain), [27n, 2n]);
  const { market } = await chain.replacement.fetchReplacementState(first, never);
  assert.deepEqual(market, { type: "eip1559", maxFeeWei: 27n * gwei, maxPriorityFeeWei: 2n * gwei });
  tip = 4n * gwei;
  assert.deepEqual(await offered(chain), [29n, 4n], "others pay more by now");
});
