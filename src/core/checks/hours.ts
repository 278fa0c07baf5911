/** Values of the last 24 hours, one an hour of the clock, for drawings. */

const HOUR_MS = 3_600_000;
const HOURS = 24;

/** Values by hour, oldest first, the hour that runs now last; `null`: there is none. */
export type Hours = readonly (number | null)[];

/** A value of an hour of the clock, hours since 1970. */
interface HourValue {
  readonly hour: number;
  readonly value: number;
}

/** Lines up values by their hours. @param otherwise value of an hour without one */
export function toHours(values: readonly HourValue[], nowMs: number, otherwise: number | null = null): Hours {
  const known = new Map(values.map(({ hour, value }) => [hour, value]));
  const first = Math.floor(nowMs / HOUR_MS) - HOURS + 1;
  return Array.from({ length: HOURS }, (_, at) => known.get(first + at) ?? otherwise);
}

/** Remembers the highest value of each hour by a key, for 24 hours. */
export class HourlyMaxima {
  readonly #known = new Map<string, readonly HourValue[]>();

  /** Takes a value of now, if it is known; returns those of the last 24 hours. */
  note(key: string, value: number | undefined, nowMs: number): Hours {
    const known = this.#known.get(key) ?? [];
    if (value === undefined) return toHours(known, nowMs);
    const hour = Math.floor(nowMs / HOUR_MS);
    const highest = Math.max(value, ...known.filter((each) => each.hour === hour).map((each) => each.value));
    const others = known.filter((each) => each.hour !== hour && each.hour > hour - HOURS);
    this.#known.set(key, [...others, { hour, value: highest }]);
    return toHours([...others, { hour, value: highest }], nowMs);
  }
}
