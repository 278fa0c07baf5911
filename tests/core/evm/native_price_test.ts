import assert from "node:assert/strict";
import {
  choosePrice,
  type GoodPrice,
  ONE_DOLLAR_27,
  quotePrice,
  type SourceQuote,
} from "../../../src/core/evm/native_price.ts";

const NOW = Date.UTC(2026, 0, 1);
const dollars = (whole: bigint): bigint => whole * ONE_DOLLAR_27;

function etherscan(whole: bigint): SourceQuote {
  return { origin: "etherscan", quotation: quotePrice(dollars(whole)) };
}

function router(whole: bigint): SourceQuote {
  return { origin: "router", quotation: quotePrice(dollars(whole)) };
}

const failed: SourceQuote = { origin: "etherscan", quotation: { kind: "failed", code: "throttled" } };

function last(whole: bigint, ageMs: number): GoodPrice {
  return { price27: dollars(whole), origin: "router", readAtMs: NOW - ageMs };
}

function choose(
  asked: readonly SourceQuote[],
  before?: GoodPrice,
  isComplete = true,
): ReturnType<typeof choosePrice> {
  return choosePrice({ asked, isComplete, last: before, nowMs: NOW });
}

function price27Of(price: ReturnType<typeof choosePrice>): bigint | undefined {
  return price.kind === "known" ? price.price27 : undefined;
}

Deno.test("price: the first usable answer is taken and the next source is not asked", () => {
  assert.deepEqual(choose([], undefined, false), { kind: "ask" });
  const price = choose([etherscan(3_000n)], undefined, false);
  assert.deepEqual(price, {
    kind: "known",
    price27: dollars(3_000n),
    origin: "etherscan",
    readAtMs: NOW,
    isRemembered: false,
    failures: [],
  });
});

Deno.test("price: a failed source is named beside the price of the next", () => {
  assert.deepEqual(choose([failed], undefined, false), { kind: "ask" });
  const price = choose([failed, router(3_000n)]);
  assert.equal(price.kind === "known" && price.origin, "router");
  assert.deepEqual(price.kind === "known" && price.failures, [{ origin: "etherscan", code: "throttled" }]);
});

Deno.test("price: when nothing answers and nothing is remembered it is unknown, never 0", () => {
  assert.deepEqual(choose([failed]), {
    kind: "unknown",
    failures: [{ origin: "etherscan", code: "throttled" }],
  });
  assert.deepEqual(choose([]), { kind: "unknown", failures: [] });
});

const sixHoursMs = 6 * 3_600_000;
for (
  const [name, ageMs, isKnown] of [
    ["just now", 0, true],
    ["six hours ago", sixHoursMs, true],
    ["a millisecond more than six hours ago", sixHoursMs + 1, false],
    ["in the future", -1, false],
  ] as const
) {
  Deno.test(`price: one read ${name} is ${isKnown ? "remembered" : "forgotten"}`, () => {
    const price = choose([failed], last(3_000n, ageMs));
    assert.equal(price.kind, isKnown ? "known" : "unknown");
    if (price.kind === "known") assert.equal(price.isRemembered, true);
  });
}

const tenMinutesMs = 600_000;
for (
  const [name, asked, before, price27] of [
    ["ten times up within ten minutes", [etherscan(30_000n)], last(3_000n, tenMinutesMs), 30_000n],
    ["ten times down within ten minutes", [etherscan(300n)], last(3_000n, tenMinutesMs), 300n],
    ["more than ten times up, rejected", [etherscan(30_001n)], last(3_000n, tenMinutesMs), 3_000n],
    ["more than ten times down, rejected", [etherscan(299n)], last(3_000n, tenMinutesMs), 3_000n],
    ["the same a moment later", [etherscan(30_001n)], last(3_000n, tenMinutesMs + 1), 30_001n],
    [
      "a jump that the router does not share",
      [etherscan(40_000n), router(3_100n)],
      last(3_000n, 60_000),
      3_100n,
    ],
    ["a jump that the router confirms", [etherscan(40_000n), router(41_000n)], last(3_000n, 60_000), 40_000n],
    ["two jumps that do not agree", [etherscan(40_000n), router(100n)], last(3_000n, 60_000), 3_000n],
    ["a factor of two confirms", [etherscan(40_000n), router(80_000n)], last(3_000n, 60_000), 40_000n],
    ["more than that does not", [etherscan(40_000n), router(80_001n)], last(3_000n, 60_000), 3_000n],
    ["a first price has nothing to jump from", [etherscan(999_999n)], undefined, 999_999n],
  ] as const
) {
  Deno.test(`price: ${name}`, () => {
    assert.equal(price27Of(choose(asked, before)), dollars(price27));
  });
}

Deno.test("price: a jump asks the second source, and a rejected one is reported", () => {
  assert.deepEqual(choose([etherscan(40_000n)], last(3_000n, 0), false), { kind: "ask" });
  const price = choose([etherscan(40_000n)], last(3_000n, 0));
  assert.deepEqual(price.kind === "known" && price.failures, [{ origin: "etherscan", code: "jumped" }]);
  const confirmed = choose([etherscan(40_000n), router(40_000n)], last(3_000n, 0));
  assert.deepEqual(confirmed.kind === "known" && confirmed.failures, []);
});

Deno.test("price: what cannot price a wei is no price", () => {
  assert.deepEqual(quotePrice(0n), { kind: "failed", code: "not_positive" });
  assert.deepEqual(quotePrice(-ONE_DOLLAR_27), { kind: "failed", code: "not_positive" });
  assert.deepEqual(quotePrice(10n ** 18n - 1n), { kind: "failed", code: "not_positive" });
  assert.equal(quotePrice(10n ** 18n).kind, "price");
});
