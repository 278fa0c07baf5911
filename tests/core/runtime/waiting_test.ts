import { deepEqual, equal, rejects } from "node:assert/strict";
import { Limit, mapLimited } from "../../../src/core/runtime/limit.ts";
import { awaitLogged, WaitNotices, Wake } from "../../../src/core/runtime/waiting.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const never = new AbortController().signal;

Deno.test("wake: without a hint the wait takes its time", async () => {
  const clock = new FakeClock(0);
  equal(await clock.run(new Wake(clock).wait(1_000, never)), "elapsed");
  equal(clock.now(), 1_000);
});

Deno.test("wake: a hint ends the wait under way", async () => {
  const clock = new FakeClock(0);
  const wake = new Wake(clock);
  const wait = wake.wait(1_000, never);
  await clock.advance(10);
  wake.wake();
  equal(await wait, "woken");
  equal(clock.now(), 10);
  equal(clock.pending, 0);
});

Deno.test("wake: many hints before a wait end one wait, not two", async () => {
  const clock = new FakeClock(0);
  const wake = new Wake(clock);
  wake.wake();
  wake.wake();
  equal(await wake.wait(1_000, never), "woken");
  equal(await clock.run(wake.wait(1_000, never)), "elapsed");
});

Deno.test("wake: an abort ends the wait with its reason and the next wait works", async () => {
  const clock = new FakeClock(0);
  const wake = new Wake(clock);
  const stop = new AbortController();
  const seen = rejects(wake.wait(1_000, stop.signal), { message: "stop" });
  stop.abort(new Error("stop"));
  await seen;
  equal(await clock.run(wake.wait(5, never)), "elapsed");
});

Deno.test("wake: a second waiter is a defect", async () => {
  const clock = new FakeClock(0);
  const wake = new Wake(clock);
  const first = wake.wait(1_000, never);
  await rejects(wake.wait(1_000, never), /Two workers/);
  await clock.run(first);
});

Deno.test("waiting: a long wait says every five minutes what for and how long", async () => {
  const clock = new FakeClock(0);
  const log = new RecordedLog();
  const awaited = { event: "long_wait.source_height", fields: { leg: "EVM-1 -> HUB" } } as const;
  const work = awaitLogged({ clock, log }, awaited, () => clock.sleep(11 * 60_000, never));
  await clock.run(work);
  deepEqual(
    log.lines.map(({ level, event, fields }) => [level, event, fields.leg, fields.waitedSec]),
    [300, 600].map((sec) => ["info", "long_wait.source_height", "EVM-1 -> HUB", sec]),
  );
  equal(clock.pending, 0);
});

Deno.test("waiting: a fault of the work comes through and ends the notices", async () => {
  const clock = new FakeClock(0);
  const work = awaitLogged(
    { clock, log: new RecordedLog() },
    { event: "long_wait.update" },
    () => Promise.reject(new Error("no")),
  );
  await rejects(work, { message: "no" });
  equal(clock.pending, 0);
});

Deno.test("wait notices: idle rounds are reported once per five minutes until done", () => {
  const clock = new FakeClock(0);
  const log = new RecordedLog();
  const notices = new WaitNotices({ clock, log });
  for (let round = 0; round < 11; round++) {
    notices.waiting("a", { event: "long_wait.update" });
    clock.jump(60_000);
  }
  deepEqual(log.lines.map(({ fields }) => fields.waitedSec), [300, 600]);
  notices.done("a");
  notices.waiting("a", { event: "long_wait.update" });
  equal(log.lines.length, 2);
});

Deno.test("limit: never more at once than allowed, first come first served", async () => {
  const clock = new FakeClock(0);
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const limit = new Limit(2);
  const runs = [1, 2, 3, 4, 5].map((n) =>
    limit.run(async () => {
      order.push(n);
      most = Math.max(most, ++running);
      await clock.sleep(10 * n, never);
      running--;
      return n;
    }, never)
  );
  deepEqual(order, [1, 2]);
  deepEqual(await clock.run(Promise.all(runs)), [1, 2, 3, 4, 5]);
  deepEqual([order, most], [[1, 2, 3, 4, 5], 2]);
});

Deno.test("limit: work that fails gives its place back; aborted work never starts", async () => {
  const clock = new FakeClock(0);
  const limit = new Limit(1);
  const stop = new AbortController();
  const first = limit.run(async () => {
    await clock.sleep(10, never);
    throw new Error("broken");
  }, never);
  let hasStarted = false;
  const second = rejects(limit.run(() => Promise.resolve(hasStarted = true), stop.signal), {
    message: "stop",
  });
  const third = limit.run(() => Promise.resolve("third"), never);
  stop.abort(new Error("stop"));
  await second;
  await clock.run(rejects(first, { message: "broken" }));
  equal(await third, "third");
  equal(hasStarted, false);
  equal(await limit.run(() => Promise.resolve("fourth"), never), "fourth");
});

Deno.test("mapLimited: keeps the order of the items; the first fault stops the rest", async () => {
  const clock = new FakeClock(0);
  const slow = mapLimited([3, 1, 2], { max: 2, signal: never }, async (n, signal) => {
    await clock.sleep(n * 10, signal);
    return n * 2;
  });
  deepEqual(await clock.run(slow), [6, 2, 4]);
  const started: number[] = [];
  const broken = mapLimited([1, 2, 3, 4], { max: 2, signal: never }, async (n, signal) => {
    started.push(n);
    await clock.sleep(10, signal);
    throw new Error(`fault ${n}`);
  });
  await clock.run(rejects(broken, { message: "fault 1" }));
  equal(started.includes(4), false);
  equal(clock.pending, 0);
});
