import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { DeadlineFault, nextDelayMs, retry, withDeadline } from "../../../src/core/runtime/retry.ts";
import { orAbort } from "../../../src/core/runtime/linked_abort.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";

const never = new AbortController().signal;

Deno.test("backoff: the pauses double up to the longest, less a quarter at most by chance", () => {
  const backoff = { firstMs: 2_000, maxMs: 10_000 };
  deepEqual([1, 2, 3, 4, 5000].map((n) => nextDelayMs(backoff, n, 0)), [2_000, 4_000, 8_000, 10_000, 10_000]);
  deepEqual([0.5, 0.999].map((chance) => nextDelayMs(backoff, 1, chance)), [1_750, 1_501]);
});

Deno.test("retry: tries until it works, with growing pauses", async () => {
  const clock = new FakeClock(0);
  const times: number[] = [];
  const result = await clock.run(retry(
    { clock, randomness: fixedRandomness(0), signal: never },
    { backoff: { firstMs: 1_000, maxMs: 60_000 }, pauseAfter: () => 0 },
    () => {
      times.push(clock.now());
      return times.length < 4 ? Promise.reject(new Error("not yet")) : Promise.resolve("done");
    },
  ));
  equal(result, "done");
  deepEqual(times, [0, 1_000, 3_000, 7_000]);
});

Deno.test("retry: a pause that the endpoint asked for is kept", async () => {
  const clock = new FakeClock(0);
  let calls = 0;
  await clock.run(retry(
    { clock, randomness: fixedRandomness(0), signal: never },
    { backoff: { firstMs: 10, maxMs: 10 }, pauseAfter: () => 5_000 },
    () => ++calls === 1 ? Promise.reject(new Error("throttled")) : Promise.resolve(),
  ));
  equal(clock.now(), 5_000);
});

for (
  const [name, options, calls] of [
    ["gives up when told", { pauseAfter: () => undefined }, 1],
    ["gives up after the last attempt", { pauseAfter: () => 0, maxAttempts: 3 }, 3],
    ["starts no attempt after the time is up", { pauseAfter: () => 0, withinMs: 2_500 }, 2],
  ] as const
) {
  Deno.test(`retry: ${name}, with the fault as it came`, async () => {
    const clock = new FakeClock(0);
    const fault = new Error("broken");
    let made = 0;
    const deps = { clock, randomness: fixedRandomness(0) };
    const work = (): Promise<void> => {
      made++;
      return Promise.reject(fault);
    };
    const run = retry(
      { ...deps, signal: never },
      { backoff: { firstMs: 1_000, maxMs: 60_000 }, ...options },
      work,
    );
    await rejects(clock.run(run), (error) => error === fault);
    equal(made, calls);
  });
}

Deno.test("retry: an abort during a pause ends it with the abort's reason", async () => {
  const clock = new FakeClock(0);
  const stop = new AbortController();
  const run = retry(
    { clock, randomness: fixedRandomness(0), signal: stop.signal },
    { backoff: { firstMs: 1_000, maxMs: 1_000 }, pauseAfter: () => 0 },
    () => Promise.reject(new Error("broken")),
  );
  const seen = rejects(run, { message: "stop" });
  await clock.advance(500);
  stop.abort(new Error("stop"));
  await seen;
  equal(clock.pending, 0);
});

Deno.test("deadline: work in time gives its result and leaves no timer", async () => {
  const clock = new FakeClock(0);
  const result = withDeadline(clock, { what: "test", afterMs: 1_000, signal: never }, async (signal) => {
    await clock.sleep(999, signal);
    return 5;
  });
  equal(await clock.run(result), 5);
  await clock.settle();
  equal(clock.pending, 0);
});

Deno.test("deadline: work that ignores its signal is not waited for", async () => {
  const clock = new FakeClock(0);
  const result = withDeadline(
    clock,
    { what: "test", afterMs: 1_000, signal: never },
    () => new Promise(() => {}),
  );
  await rejects(clock.run(result), (error) => error instanceof DeadlineFault && error.afterMs === 1_000);
  equal(clock.now(), 1_000);
});

Deno.test("deadline: the signal of the work is aborted when time is up", async () => {
  const clock = new FakeClock(0);
  let reason: unknown;
  const result = withDeadline(clock, { what: "test", afterMs: 1_000, signal: never }, async (signal) => {
    await clock.sleep(5_000, signal).catch((error) => reason = error);
  });
  await rejects(clock.run(result), DeadlineFault);
  ok(reason instanceof DeadlineFault);
});

Deno.test("deadline: an abort from outside comes through as itself", async () => {
  const clock = new FakeClock(0);
  const stop = new AbortController();
  const result = withDeadline(
    clock,
    { what: "test", afterMs: 1_000, signal: stop.signal },
    (s) => clock.sleep(900, s),
  );
  const seen = rejects(result, { message: "stop" });
  stop.abort(new Error("stop"));
  await seen;
  await clock.settle();
  equal(clock.pending, 0);
});

Deno.test("orAbort: an aborted signal wins over a promise that never settles", async () => {
  await rejects(orAbort(new Promise(() => {}), AbortSignal.abort(new Error("stop"))), { message: "stop" });
});
