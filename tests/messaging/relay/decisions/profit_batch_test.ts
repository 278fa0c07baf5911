import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type BatchDecision,
  type BatchOffer,
  costUsd18,
  coveringPriceWei,
  decideBatch,
  decideProfit,
  highestPayingPriceWei,
  type ProfitRule,
  requiredUsd18,
} from "../../../../src/messaging/relay/decisions/profit.ts";

// At 1 wei and one dollar a unit of gas costs 10^-18 dollars, so that gas and cost are the same numbers.
const rule: ProfitRule = { gasPriceWei: 1n, price27: 10n ** 27n, profitPercent: 10 };
const consensusProofs = { gas: 1_000n, dataCostWei: 0n };

function offer(
  id: string,
  fee18: bigint | undefined,
  gas = 100n,
  isOwnPayment = false,
): BatchOffer {
  return { id, fee18, gas, dataCostWei: 0n, isOwnPayment };
}

function ids(decision: BatchDecision): { deliver: string[]; hold: string[] } {
  return {
    deliver: decision.deliver.map(({ id }) => id),
    hold: decision.hold.map((verdict) => `${verdict.id}:${verdict.kind === "hold" ? verdict.reason : ""}`),
  };
}

const RICH = 10n ** 30n;
const short = "consensus_proofs_unprofitable";

/** Fees of messages a, b, c, of which each needs 110 and the proofs 1,100; what is delivered, and what is held why. */
const batches: readonly [string, (bigint | undefined)[], string[], string[], Partial<ProfitRule>?][] = [
  ["fees that exactly reach messages and proofs deliver all", [660n, 660n], ["a", "b"], []],
  ["one unit below, nothing is delivered", [660n, 659n], [], [`a:${short}`, `b:${short}`]],
  ["what does not pay for itself is dropped", [109n, 1_300n, 110n], ["b", "c"], ["a:unprofitable"]],
  ["a rich one carries no poor one", [0n, 1_350n, 50n], ["b"], ["a:unprofitable", "c:unprofitable"]],
  ["an unknown fee counts for nothing", [undefined, 1_210n], ["b"], ["a:fee_unknown"]],
  ["nothing goes without a price", [RICH, RICH], [], ["a:price_unknown", "b:price_unknown"], {
    price27: undefined,
  }],
];
for (const [what, fees, deliver, hold, changes] of batches) {
  Deno.test(`batch: ${what} (F22)`, () => {
    const offers = fees.map((fee18, index) => offer("abc".charAt(index), fee18));
    assert.deepEqual(ids(decideBatch(offers, consensusProofs, { ...rule, ...changes })), { deliver, hold });
  });
}

Deno.test("batch: neither a rewarded request nor a payment of our own takes the consensus proofs along for nothing", () => {
  for (const isOwnPayment of [true, false]) {
    const poor = offer("w", 110n, 100n, isOwnPayment);
    assert.deepEqual(ids(decideBatch([offer("a", 110n), poor], consensusProofs, rule)), {
      deliver: [],
      hold: ["a:consensus_proofs_unprofitable", "w:consensus_proofs_unprofitable"],
    });
    const rich = offer("w", 1_210n, 100n, isOwnPayment);
    assert.deepEqual(ids(decideBatch([offer("a", 110n), rich], consensusProofs, rule)).deliver, ["a", "w"]);
  }
});

for (const profitPercent of [0, 10]) {
  Deno.test(`batch: a payment of our own covers message and proofs at cost, with ${profitPercent} percent and in any company`, () => {
    const at = { ...rule, profitPercent };
    const own = (fee18: bigint): BatchOffer => offer("w", fee18, 100n, true);
    assert.deepEqual(ids(decideBatch([own(1_100n)], consensusProofs, at)).deliver, ["w"]);
    assert.deepEqual(ids(decideBatch([own(1_099n)], consensusProofs, at)).hold, [
      "w:consensus_proofs_unprofitable",
    ]);
    const company = [offer("a", 110n), offer("b", 0n), own(1_100n)];
    assert.ok(ids(decideBatch(company, consensusProofs, at)).deliver.includes("w"));
    const unpriced = decideBatch([own(1_100n)], consensusProofs, { ...at, price27: undefined });
    assert.equal(
      unpriced.deliver.length,
      profitPercent === 0 ? 1 : 0,
      "without a price only if all is delivered",
    );
  });
}

Deno.test("batch: two messages with one id are a defect", () => {
  assert.throws(() => decideBatch([offer("a", 1n), offer("a", 2n)], undefined, rule));
});

const fees = fc.option(fc.bigInt({ min: 0n, max: 3_000n }), { nil: undefined, freq: 10 });
const offers = fc.uniqueArray(
  fc.record({
    id: fc.integer({ min: 0, max: 99 }).map(String),
    fee18: fees,
    gas: fc.bigInt({ min: 0n, max: 2_000n }),
    dataCostWei: fc.bigInt({ min: 0n, max: 300n }),
    isOwnPayment: fc.constant(false),
  }),
  { selector: ({ id }) => id, maxLength: 12 },
);
const consensusCosts = fc.option(
  fc.record({ gas: fc.bigInt({ min: 0n, max: 3_000n }), dataCostWei: fc.bigInt({ min: 0n, max: 100n }) }),
  { nil: undefined, freq: 2 },
);
const rules = fc.record({
  gasPriceWei: fc.bigInt({ min: 0n, max: 5n }),
  price27: fc.option(fc.bigInt({ min: 10n ** 26n, max: 10n ** 28n }), { nil: undefined, freq: 8 }),
  profitPercent: fc.integer({ min: 0, max: 150 }),
});

