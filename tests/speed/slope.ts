/** How fast something grows that goes up and down by itself. Pure. */

/** One reading of `value` at a place on the axis `at`. */
export interface Reading {
  readonly at: number;
  readonly value: number;
}

/** Parts of the axis of which each counts with its lowest reading: garbage comes and goes above that. */
const PARTS = 8;

/**
 * Growth of the lowest values per unit of the axis: least squares over the lowest reading of each part.
 * @throws {RangeError} with fewer than two places.
 */
export function slopeOf(readings: readonly Reading[]): number {
  const places = readings.map(({ at }) => at);
  const [from, to] = [Math.min(...places), Math.max(...places)];
  if (!(to > from)) throw new RangeError("A slope needs readings at two places");
  const lowest = new Map<number, Reading>();
  for (const reading of readings) {
    const part = Math.min(PARTS - 1, Math.floor((reading.at - from) / (to - from) * PARTS));
    const old = lowest.get(part);
    if (old === undefined || reading.value < old.value) lowest.set(part, reading);
  }
  const points = [...lowest.values()];
  const mean = (pick: (reading: Reading) => number): number =>
    points.reduce((sum, reading) => sum + pick(reading), 0) / points.length;
  const [atMean, valueMean] = [mean(({ at }) => at), mean(({ value }) => value)];
  const squares = points.reduce((sum, { at }) => sum + (at - atMean) ** 2, 0);
  return points.reduce((sum, { at, value }) => sum + (at - atMean) * (value - valueMean), 0) / squares;
}
