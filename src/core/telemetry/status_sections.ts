/** Sections of a status: made once, shown on the page and at a terminal. Pure. */
import { formatTable, isNumberText } from "../runtime/text_table.ts";

/** A value in the colour of its state, and what is said less loudly behind it. */
export interface Shown {
  readonly text: string;
  readonly colour?: "good" | "warn" | "bad" | "faint" | undefined;
  readonly note?: string | undefined;
  /** Page about it elsewhere. */
  readonly href?: string | undefined;
}

/** Values of equal periods, oldest first, drawn as a line; `null`: there is none. */
export interface Drawing {
  readonly line: readonly (number | null)[];
  /** What the values are: `deliveries an hour`. */
  readonly of: string;
}

const HOUR_MS = 3_600_000;
const HOURS = 24;

/** A value of an hour of the clock, hours since 1970. */
interface HourValue {
  readonly hour: number;
  readonly value: number;
}

/** Lines up values by their hours: the hour that runs now is the last of 24. @param otherwise value of an hour without one */
export function toHours(
  values: readonly HourValue[],
  nowMs: number,
  otherwise: number | null = null,
): Drawing["line"] {
  const known = new Map(values.map(({ hour, value }) => [hour, value]));
  const first = Math.floor(nowMs / HOUR_MS) - HOURS + 1;
  return Array.from({ length: HOURS }, (_, at) => known.get(first + at) ?? otherwise);
}

/** Remembers the highest value of each hour by a key, for 24 hours. */
export class HourlyMaxima {
  readonly #known = new Map<string, readonly HourValue[]>();

  /** Takes a value of now, if it is known; returns those of the last 24 hours. */
  note(key: string, value: number | undefined, nowMs: number): Drawing["line"] {
    const known = this.#known.get(key) ?? [];
    if (value === undefined) return toHours(known, nowMs);
    const hour = Math.floor(nowMs / HOUR_MS);
    const highest = Math.max(value, ...known.filter((each) => each.hour === hour).map((each) => each.value));
    const others = known.filter((each) => each.hour !== hour && each.hour > hour - HOURS);
    this.#known.set(key, [...others, { hour, value: highest }]);
    return toHours([...others, { hour, value: highest }], nowMs);
  }
}

/** What stands in a cell; of a list one below the other. Text may come from chains and nodes. */
export type Cell = Shown | Drawing | string | number | bigint | undefined | readonly Cell[];

/** Text in the colour of a state. */
export function coloured(colour: NonNullable<Shown["colour"]>, text: string): Shown {
  return { colour, text };
}

/** What stands in the columns of a table, by their names. */
export type TableColumns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** A column; numbers are aligned to the right. */
interface Column {
  readonly name: string;
  readonly isNumber: boolean;
}

/** A titled table; it takes no room while it has neither rows nor a head. */
export interface StatusSection {
  readonly title: string;
  /** Said above the table. */
  readonly head?: Shown;
  /** Said below the head. */
  readonly facts?: readonly string[];
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Makes a section, without columns in which nothing stands. */
export function tableSection<Row>(
  title: string,
  rows: readonly Row[],
  columns: TableColumns<Row>,
): StatusSection {
  const used = Object.entries(columns).map(([name, cell]) => ({ name, cells: rows.map(cell) }))
    .filter(({ cells }) => !cells.every(isEmpty));
  return {
    title,
    columns: used.map(({ name, cells }) => ({ name, isNumber: cells.every(isNumber) })),
    rows: rows.map((_, at) => used.map(({ cells }) => cells[at])),
  };
}

/** True for amounts, ages and counts, also with their unit, and where nothing stands. */
function isNumber(cell: Cell): boolean {
  if (typeof cell === "object" && "text" in cell) return isNumber(cell.text);
  return typeof cell === "string" ? isNumberText(cell) : typeof cell !== "object";
}

/** True when nothing stands in a cell, or nothing that can be drawn. */
export function isEmpty(cell: Cell): boolean {
  if (cell === undefined || cell === "" || (Array.isArray(cell) && cell.length === 0)) return true;
  if (!isDrawing(cell)) return false;
  const known = cell.line.filter((value) => value !== null);
  return known.length < 2 || known.every((value) => value === 0);
}

/** True for a drawing. */
export function isDrawing(cell: Cell): cell is Drawing {
  return typeof cell === "object" && "line" in cell;
}

/** Replaces the texts of a section's cells. */
export function mapTexts({ rows, ...section }: StatusSection, map: (text: string) => string): StatusSection {
  const mapCell = (cell: Cell): Cell => {
    if (typeof cell === "string") return map(cell);
    if (typeof cell !== "object" || isDrawing(cell)) return cell;
    if (!("text" in cell)) return cell.map(mapCell);
    return { ...cell, text: map(cell.text), note: cell.note === undefined ? undefined : map(cell.note) };
  };
  return { ...section, rows: rows.map((row) => row.map(mapCell)) };
}

/** Formats a section for a terminal; `undefined`: there is nothing to say. */
export function formatSection({ title, head, facts = [], columns, rows }: StatusSection): string | undefined {
  const said = [...head === undefined ? [] : [head.text], ...facts.length === 0 ? [] : [facts.join(", ")]];
  if (rows.length === 0 && said.length === 0) return undefined;
  const lines = [columns.map(({ name }) => name), ...rows.map((row) => row.map(cellText))];
  const table = formatTable(lines);
  const below = [...said, ...rows.length === 0 ? [] : table.split("\n")];
  return `\n${title}\n${below.map((line) => `  ${line}`).join("\n")}`;
}

function cellText(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell !== "object") return String(cell);
  if (isDrawing(cell)) return drawBlocks(cell);
  if ("text" in cell) return cell.note === undefined ? cell.text : `${cell.text} (${cell.note})`;
  return cell.map(cellText).join("; ");
}

const BLOCKS = "▁▂▃▄▅▆▇█";

/** Draws a line with the block characters of terminals. */
function drawBlocks({ line }: Drawing): string {
  const { low, span } = rangeOf(line);
  const toBlock = (value: number): string =>
    BLOCKS.charAt(Math.round((value - low) / span * (BLOCKS.length - 1)));
  return line.map((value) => value === null ? " " : toBlock(value)).join("");
}

/** Lowest and highest value of a drawing, 0 among them, and what is between, at least a little. */
export function rangeOf(
  line: Drawing["line"],
): { readonly low: number; readonly high: number; readonly span: number } {
  const known = [0, ...line.filter((value) => value !== null)];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return { low, high, span: Math.max(high - low, Number.EPSILON) };
}
