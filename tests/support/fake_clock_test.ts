import { deepEqual, equal, rejects } from "node:assert/strict";
import { FakeClock } from "./fake_clock.ts";

const never = new AbortController().signal;

Deno.test("fake clock: timers fire by time, then by the order in which they were set", async () => {
  const clock = new FakeClock(0);
  const seen: string[] = [];
  for (const [name, ms] of [["b", 20], ["a", 10], ["c", 20], ["d", 0]] as const) {
    clock.sleep(ms, never).then(() => seen.push(`${name}${clock.now()}`));
  }
  equal(clock.nextDueMs, 0);
  await clock.advance(20);
  deepEqual(seen, ["d0", "a10", "b20", "c20"]);
});

Deno.test("fake clock: timers set on the way fire within the same advance", async () => {
  const clock = new FakeClock(0);
  const times: number[] = [];
  const loop = async (): Promise<void> => {
    for (let round = 0; round < 3; round++) {
      await clock.sleep(10, never);
      times.push(clock.now());
    }
  };
  const end = loop();
  await clock.advance(25);
  deepEqual([times, clock.now()], [[10, 20], 25]);
  await clock.run(end);
  deepEqual([times, clock.pending], [[10, 20, 30], 0]);
});

Deno.test("fake clock: an aborted sleep rejects with the reason and leaves no timer", async () => {
  const clock = new FakeClock(0);
  const stop = new AbortController();
  const sleep = rejects(clock.sleep(10, stop.signal), { message: "stop" });
  stop.abort(new Error("stop"));
  await sleep;
  equal(clock.pending, 0);
  await rejects(clock.sleep(10, stop.signal), { message: "stop" });
});

Deno.test("fake clock: run reports promises that will never settle", async () => {
  const clock = new FakeClock(0);
  await rejects(clock.run(new Promise(() => {})), /Nobody waits/);
  const endless = async (): Promise<void> => {
    while (true) await clock.sleep(1_000, never);
  };
  await rejects(clock.run(endless(), 5_000), /Not settled after 5000/);
});
