import assert from "node:assert/strict";
import {
  type EtherscanPriceQuestion,
  etherscanPriceQuestion,
  etherscanUrl,
  parseEtherscanPrice,
} from "../../../src/core/pricing/etherscan.ts";

const ether: EtherscanPriceQuestion = { kind: "ether" };
const bnb: EtherscanPriceQuestion = { kind: "gasTracker", chainId: 56 };

function answer(result: unknown, status: unknown = "1"): string {
  return JSON.stringify({ status, message: status === "1" ? "OK" : "NOTOK", result });
}

for (
  const [chainId, question] of [
    [1, ether],
    [11155111, ether],
    [42161, ether],
    [421614, ether],
    [10, ether],
    [8453, ether],
    [84532, ether],
    [56, bnb],
    [97, bnb],
    [137, { kind: "gasTracker", chainId: 137 }],
    [80002, { kind: "gasTracker", chainId: 137 }],
    [100, undefined],
    [31337, undefined],
  ] as const
) {
  Deno.test(`etherscan: chain ${chainId} is priced by ${question === undefined ? "nothing" : question.kind}`, () => {
    assert.deepEqual(etherscanPriceQuestion(chainId), question);
  });
}

Deno.test("etherscan: addresses ask for the mainnet and escape the key", () => {
  assert.equal(
    etherscanUrl(ether, "a&b"),
    "https://api.etherscan.io/v2/api?chainid=1&module=stats&action=ethprice&apikey=a%26b",
  );
  assert.equal(
    etherscanUrl(bnb, "k", "http://127.0.0.1:1/api"),
    "http://127.0.0.1:1/api?chainid=56&module=gastracker&action=gasoracle&apikey=k",
  );
});

Deno.test("etherscan: the price of Ether is a decimal string of dollars", () => {
  const body = answer({ ethbtc: "0.03", ethbtc_timestamp: "1", ethusd: "3456.78", ethusd_timestamp: "1" });
  assert.deepEqual(parseEtherscanPrice(ether, body), {
    kind: "price",
    price27: 3_456_780_000_000_000_000_000_000_000_000n,
  });
});

Deno.test("etherscan: prices of other tokens stand in the gas tracker", () => {
  const body = answer({ LastBlock: "1", SafeGasPrice: "0.1", FastGasPrice: "1.25", UsdPrice: "612.5" });
  assert.deepEqual(parseEtherscanPrice(bnb, body), { kind: "price", price27: 6_125n * 10n ** 26n });
});

for (
  const [name, result, status, code] of [
    ["a throttled key", "Max rate limit reached, please use API Key for higher rate limit", "0", "throttled"],
    ["too many calls", "Max calls per sec rate limit reached (3/sec)", "0", "throttled"],
    ["a wrong key", "Invalid API Key (#err2)|SECRET", "0", "bad_key"],
    ["another refusal", "Error! Missing Or invalid Action name", "0", "refused"],
    ["status 0 with a price", { ethusd: "3000" }, "0", "refused"],
    ["a number for status", { ethusd: "3000" }, 1, "refused"],
    ["no status", { ethusd: "3000" }, null, "refused"],
    ["a result that is a text", "3000", "1", "malformed"],
    ["a result that is a list", [{ ethusd: "3000" }], "1", "malformed"],
    ["no result", null, "1", "malformed"],
    ["no price", { ethbtc: "0.03" }, "1", "malformed"],
    ["an empty price", { ethusd: "" }, "1", "malformed"],
    ["a number for a price", { ethusd: 3000 }, "1", "malformed"],
    ["a price in exponent notation", { ethusd: "3.4e3" }, "1", "malformed"],
    ["a price that is a word", { ethusd: "NaN" }, "1", "malformed"],
    ["a negative price", { ethusd: "-3000.5" }, "1", "not_positive"],
    ["a price of zero", { ethusd: "0" }, "1", "not_positive"],
    ["a price of zero with decimals", { ethusd: "0.00" }, "1", "not_positive"],
  ] as const
) {
  Deno.test(`etherscan: ${name} is ${code}, and no word of the answer is kept (F22)`, () => {
    const quotation = parseEtherscanPrice(ether, answer(result, status));
    assert.deepEqual(quotation, { kind: "failed", code });
  });
}

Deno.test("etherscan: a price with 30 decimals is cut off after 27 (F22)", () => {
  const body = answer({ ethusd: "1.000000000000000000000000001999" });
  assert.deepEqual(parseEtherscanPrice(ether, body), { kind: "price", price27: 10n ** 27n + 1n });
});

Deno.test("etherscan: what is not JSON is malformed", () => {
  for (const body of ["", "<html>busy</html>", "null", "[]", '"x"', "{"]) {
    assert.deepEqual(parseEtherscanPrice(ether, body), { kind: "failed", code: "malformed" });
  }
});
