import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { mapInSlices, runInSlices, SliceRunner } from "../../../src/core/runtime/slices.ts";

/** A timer that advances by a millisecond a step, and tells when the loop is free. */
class Timer {
  nowMs = 1_000;
  readonly pauses: (() => void)[] = [];

  elapsedMs(): number {
    return this.nowMs;
  }

  pause(): Promise<void> {
    return new Promise((resolve) => this.pauses.push(resolve));
  }

  /** Ends the pause that is asked for, and lets everything run that waited for it. */
  async free(): Promise<void> {
    assert.equal(this.pauses.length, 1, "one pause for all");
    this.pauses.shift()?.();
    await Promise.resolve();
    for (let turn = 0; turn < 200; turn++) await Promise.resolve();
  }
}

function* count(
  timer: Timer,
  steps: number,
  done: string[],
  name = "",
): Generator<undefined, number, undefined> {
  for (let step = 1; step <= steps; step++) {
    timer.nowMs++;
    done.push(`${name}${step}`);
    yield;
  }
  return steps;
}

Deno.test("slices: a calculation rests as soon as its slice is used up, and returns its result", async () => {
  const timer = new Timer();
  const done: string[] = [];
  const result = new SliceRunner(timer).run(count(timer, 25, done));
  assert.equal(done.length, 10);
  timer.nowMs += 500; // others have their turn
  await timer.free();
  assert.equal(done.length, 20);
  await timer.free();
  assert.equal(await result, 25);
  assert.equal(timer.pauses.length, 0);
});

Deno.test("slices: calculations at the same time share a slice, so that the loop is free as often as with one", async () => {
  const timer = new Timer();
  const runner = new SliceRunner(timer);
  const done: string[] = [];
  const both = Promise.all([
    runner.run(count(timer, 15, done, "a")),
    runner.run(count(timer, 15, done, "b")),
  ]);
  let free = 0;
  while (done.length < 30) {
    const before = done.length;
    await timer.free();
    free++;
    assert.ok(done.length - before <= 11, `${done.length - before} steps in one slice`);
  }
  assert.deepEqual(await both, [15, 15]);
  assert.ok(free >= 2);
});

Deno.test("slices: a short calculation takes no rest, however long nothing was calculated", async () => {
  const timer = new Timer();
  const runner = new SliceRunner(timer);
  assert.equal(await runner.run(count(timer, 3, [])), 3);
  timer.nowMs += 60_000;
  assert.equal(await runner.run(count(timer, 3, [])), 3);
  assert.equal(timer.pauses.length, 0);
});

Deno.test("slices: what a calculation throws is thrown, and the next one has a slice of its own", async () => {
  const timer = new Timer();
  const runner = new SliceRunner(timer);
  const fail = function* (): Generator<undefined, never, undefined> {
    yield;
    timer.nowMs += 50;
    throw new RangeError("wrong");
  };
  await assert.rejects(runner.run(fail()), /wrong/);
  const done: string[] = [];
  assert.equal(await runner.run(count(timer, 9, done)), 9);
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

Deno.test("slices: what fails ends the work", async () => {
  const seen: number[] = [];
  const work = mapInSlices([1, 2, 3], 1, (item) => {
    seen.push(item);
    if (item === 2) throw new Error("two");
    return item;
  });
  await assert.rejects(work, /two/);
  assert.deepEqual(seen, [1, 2]);
});

Deno.test("slices: without items there is nothing to do", async () => {
  assert.deepEqual(await mapInSlices([], 10, () => assert.fail()), []);
});
