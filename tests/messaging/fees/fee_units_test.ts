import assert from "node:assert/strict";
import { FeeUnits } from "../../../src/messaging/fees/fee_context.ts";
import { Fixture, memoryLedger, names, Relayer } from "../relay/fixture.ts";

Deno.test("fee units: amounts are reported in whole units once the decimals were read, which is tried for a log line", async () => {
  const fixture = new Fixture();
  const { one, signal } = new Relayer(fixture, memoryLedger(fixture));
  const units = new FeeUnits();
  assert.equal(units.text(names.one, 5n), "5 units");
  one.faults.add("fetchFees", { kind: "throw", code: "unreachable" });
  await units.tryLearn(one, signal);
  assert.equal(units.text(names.one, 5n), "5 units", "a chain that is down costs nothing else");
  await units.tryLearn(undefined, signal);
  await units.tryLearn(one, signal);
  assert.equal(units.text(names.one, 25n * 10n ** 17n), "2.5");
  assert.equal(one.count("fetchFees"), 2);
});
