import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { systemRandomness } from "../../../src/core/runtime/clock.ts";
import { abortOnSignals, ShutdownRequested } from "../../../src/core/runtime/app.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";

/** Sends this process SIGTERM, and waits until it has arrived: the runner of tests ends at SIGINT. */
async function send(): Promise<void> {
  const arrived = Promise.withResolvers<void>();
  Deno.addSignalListener("SIGTERM", arrived.resolve);
  const alive = setInterval(() => {}, 1_000); // a listener alone does not keep the process
  Deno.kill(Deno.pid, "SIGTERM");
  await arrived.promise;
  clearInterval(alive);
  Deno.removeSignalListener("SIGTERM", arrived.resolve);
}

Deno.test("signals: the first aborts gently, the second exits with 130", async () => {
  const exits: number[] = [];
  const told: string[] = [];
  const watch = abortOnSignals({ exit: (code) => exits.push(code), onFirst: (name) => told.push(name) });
  const wait = rejects(systemClock.sleep(10_000, watch.signal), ShutdownRequested);
  await send();
  await wait;
  equal(watch.signal.reason.by, "SIGTERM");
  deepEqual([exits, told], [[], ["SIGTERM"]]);
  await send();
  deepEqual([exits, told], [[130], ["SIGTERM"]]);
  watch.dispose();
});

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
