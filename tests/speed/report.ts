/** What a part of the bench found, and how all of it is printed: as one table. Pure. */

/** One line of the table. */
export interface Measure {
  readonly name: string;
  /** With its unit. */
  readonly value: string;
  /** Unset: told for comparison only. */
  readonly aim?: { readonly text: string; readonly isReached: boolean };
}

/** A measure that is to be at most `most`. */
export function atMost(name: string, value: number, most: number, show: (value: number) => string): Measure {
  return { name, value: show(value), aim: { text: `<= ${show(most)}`, isReached: value <= most } };
}

/** A measure that is to be at least `least`. */
export function atLeast(
  name: string,
  value: number,
  least: number,
  show: (value: number) => string,
): Measure {
  return { name, value: show(value), aim: { text: `>= ${show(least)}`, isReached: value >= least } };
}

/** The value in the middle; of an even number the mean of the two. @throws {RangeError} without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError("No values");
  return (lower + upper) / 2;
}

/** The lowest value that a share of all values do not exceed. @throws {RangeError} without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const found = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (found === undefined) throw new RangeError("No values");
  return found;
}

/** Lines of a table with the columns measure, value, aim, reached. */
export function tableOf(measures: readonly Measure[]): readonly string[] {
  const head = ["measure", "value", "aim", "reached"];
  const rows = measures.map(({ name, value, aim }) => [
    name,
    value,
    aim?.text ?? "",
    aim === undefined ? "" : aim.isReached ? "yes" : "no",
  ]);
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd();
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)];
}
