import assert from "node:assert/strict";
import { HourlyMaxima, toHours } from "../../../src/core/telemetry/status_sections.ts";

const HOUR_MS = 3_600_000;

Deno.test("hours: values stand at their hours of the clock, and others are not known or none", () => {
  const nowMs = 100 * HOUR_MS + 1;
  const values = [{ hour: 76, value: 9 }, { hour: 77, value: 1 }, { hour: 100, value: 3 }];
  assert.deepEqual(toHours(values, nowMs), [1, ...new Array(22).fill(null), 3]);
  assert.deepEqual(toHours(values, nowMs, 0).slice(-2), [0, 3]);
});

Deno.test("hours: of each hour the highest value is kept, for a day", () => {
  const ages = new HourlyMaxima();
  assert.deepEqual(ages.note("a", undefined, 0), new Array(24).fill(null));
  ages.note("a", 5, 0);
  assert.deepEqual(ages.note("a", 3, 1_000).at(-1), 5);
  assert.deepEqual(ages.note("a", 4, HOUR_MS).slice(-2), [5, 4]);
  assert.deepEqual(ages.note("b", 1, HOUR_MS).slice(-2), [null, 1]);
  const later = ages.note("a", undefined, 24 * HOUR_MS);
  assert.deepEqual([later[0], later.at(-1)], [4, null]);
});
