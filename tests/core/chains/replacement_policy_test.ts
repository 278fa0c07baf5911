import assert from "node:assert/strict";
import fc from "fast-check";
import type { GasPrice } from "../../../src/core/chains/evm/gas.ts";
import {
  bumpPrice,
  decideReplacement,
  type ReplacementInput,
  STUCK_AFTER_MS,
} from "../../../src/core/chains/replacement.ts";

const NOW = Date.UTC(2026, 0, 1);

function legacy(gasPriceWei: bigint): GasPrice {
  return { type: "legacy", gasPriceWei };
}

function dynamic(maxFeeWei: bigint, maxPriorityFeeWei: bigint): GasPrice {
  return { type: "eip1559", maxFeeWei, maxPriorityFeeWei };
}

for (
  const [name, old, market, capWei, wanted] of [
    ["a quarter more", legacy(1_000n), legacy(900n), undefined, legacy(1_250n)],
    ["the market, when it is higher", legacy(1_000n), legacy(5_000n), undefined, legacy(5_000n)],
    ["rounded up", legacy(1_001n), legacy(1n), undefined, legacy(1_252n)],
    ["at least one wei more", legacy(0n), legacy(0n), undefined, legacy(1n)],
    ["up to the cap", legacy(1_000n), legacy(5_000n), 1_200n, legacy(1_200n)],
    ["a cap at 12.5 %", legacy(1_000n), legacy(1n), 1_125n, legacy(1_125n)],
    ["a cap below 12.5 %", legacy(1_000n), legacy(1n), 1_124n, undefined],
    ["both fees", dynamic(1_000n, 100n), dynamic(900n, 90n), undefined, dynamic(1_250n, 125n)],
    [
      "a tip of nothing too",
      dynamic(1_000n, 0n),
      dynamic(900n, 0n),
      undefined,
      dynamic(1_250n, 1n),
    ],
    [
      "the market's tip within the cap",
      dynamic(1_000n, 100n),
      dynamic(900n, 5_000n),
      1_200n,
      dynamic(1_200n, 1_200n),
    ],
    [
      "a legacy market of a dynamic one",
      dynamic(1_000n, 100n),
      legacy(2_000n),
      undefined,
      dynamic(2_000n, 125n),
    ],
    [
      "a dynamic market of a legacy one",
      legacy(1_000n),
      dynamic(2_000n, 1n),
      undefined,
      legacy(2_000n),
    ],
  ] as const
) {
  Deno.test(`replacement price: ${name}`, () => {
    assert.deepEqual(bumpPrice(old, market, { capWei }), wanted);
  });
}

const wei = fc.bigInt({ min: 0n, max: 10n ** 12n });
const anyPrice = fc.oneof(
  wei.map(legacy),
  fc.tuple(wei, wei).map(([one, two]) => one > two ? dynamic(one, two) : dynamic(two, one)),
);

Deno.test("replacement price: what is offered is taken by the node and never above the cap", () => {
  fc.assert(fc.property(anyPrice, anyPrice, fc.option(wei, { nil: undefined }), (old, market, capWei) => {
    const price = bumpPrice(old, market, { capWei });
    if (price === undefined) return;
    assert.equal(price.type, old.type);
    const [oldFees, newFees] = [old, price].map((one) =>
      one.type === "legacy" ? [one.gasPriceWei] : [one.maxFeeWei, one.maxPriorityFeeWei]
    );
    for (const [index, fee] of (newFees ?? []).entries()) {
      const before = oldFees?.[index] ?? 0n;
      assert.ok(fee > before && fee * 1000n >= before * 1125n);
      assert.ok(capWei === undefined || fee <= capWei);
    }
    if (price.type === "eip1559") assert.ok(price.maxPriorityFeeWei <= price.maxFeeWei);
  }));
});

const waiting: ReplacementInput = {
  nonce: 7n,
  price: legacy(1_000n),
  isCancel: false,
  replacements: 0,
  sentAtMs: NOW - STUCK_AFTER_MS,
  nowMs: NOW,
  latestNonce: 7n,
  market: legacy(1_000n),
  capWei: undefined,
};

for (
  const [name, change, decision] of [
    ["a young transaction is waited for", { sentAtMs: NOW - STUCK_AFTER_MS + 1 }, {
      kind: "wait",
      untilMs: NOW + 1,
    }],
    ["a used nonce is looked up, however young", { latestNonce: 8n, sentAtMs: NOW }, { kind: "look_up" }],
    ["an old one is replaced", {}, { kind: "replace", price: legacy(1_250n), number: 1 }],
    ["the third replacement is the last", { replacements: 2 }, {
      kind: "replace",
      price: legacy(1_250n),
      number: 3,
    }],
    ["then it is cancelled", { replacements: 3 }, {
      kind: "cancel",
      price: legacy(1_250n),
      why: "tried_often",
    }],
    ["one that is not worth more is cancelled at once", { capWei: 1_100n }, {
      kind: "cancel",
      price: legacy(1_250n),
      why: "not_worth_more",
    }],
    ["without a price nothing more is spent on it", { capWei: 0n }, {
      kind: "cancel",
      price: legacy(1_250n),
      why: "not_worth_more",
    }],
    ["a call of a handler that is gone is cancelled instead of replaced at a higher price", {
      isHandlerReplaced: true,
    }, {
      kind: "cancel",
      price: legacy(1_250n),
      why: "handler_replaced",
    }],
    ["a waiting cancellation is replaced again, whatever the delivery is worth", {
      isCancel: true,
      capWei: 0n,
      replacements: 1,
    }, {
      kind: "cancel",
      price: legacy(1_250n),
      why: "cancel_stuck",
    }],
    ["a cancel that may not cost more is broadcast again", { isCancel: true, cancelCapWei: 1_000n }, {
      kind: "rebroadcast",
    }],
  ] as const
) {
  Deno.test(`replacement: ${name}`, () => {
    assert.deepEqual(decideReplacement({ ...waiting, ...change }), decision);
  });
}
