import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { systemRandomness } from "../../../src/core/runtime/clock.ts";
import type { TerminationSignal } from "../../../src/core/runtime/app.ts";
import { abortOnSignals, ShutdownRequested } from "../../../src/core/runtime/app.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";

/** Sends this process a signal, and waits until it has arrived. */
async function send(name: TerminationSignal): Promise<void> {
  const arrived = Promise.withResolvers<void>();
  Deno.addSignalListener(name, arrived.resolve);
  Deno.kill(Deno.pid, name);
  await arrived.promise;
  Deno.removeSignalListener(name, arrived.resolve);
}

for (const [first, second] of [["SIGTERM", "SIGINT"], ["SIGINT", "SIGINT"]] as const) {
  Deno.test(`signals: ${first} aborts gently, ${second} after it exits with 130`, async () => {
    const exits: number[] = [];
    const told: TerminationSignal[] = [];
    const watch = abortOnSignals({ exit: (code) => exits.push(code), onFirst: (name) => told.push(name) });
    const wait = rejects(systemClock.sleep(10_000, watch.signal), ShutdownRequested);
    await send(first);
    await wait;
    equal(watch.signal.reason.by, first);
    deepEqual([exits, told], [[], [first]]);
    await send(second);
    deepEqual([exits, told], [[130], [first]]);
    watch.dispose();
  });
}

Deno.test("system clock: sleeps, and an abort ends a sleep that would take months", async () => {
  const stop = new AbortController();
  const startMs = systemClock.now();
  await systemClock.sleep(5, stop.signal);
  ok(systemClock.now() - startMs >= 4);
  const long = rejects(systemClock.sleep(1e12, stop.signal), { message: "stop" });
  stop.abort(new Error("stop"));
  await long;
  await rejects(systemClock.sleep(5, stop.signal), { message: "stop" });
});

Deno.test("system randomness: fractions from [0, 1) that differ, bytes of the asked length", () => {
  const fractions = Array.from({ length: 50 }, () => systemRandomness.fraction());
  ok(fractions.every((f) => f >= 0 && f < 1) && new Set(fractions).size > 45);
  equal(systemRandomness.bytes(32).length, 32);
});
