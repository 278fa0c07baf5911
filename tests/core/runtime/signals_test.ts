import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { systemRandomness } from "../../../src/core/runtime/clock.ts";
import type { SignalSource, TerminationSignal } from "../../../src/core/runtime/app.ts";
import { abortOnSignals, ShutdownRequested, systemSignals } from "../../../src/core/runtime/app.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";

class FakeSignals implements SignalSource {
  readonly handlers = new Map<TerminationSignal, Set<() => void>>();

  add(name: TerminationSignal, handler: () => void): void {
    this.handlers.set(name, (this.handlers.get(name) ?? new Set()).add(handler));
  }

  remove(name: TerminationSignal, handler: () => void): void {
    this.handlers.get(name)?.delete(handler);
  }

  send(name: TerminationSignal): void {
    this.handlers.get(name)?.forEach((handler) => handler());
  }
}

for (const [first, second] of [["SIGTERM", "SIGINT"], ["SIGINT", "SIGINT"]] as const) {
  Deno.test(`signals: ${first} aborts gently, ${second} after it exits with 130`, () => {
    const source = new FakeSignals();
    const exits: number[] = [];
    const told: TerminationSignal[] = [];
    const watch = abortOnSignals(source, {
      exit: (code) => exits.push(code),
      onFirst: (name) => told.push(name),
    });
    source.send(first);
    ok(watch.signal.reason instanceof ShutdownRequested);
    equal(watch.signal.reason.by, first);
    deepEqual([exits, told], [[], [first]]);
    source.send(second);
    deepEqual([exits, told], [[130], [first]]);
    watch.dispose();
    source.send(first);
    deepEqual(exits, [130]);
  });
}

Deno.test("signals: a real SIGTERM reaches the watch", async () => {
  const watch = abortOnSignals(systemSignals, { exit: () => {} });
  const wait = rejects(systemClock.sleep(10_000, watch.signal), ShutdownRequested);
  Deno.kill(Deno.pid, "SIGTERM");
  await wait;
  equal(watch.signal.reason.by, "SIGTERM");
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
