import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { mapInSlices, runInSlices } from "../../../src/core/runtime/slices.ts";

Deno.test("slices: what a calculation returns is returned, and what it throws is thrown", async () => {
  const calculate = function* (result: number): Generator<undefined, number, undefined> {
    yield;
    if (result < 0) throw new RangeError("wrong");
    return result;
  };
  assert.equal(await runInSlices(calculate(3)), 3);
  await assert.rejects(runInSlices(calculate(-1)), /wrong/);
});

Deno.test("slices: timers of the program run between two slices", async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const busy = function* (): Generator<undefined, number, undefined> {
    // A crowded machine gives a slice late: the work continues until a timer has run, or none ever does.
    for (const startMs = performance.now(); ticks < 2 && performance.now() - startMs < 20_000;) yield;
    return ticks;
  };
  try {
    assert.ok(await runInSlices(busy()) >= 2);
  } finally {
    clearInterval(timer);
  }
});

Deno.test("slices: every item is converted in order, and others have a turn after each slice", async () => {
  const order: string[] = [];
  let isDone = false;
  const others = (async () => {
    while (!isDone) {
      order.push("other");
      await setImmediate();
    }
  })();
  const converted = await mapInSlices([1, 2, 3, 4, 5], 2, (item) => {
    order.push(`${item}`);
    return item * 10;
  });
  isDone = true;
  await others;
  assert.deepEqual(converted, [10, 20, 30, 40, 50]);
  for (const [last, next] of [["2", "3"], ["4", "5"]] as const) {
    assert.ok(order.slice(order.indexOf(last), order.indexOf(next)).includes("other"), order.join(" "));
  }
  assert.ok(!order.slice(order.indexOf("1"), order.indexOf("2")).includes("other"), order.join(" "));
});
