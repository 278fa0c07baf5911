import assert from "node:assert/strict";
import { remainingMs, untilFenced } from "../../../src/core/runtime/fence.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const { signal } = new AbortController();

for (
  const [name, text, expected] of [
    ["no file", undefined, 0],
    ["an empty file", "\n", Infinity],
    ["a time to come", "1003.5\n", 3_500],
    ["this moment", "1000", 0],
    ["a time that is over", "999", 0],
    ["anything else", "soon", 0],
    ["a sign", "-5", 0],
  ] as const
) {
  Deno.test(`fence: ${name} allows ${expected} ms`, () => {
    assert.equal(remainingMs(text, 1_000_000), expected);
  });
}

/** Runs a fence whose file changes at times, ms after the start; returns when it closed, or `undefined`: not in a minute. */
async function closingTime(
  files: ReadonlyMap<number, string | undefined>,
  startMs = 1_000_000,
): Promise<number | undefined> {
  const clock = new FakeClock(startMs);
  let passedMs = 0;
  let text: string | undefined;
  let closedMs: number | undefined;
  const set = (): void => {
    if (files.has(passedMs)) text = files.get(passedMs);
  };
  set();
  const stop = new AbortController();
  const ended = untilFenced({ clock, read: () => text }, stop.signal)
    .then(() => closedMs = passedMs, () => {});
  await clock.settle();
  while (passedMs < 60_000 && closedMs === undefined) {
    passedMs += 250;
    set();
    await clock.advance(250);
  }
  stop.abort();
  await ended;
  return closedMs;
}

Deno.test("fence: without a file nothing begins", async () => {
  assert.equal(await closingTime(new Map()), 0);
});

Deno.test("fence: it closes within a quarter of a second after its file is gone", async () => {
  assert.equal(await closingTime(new Map([[0, ""], [5_000, undefined]])), 5_000);
  assert.equal(await closingTime(new Map([[0, ""]])), undefined);
});

Deno.test("fence: it closes at the time in its file, unless that is put off", async () => {
  assert.equal(await closingTime(new Map([[0, "1010"]])), 10_000);
  assert.equal(await closingTime(new Map([[0, "1010"], [9_750, "1020"]])), 20_000);
  assert.equal(await closingTime(new Map([[0, "1010"], [5_000, "1006"]])), 6_000);
});

Deno.test("fence: a clock that is set back prolongs nothing", async () => {
  let nowMs = 1_000_000;
  let sleptMs = 0;
  const clock = {
    now: () => nowMs,
    sleep: (ms: number): Promise<void> => {
      sleptMs += ms;
      nowMs += ms;
      if (sleptMs === 2_000) nowMs -= 60_000;
      return Promise.resolve();
    },
  };
  await untilFenced({ clock, read: () => "1010" }, signal);
  assert.equal(sleptMs, 10_000);
});