Deno.test("batch: a set that does not pay is never delivered", () => {
  fc.assert(fc.property(offers, consensusCosts, rules, (batch, front, market) => {
    fc.pre(market.profitPercent > 0);
    const { deliver } = decideBatch(batch, front, market);
    const paying = batch.filter(({ id }) => deliver.some((verdict) => verdict.id === id));
    if (paying.length === 0) return;
    const need = (usage: { gas: bigint; dataCostWei: bigint }): bigint => {
      const cost18 = costUsd18(usage, market);
      assert.notEqual(cost18, undefined);
      return requiredUsd18(cost18 ?? 0n, market.profitPercent);
    };
    const required18 = paying.reduce((sum, one) => sum + need(one), front === undefined ? 0n : need(front));
    const offered18 = paying.reduce((sum, { fee18 }) => {
      assert.notEqual(fee18, undefined);
      return sum + (fee18 ?? 0n);
    }, 0n);
    assert.ok(offered18 >= required18);
  }));
});

Deno.test("batch: in its own share each delivered message also pays for itself", () => {
  fc.assert(fc.property(offers, consensusCosts, rules, (batch, front, market) => {
    const { deliver } = decideBatch(batch, front, market);
    for (const one of batch.filter(({ id }) => deliver.some((verdict) => verdict.id === id))) {
      assert.equal(decideProfit(one, market).kind, "deliver");
    }
  }));
});

Deno.test("batch: 0 percent delivers everything", () => {
  fc.assert(fc.property(offers, consensusCosts, rules, (batch, front, market) => {
    const { hold } = decideBatch(batch, front, { ...market, profitPercent: 0 });
    assert.deepEqual(hold, []);
  }));
});

Deno.test("batch: without a consensus proofs the rule is that of single messages", () => {
  fc.assert(fc.property(offers, rules, (batch, market) => {
    const { deliver } = decideBatch(batch, undefined, market);
    const single = batch.filter((one) => decideProfit(one, market).kind === "deliver").map(({ id }) => id);
    assert.deepEqual(deliver.map(({ id }) => id), single);
  }));
});

Deno.test("batch: one more message never costs another its delivery", () => {
  fc.assert(fc.property(offers, consensusCosts, rules, (batch, front, market) => {
    const [added, ...rest] = batch;
    fc.pre(added !== undefined);
    const before = decideBatch(rest, front, market).deliver.map(({ id }) => id);
    const after = new Set(decideBatch(batch, front, market).deliver.map(({ id }) => id));
    assert.ok(before.every((id) => after.has(id)));
  }));
});

Deno.test("batch: the order of the messages does not matter", () => {
  fc.assert(fc.property(offers, consensusCosts, rules, (batch, front, market) => {
    const sorted = (decision: BatchDecision): string[] => ids(decision).deliver.sort();
    const forward = decideBatch(batch, front, market);
    const backward = decideBatch(batch.toReversed(), front, market);
    assert.deepEqual(sorted(forward), sorted(backward));
  }));
});

Deno.test("break-even: the price found still pays and one wei more does not", () => {
  const amount = (max: bigint): fc.Arbitrary<bigint> => fc.bigInt({ min: 1n, max });
  const facts = fc.record({
    gas: amount(10n ** 8n),
    dataCostWei: amount(10n ** 16n),
    offered18: amount(10n ** 22n),
    price27: amount(10n ** 32n).map((price) => price + 10n ** 19n),
    profitPercent: fc.integer({ min: 1, max: 500 }),
  });
  fc.assert(fc.property(facts, (some) => {
    const { price27, profitPercent, offered18 } = some;
    const pays = (gasPriceWei: bigint): boolean =>
      requiredUsd18(costUsd18(some, { gasPriceWei, price27 }) ?? 0n, profitPercent) <= offered18;
    const wei = highestPayingPriceWei(some);
    assert.ok(wei !== undefined && (wei === 0n || pays(wei)) && !pays(wei + 1n));
  }));
});

Deno.test("signing bound: the fees just cover the cost, the wanted profit is room for the price to move", () => {
  const facts = { gas: 200_000n, dataCostWei: 10n ** 12n, price27: 3_000n * 10n ** 27n, profitPercent: 10 };
  const offered18 = 25n * 10n ** 18n;
  const wei = coveringPriceWei({ ...facts, offered18 });
  assert.ok(wei !== undefined && wei > (highestPayingPriceWei({ ...facts, offered18 }) ?? 0n));
  const cost = (gasPriceWei: bigint): bigint =>
    costUsd18(facts, { gasPriceWei, price27: facts.price27 }) ?? 0n;
  assert.ok(cost(wei) <= offered18 && cost(wei + 1n) > offered18);
});

Deno.test("break-even: nothing to spend without a price or a fee", () => {
  const facts = { gas: 100n, dataCostWei: 0n, offered18: 0n, price27: 10n ** 27n, profitPercent: 10 };
  assert.equal(highestPayingPriceWei(facts), 0n);
  assert.equal(highestPayingPriceWei({ ...facts, offered18: 10n ** 30n, price27: undefined }), 0n);
  assert.equal(highestPayingPriceWei({ ...facts, offered18: 10n ** 30n, price27: 1n }), 0n);
  assert.equal(highestPayingPriceWei({ ...facts, gas: 0n }), undefined);
});
