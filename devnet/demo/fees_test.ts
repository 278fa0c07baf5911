import { deepEqual, equal, ok } from "node:assert/strict";
import { feePerMessage, moneyTable } from "./fees.ts";

const token = 10n ** 18n;
const paid = {
  chain: "A (EVM-1)",
  decimals: 18,
  before: 3n * token,
  after: 23n * token,
  fees: 20n * token,
  onHub: "0",
};

Deno.test("demo: the fees of one direction are more than the hub's minimum, however few messages carry them", () => {
  for (const count of [1, 3, 7, 19, 20, 21, 1000]) {
    ok(feePerMessage(count) * BigInt(count) >= 20n * token, `${count}`);
  }
  equal(feePerMessage(20), token);
  equal(feePerMessage(1), 20n * token);
  equal(feePerMessage(5, 12), 4n * 10n ** 12n);
});

Deno.test("demo: the table shows the balance before and after", () => {
  const few = {
    ...paid,
    chain: "E",
    decimals: 12,
    before: 0n,
    after: 20n * 10n ** 12n,
    fees: 20n * 10n ** 12n,
  };
  const { lines, isPaid } = moneyTable([paid, { ...paid, chain: "B", before: 0n, after: 20n * token }, few]);
  equal(isPaid, true);
  deepEqual(lines.map((line) => line.split(/ {2,}/)), [
    ["fee tokens of the relayer on", "before", "after", "fees of its deliveries", "left on the hub"],
    ["A (EVM-1)", "3", "23", "20", "0"],
    ["B", "0", "20", "20", "0"],
    ["E", "0", "20", "20", "0"],
  ]);
});

Deno.test("demo: money that is missing, too much, or was never expected is a failure", () => {
  for (const wrong of [{ after: 22n * token }, { after: 24n * token }, { after: 3n * token, fees: 0n }]) {
    equal(moneyTable([paid, { ...paid, ...wrong }]).isPaid, false);
  }
});
