import { deepEqual, equal, ok } from "node:assert/strict";
import { superviseWorkers, type Worker } from "../../../src/core/runtime/worker.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";

interface Scene {
  readonly clock: FakeClock;
  readonly log: RecordedLog;
  readonly stop: AbortController;
  readonly deps: Parameters<typeof superviseWorkers>[0];
}

function newScene(): Scene {
  const clock = new FakeClock(0);
  const log = new RecordedLog();
  return { clock, log, stop: new AbortController(), deps: { clock, log, randomness: fixedRandomness(0) } };
}

function idle(clock: FakeClock, name = "idle"): Worker {
  return {
    name,
    run: async (signal) => {
      while (!signal.aborted) await clock.sleep(1_000, signal);
    },
  };
}

Deno.test("workers: one that fails is started again with growing pauses; the others do not notice", async () => {
  const { clock, log, stop, deps } = newScene();
  const starts: number[] = [];
  let idleStarts = 0;
  const calm = idle(clock);
  const workers: Worker[] = [
    {
      name: "shaky",
      run: () => {
        starts.push(clock.now());
        return Promise.reject(new Error("broken"));
      },
    },
    { name: calm.name, run: (signal) => (idleStarts++, calm.run(signal)) },
  ];
  const run = superviseWorkers(deps, workers, { signal: stop.signal });
  await clock.advance(20_000);
  deepEqual(starts, [0, 1_000, 3_000, 7_000, 15_000]);
  equal(idleStarts, 1);
  equal(log.events("error").length, 5);
  stop.abort(new Error("stop"));
  const outcome = await clock.run(run);
  deepEqual([outcome.kind, outcome.exitCode, outcome.stuck], ["aborted", 0, []]);
  equal(clock.pending, 0);
});

Deno.test("workers: a long healthy run clears the count of failures", async () => {
  const { clock, stop, deps } = newScene();
  const starts: number[] = [];
  const worker: Worker = {
    name: "shaky",
    run: async (signal) => {
      starts.push(clock.now());
      if (starts.length === 3) await clock.sleep(600_000, signal);
      throw new Error("broken");
    },
  };
  const run = superviseWorkers(deps, [worker], { signal: stop.signal });
  await clock.advance(604_500);
  deepEqual(starts, [0, 1_000, 3_000, 604_000]);
  stop.abort(new Error("stop"));
  await clock.run(run);
});

Deno.test("workers: faults that pass are warnings", async () => {
  const { clock, log, stop, deps } = newScene();
  const worker: Worker = { name: "shaky", run: () => Promise.reject(new RangeError("endpoint down")) };
  const options = { isPassing: (error: unknown): boolean => error instanceof RangeError };
  const run = superviseWorkers(deps, [worker], { ...options, signal: stop.signal });
  await clock.advance(2_500);
  stop.abort(new Error("stop"));
  await clock.run(run);
  deepEqual([log.events("error").length, log.events("warn").length], [0, 2]);
});

const isFatal = (error: unknown): boolean => error instanceof RangeError;

Deno.test("workers: a fault that the caller calls fatal stops the others and ends with exit code 1", async () => {
  const { clock, stop, deps } = newScene();
  const fault = new RangeError("corrupt");
  let hasEnded = false;
  const calm = idle(clock);
  const workers: Worker[] = [
    { name: calm.name, run: (signal) => calm.run(signal).finally(() => hasEnded = true) },
    {
      name: "doomed",
      run: async (signal) => {
        await clock.sleep(5_000, signal);
        throw fault;
      },
    },
  ];
  const outcome = await clock.run(superviseWorkers(deps, workers, { isFatal, signal: stop.signal }));
  deepEqual([outcome.kind, outcome.exitCode], ["fatal", 1]);
  equal(outcome.fault, fault);
  ok(hasEnded);
  equal(clock.now(), 5_000);
});

Deno.test("workers: a fatal fault is reported once, by the worker that met it", async () => {
  const { clock, log, stop, deps } = newScene();
  const failing: Worker = { name: "doomed", run: () => Promise.reject(new RangeError("corrupt")) };
  const workers = [idle(clock, "a"), failing, idle(clock, "b")];
  const outcome = await clock.run(superviseWorkers(deps, workers, { isFatal, signal: stop.signal }));
  deepEqual([outcome.kind, outcome.stuck], ["fatal", []]);
  deepEqual(log.lines.map(({ level, fields }) => [level, fields.worker]), [["error", "doomed"]]);
});

Deno.test("workers: when all have returned it is finished", async () => {
  const { clock, stop, deps } = newScene();
  const worker: Worker = { name: "short", run: (signal) => clock.sleep(10, signal) };
  const outcome = await clock.run(superviseWorkers(deps, [worker, worker], { signal: stop.signal }));
  deepEqual([outcome.kind, outcome.exitCode], ["finished", 0]);
});

Deno.test("workers: the step in progress is waited for, but not longer than the grace", async () => {
  const { clock, log, stop, deps } = newScene();
  let hasFinished = false;
  const workers: Worker[] = [
    {
      name: "careful",
      run: () => clock.sleep(5_000, new AbortController().signal).then(() => void (hasFinished = true)),
    },
    { name: "deaf", run: () => new Promise(() => {}) },
  ];
  const run = superviseWorkers(deps, workers, { graceMs: 8_000, signal: stop.signal });
  stop.abort(new Error("stop"));
  const outcome = await clock.run(run);
  ok(hasFinished);
  deepEqual(outcome.stuck, ["deaf"]);
  equal(clock.now(), 8_000);
  deepEqual(log.events("warn"), ["shutdown_unclean.stuck"]);
});

Deno.test("workers: an abort is no fault and leaves no line", async () => {
  const { clock, log, stop, deps } = newScene();
  const run = superviseWorkers(deps, [idle(clock)], { signal: stop.signal });
  await clock.advance(100);
  stop.abort(new Error("stop"));
  await clock.run(run);
  deepEqual(log.lines, []);
});
