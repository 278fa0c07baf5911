/** Figures of the bench: readings with their spread, held to an aim and printed as one table. Pure. */
import { table } from "../../devnet/terminal/progress.ts";

/** What the median of a figure is held to. */
export type Aim = { readonly most: number } | { readonly least: number };

/** One line of the table. */
export interface Figure {
  readonly name: string;
  /** Of the readings; empty for counts and ratios. */
  readonly unit: string;
  /** One of each round, all made the same way. */
  readonly readings: readonly number[];
  /** Unset: for comparison only. */
  readonly aim?: Aim;
}

/** A figure of one or several readings. @throws {RangeError} without readings. */
export function figure(
  name: string,
  unit: string,
  readings: number | readonly number[],
  aim?: Aim,
): Figure {
  const all = typeof readings === "number" ? [readings] : readings;
  if (all.length === 0) throw new RangeError(`No reading of "${name}"`);
  return { name, unit, readings: all, ...aim && { aim } };
}

/** What a value of every round is in the table. */
export type FigureName<K> = readonly [key: K, name: string, unit: string, aim?: Aim | undefined];

/** Figures of rounds that all measured the same values. */
export function figuresOf<K extends string>(
  rounds: readonly Readonly<Record<K, number>>[],
  names: readonly FigureName<K>[],
): readonly Figure[] {
  return names.map(([key, name, unit, aim]) => figure(name, unit, rounds.map((round) => round[key]), aim));
}

/** Whether the median keeps the aim; `undefined` without one. */
export function isReached({ readings, aim }: Figure): boolean | undefined {
  if (aim === undefined) return undefined;
  return "most" in aim ? median(readings) <= aim.most : median(readings) >= aim.least;
}

/** The value in the middle; of an even number the mean of the two. @throws {RangeError} without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1);
  if (middle.length === 0) throw new RangeError("No values");
  return sumOf(middle, (value) => value) / middle.length;
}

/** The lowest value that a share of all values do not exceed. @throws {RangeError} without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const found = sorted[Math.min(sorted.length, Math.max(1, Math.ceil(sorted.length * share))) - 1];
  if (found === undefined) throw new RangeError("No values");
  return found;
}

/** Sum of one property of some objects. */
export function sumOf<T>(items: readonly T[], read: (item: T) => number): number {
  return items.reduce((sum, item) => sum + read(item), 0);
}

/** One reading of `value` at a place on the axis `at`. */
export interface Reading {
  readonly at: number;
  readonly value: number;
}

/** Parts of the axis of which each counts with its lowest reading: garbage comes and goes above that. */
const SLOPE_PARTS = 8;

/**
 * Growth of the lowest values per unit of the axis: least squares over the lowest reading of each part.
 * @throws {RangeError} with fewer than two places.
 */
export function slopeOf(readings: readonly Reading[]): number {
  const places = readings.map(({ at }) => at);
  const [from, to] = [Math.min(...places), Math.max(...places)];
  if (!(to > from)) throw new RangeError("A slope needs readings at two places");
  const partOf = ({ at }: Reading): number =>
    Math.min(SLOPE_PARTS - 1, Math.floor((at - from) / (to - from) * SLOPE_PARTS));
  const points = [...Map.groupBy(readings, partOf).values()].map((some) =>
    some.reduce((lowest, each) => each.value < lowest.value ? each : lowest)
  );
  const atMean = sumOf(points, ({ at }) => at) / points.length;
  const valueMean = sumOf(points, ({ value }) => value) / points.length;
  return sumOf(points, ({ at, value }) => (at - atMean) * (value - valueMean)) /
    sumOf(points, ({ at }) => (at - atMean) ** 2);
}

const HEAD = ["figure", "unit", "min", "median", "max", "aim", "reached"];

/** Lines of the table. */
export function tableOf(figures: readonly Figure[]): readonly string[] {
  return table([HEAD, ...figures.map(rowOf)], "left");
}

function rowOf(each: Figure): readonly string[] {
  const { name, unit, readings, aim } = each;
  const spread = [Math.min(...readings), median(readings), Math.max(...readings)].map(shown);
  const [single = ""] = spread;
  const aimText = aim === undefined ? "" : "most" in aim ? `<= ${aim.most}` : `>= ${aim.least}`;
  const reached = { true: "yes", false: "no", undefined: "" }[`${isReached(each)}`];
  return [name, unit, ...readings.length === 1 ? ["", single, ""] : spread, aimText, reached];
}

/** Three digits, or all that are before the point. */
function shown(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : `${Number(value.toPrecision(3))}`;
}
