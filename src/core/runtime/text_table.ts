/** Text of commands for people: tables and lists of values. Foreign text cannot move the cursor or fake a line. */
import { escapeControls } from "../config/redact.ts";

/** Columns whose cells end at the same place, e.g. numbers; by their index. */
export interface TableOptions {
  readonly toTheRight?: ((column: number) => boolean) | undefined;
}

/** Formats rows as a table; every column is as wide as its widest cell. */
export function formatTable(
  rows: readonly (readonly (string | undefined)[])[],
  { toTheRight = () => false }: TableOptions = {},
): string {
  const cells = rows.map((row) => row.map((cell) => escapeControls(cell ?? "")));
  const count = Math.max(0, ...cells.map((row) => row.length));
  const widths = Array.from(
    { length: count },
    (_, column) => cells.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0),
  );
  return cells.map((row) =>
    row.map((cell, column) =>
      toTheRight(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)
    ).join("   ").trimEnd()
  ).join("\n");
}

/** Formats a time of ISO 8601 for people: to the second, in UTC. */
export function shownTime(iso: string | undefined): string | undefined {
  return iso?.replace("T", " ").replace(/(?:\.\d+)?Z$/, "Z");
}

/** A duration in its largest unit. */
export function formatDuration(ms: number): string {
  const sec = Math.max(0, Math.round(ms / 1_000));
  if (sec < 120) return `${sec} s`;
  if (sec < 7_200) return `${Math.round(sec / 60)} min`;
  return sec < 172_800 ? `${Math.round(sec / 3_600)} h` : `${Math.round(sec / 86_400)} d`;
}
