import assert from "node:assert/strict";
import { Patience, WaitFault, waitUntil } from "./waiting.ts";

/** Looks at it, each so many milliseconds after the one before, until it is over; gives when that is. */
function endOf(limitMs: number, lookMs: number, renews = (_atMs: number): boolean => false): number {
  let nowMs = 0;
  const patience = new Patience(limitMs, () => nowMs);
  do {
    nowMs += lookMs;
    if (renews(nowMs)) patience.renew();
  } while (!patience.isOver);
  return nowMs;
}

Deno.test("patience: it is over after its limit where looks are quick, and later on a crowded machine", () => {
  assert.equal(endOf(10_000, 100), 10_000);
  assert.equal(endOf(10_000, 500), 10_000);
  assert.equal(endOf(10_000, 1_000), 20_000);
});

Deno.test("patience: progress renews it, and it ends in any case", () => {
  assert.equal(endOf(10_000, 100, (atMs) => atMs === 9_000), 18_900);
  assert.equal(endOf(10_000, 100, () => true), 50_000);
  assert.equal(endOf(10_000, 60_000), 60_000);
});

Deno.test("waiting: a wait that is given up names what it waited for", async () => {
  let looks = 0;
  await waitUntil("three looks", () => ++looks === 3, { everyMs: 1 });
  await assert.rejects(
    waitUntil("the hub answers", () => false, { deadlineMs: 20, everyMs: 1 }),
    (error) => error instanceof WaitFault && error.message === "Not after 0.02 s: the hub answers",
  );
});
