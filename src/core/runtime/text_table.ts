/** Text of commands for people: tables and lists of values. Foreign text cannot move the cursor or fake a line. */
import { escapeControls } from "../config/redact.ts";

/** True for an amount, age or count, also with its unit or an amount behind it, and for nothing. */
export function isNumberText(text: string): boolean {
  return /^(?:-?\$?\d(?!x).{0,24})?$/.test(text);
}

/** Formats a heading and rows as a table; every column is as wide as its widest cell, numbers are aligned to the right. */
export function formatTable(rows: readonly (readonly (string | undefined)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => escapeControls(cell ?? "")));
  const columns = Array.from({ length: Math.max(0, ...cells.map((row) => row.length)) }, (_, at) => {
    const column = cells.map((row) => row[at] ?? "");
    const width = column.reduce((most, { length }) => Math.max(most, length), 0);
    return { width, isNumber: column.length > 1 && column.slice(1).every(isNumberText) };
  });
  return cells.map((row) =>
    columns.map(({ width, isNumber }, at) => {
      const cell = row[at] ?? "";
      return isNumber ? cell.padStart(width) : cell.padEnd(width);
    }).join("   ").trimEnd()
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
