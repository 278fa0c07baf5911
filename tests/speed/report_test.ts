import { deepEqual, equal, throws } from "node:assert/strict";
import { figure, figuresOf, isReached, median, percentile, slopeOf, tableOf } from "./report.ts";

Deno.test("report: a percentile is a value that occurred, a median may lie between two", () => {
  const values = [5, 1, 4, 2, 3];
  deepEqual([0, 0.5, 0.95, 1].map((share) => percentile(values, share)), [1, 3, 5, 5]);
  deepEqual([[3], [4, 1], values, [1, 2, 9, 8]].map(median), [3, 2.5, 3, 5]);
  throws(() => median([]), RangeError);
});

Deno.test("report: the median is held to the aim, and the spread is printed beside it", () => {
  const rounds = [{ ms: 9, share: 0.81 }, { ms: 4.126, share: 0.9 }, { ms: 1234.5, share: 0.95 }];
  const figures = [
    ...figuresOf(rounds, [["ms", "time", "ms", { most: 8 }], ["share", "ratio", "", { least: 0.9 }]]),
    figure("size", "MB", 97.04),
  ];
  deepEqual(figures.map(isReached), [false, true, undefined]);
  deepEqual(tableOf(figures), [
    "figure  unit  min   median  max   aim     reached",
    "time    ms    4.13  9       1235  <= 8    no",
    "ratio         0.81  0.9     0.95  >= 0.9  yes",
    "size    MB          97",
  ]);
  throws(() => figure("nothing", "ms", []), /No reading of "nothing"/);
});

Deno.test("report: a slope follows the lowest readings, whatever garbage lies above them", () => {
  const readings = Array.from(
    { length: 80 },
    (_, at) => ({ at, value: 100 + 2 * at + (at % 10 === 0 ? 0 : 50) }),
  );
  const slope = slopeOf(readings);
  equal(Math.abs(slope - 2) < 0.1, true, `${slope}`);
  equal(slopeOf(readings.map(({ at }) => ({ at, value: at % 10 === 0 ? 7 : 9 }))), 0);
  throws(() => slopeOf([{ at: 1, value: 1 }, { at: 1, value: 2 }]), RangeError);
});
