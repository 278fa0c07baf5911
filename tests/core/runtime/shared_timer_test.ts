import assert from "node:assert/strict";
import { SharedTimer, toleranceMs } from "../../../src/core/runtime/system_clock.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";

/** Timers of a runtime whose time is moved by hand. */
class Runtime {
  nowMs = 0;
  /** How many timers were set and came. */
  wakes = 0;
  readonly #set = new Set<{ readonly atMs: number; readonly work: () => void }>();
  readonly timer = new SharedTimer({
    elapsed: () => this.nowMs,
    set: (ms, work) => {
      const timer = { atMs: this.nowMs + ms, work };
      this.#set.add(timer);
      return () => void this.#set.delete(timer);
    },
  });

  get pending(): number {
    return this.#set.size;
  }

  /** Moves time on; timers come on time, or when `busyUntilMs` is over. */
  advance(untilMs: number, busyUntilMs = 0): void {
    for (;;) {
      const next = [...this.#set].sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#set.delete(next);
      this.nowMs = Math.max(this.nowMs, next.atMs, busyUntilMs);
      this.wakes++;
      next.work();
    }
    this.nowMs = untilMs;
  }
}

Deno.test("shared timer: waits end together when the first one cannot wait any longer, and none too early", () => {
  const runtime = new Runtime();
  const ended: [string, number][] = [];
  for (const [name, ms] of [["a", 1_100], ["b", 1_150], ["c", 1_210], ["d", 1_212]] as const) {
    runtime.timer.after(ms, () => ended.push([name, runtime.nowMs]));
  }
  runtime.advance(2_000);
  assert.deepEqual(ended, [["a", 1_210], ["b", 1_210], ["c", 1_210], ["d", 1_212 + toleranceMs(1_212)]]);
  assert.equal(runtime.wakes, 2);
});

Deno.test("shared timer: short waits are on time, and no wait takes more than a second longer", () => {
  const runtime = new Runtime();
  const ended: number[] = [];
  for (const ms of [0, 5, 250, 600_000]) runtime.timer.after(ms, () => ended.push(runtime.nowMs));
  runtime.advance(700_000);
  assert.deepEqual(ended, [0, 5, 250, 601_000]);
});

Deno.test("shared timer: workers that wait about a second, from any time on, soon need one wake in a second", () => {
  const runtime = new Runtime();
  const random = seededRandomness(7);
  const worker = (ms: number): void =>
    void runtime.timer.after(ms, () => worker(920 + Math.round(60 * random.fraction())));
  for (let at = 0; at < 20; at++) worker(1_000 * random.fraction());
  runtime.advance(60_000);
  const before = runtime.wakes;
  runtime.advance(160_000);
  assert.ok(runtime.wakes - before <= 102, `${runtime.wakes - before} wakes`);
});

Deno.test("shared timer: a wait that was stopped does nothing, and the last one leaves no timer behind", () => {
  const runtime = new Runtime();
  const stops = [1_000, 2_000].map((ms) => runtime.timer.after(ms, () => assert.fail("stopped")));
  stops.forEach((stop) => stop());
  assert.equal(runtime.pending, 0);
  runtime.advance(5_000);
  assert.equal(runtime.wakes, 0);
});

Deno.test("shared timer: waits beyond the longest timer of a runtime are split", () => {
  const runtime = new Runtime();
  let endedMs = 0;
  runtime.timer.after(3 * 2 ** 31, () => endedMs = runtime.nowMs);
  runtime.advance(4 * 2 ** 31);
  assert.equal(endedMs, Math.ceil(3 * 2 ** 31 / 1_000) * 1_000);
});

Deno.test("shared timer: it tells how late timers come while others work", () => {
  const runtime = new Runtime();
  const late: number[] = [];
  const stop = runtime.timer.watchLateness((ms) => late.push(ms));
  runtime.timer.after(100, () => {});
  runtime.advance(500, 350);
  stop();
  runtime.timer.after(100, () => {});
  runtime.advance(1_000);
  assert.deepEqual(late, [250]);
});
