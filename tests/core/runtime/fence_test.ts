import assert from "node:assert/strict";
import { lookAtFence, obeyFence, remainingMs } from "../../../src/core/runtime/fence.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const encoder = new TextEncoder();

/** Content of a file with this text. @throws {Error} where there is no file. */
function contentOf(text: string | undefined): Uint8Array {
  if (text === undefined) throw new Error("not found");
  return encoder.encode(text);
}

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

for (
  const [name, text, time, expected] of [
    ["counts down", "1010", { wallMs: 1_004_000, timerMs: 54_000 }, 6_000],
    ["does not grow when the clock is set back", "1010", { wallMs: 904_000, timerMs: 54_000 }, 6_000],
    ["is over when the clock is set forward", "1010", { wallMs: 1_064_000, timerMs: 54_000 }, 0],
    [
      "is over after a pause in which the clock stood still",
      "1010",
      { wallMs: 1_000_000, timerMs: 61_000 },
      0,
    ],
    ["grows with a new text, by the clock as it is then", "955", { wallMs: 946_000, timerMs: 54_000 }, 9_000],
    ["ends with the file", undefined, { wallMs: 1_004_000, timerMs: 54_000 }, 0],
  ] as const
) {
  Deno.test(`fence: the time left ${name}`, () => {
    const before = lookAtFence(undefined, "1010", { wallMs: 1_000_000, timerMs: 50_000 });
    assert.equal(before.leftMs, 10_000);
    assert.equal(lookAtFence(before, text, time).leftMs, expected);
  });
}

/** Runs a program with a fence whose file changes at times, ms after the start; returns when it ended, if in a minute. */
async function closingTime(
  files: ReadonlyMap<number, string>,
  goneAtMs = Infinity,
): Promise<number | undefined> {
  const clock = new FakeClock(1_000_000);
  const startMs = clock.now();
  const passedMs = (): number => clock.now() - startMs;
  let endedMs: number | undefined;
  const read = (): Uint8Array => {
    const texts = [...files].filter(([atMs]) => atMs <= passedMs() && passedMs() < goneAtMs);
    return contentOf(texts.at(-1)?.[1]);
  };
  const mayWork = obeyFence("/run/fence", {
    clock,
    time: () => ({ wallMs: clock.now(), timerMs: passedMs() }),
    read,
    log: new RecordedLog(),
    exitNow: () => void (endedMs = passedMs()),
  });
  if (mayWork === undefined) return 0;
  await clock.advance(60_000);
  return endedMs;
}

Deno.test("fence: without a file nothing begins", async () => {
  assert.equal(await closingTime(new Map()), 0);
});

Deno.test("fence: it closes within a quarter of a second after its file is gone", async () => {
  assert.equal(await closingTime(new Map([[0, ""]]), 5_000), 5_000);
  assert.equal(await closingTime(new Map([[0, ""]])), undefined);
});

Deno.test("fence: it closes at the time in its file, unless that is put off", async () => {
  assert.equal(await closingTime(new Map([[0, "1010"]])), 10_000);
  assert.equal(await closingTime(new Map([[0, "1010"], [9_750, "1020"]])), 20_000);
  assert.equal(await closingTime(new Map([[0, "1010"], [5_000, "1006"]])), 6_000);
});

/** A program whose machine was paused: its timers have not fired. */
function paused(text: string | undefined, pausedMs: number): {
  readonly answers: readonly (boolean | undefined)[];
  readonly codes: readonly number[];
  readonly log: RecordedLog;
} {
  const log = new RecordedLog();
  const codes: number[] = [];
  let file: string | undefined = "1010";
  let timerMs = 0;
  const mayWork = obeyFence("/run/fence", {
    clock: { sleep: () => new Promise(() => {}) },
    time: () => ({ wallMs: 1_000_000 + timerMs, timerMs }),
    read: () => contentOf(file),
    log,
    exitNow: (code) => void codes.push(code),
  });
  const before = mayWork?.();
  timerMs += pausedMs;
  file = text;
  const after = mayWork?.();
  // Whatever the file says now.
  file = "";
  return { answers: [before, after, mayWork?.()], codes, log };
}

Deno.test("fence: what is sent after a pause that was too long is not sent, and the program ends once", () => {
  for (const [text, pausedMs] of [["1010", 10_000], [undefined, 1], ["1010", 3_600_000]] as const) {
    const { answers, codes, log } = paused(text, pausedMs);
    assert.deepEqual([answers, codes], [[true, false, false], [4]]);
    assert.deepEqual(log.lines.map(({ event }) => event), ["fence_gone"]);
  }
});

Deno.test("fence: after a pause within the time, or with a new one, the program works on", () => {
  for (const [text, pausedMs] of [["1010", 9_999], ["1030", 20_000]] as const) {
    const { answers, codes, log } = paused(text, pausedMs);
    assert.deepEqual([answers, codes, log.lines], [[true, true, true], [], []]);
  }
});
