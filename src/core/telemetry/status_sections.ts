/** Sections of a status: made once, shown on the page and at a terminal. Pure. */
import { formatTable } from "../runtime/text_table.ts";

/** A value in the colour of its state, and what is said less loudly behind it. */
export interface Shown {
  readonly text: string;
  readonly colour?: "good" | "warn" | "bad" | "faint";
  readonly note?: string | undefined;
}

/** What stands in a cell; of a list one below the other. Text may come from chains and nodes. */
export type Cell = Shown | string | number | bigint | undefined | readonly Cell[];

/** Text in the colour of a state. */
export function coloured(colour: NonNullable<Shown["colour"]>, text: string): Shown {
  return { colour, text };
}

/** Column of a table. */
export interface Column<Row> {
  readonly name: string;
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => Cell;
}

/** A titled table. */
export interface StatusSection {
  readonly title: string;
  /** Said above the table. */
  readonly head?: Shown;
  readonly columns: readonly Omit<Column<unknown>, "cell">[];
  readonly rows: readonly (readonly Cell[])[];
  /** Said when there are no rows; a terminal shows no section then. Absent: nothing is said. */
  readonly otherwise?: string | undefined;
}

/** Makes a section, without columns in which nothing stands. @param of its title, its rows, and what is said without any */
export function tableSection<Row>(
  { rows, ...of }: Pick<StatusSection, "title" | "head" | "otherwise"> & { readonly rows: readonly Row[] },
  columns: readonly Column<Row>[],
): StatusSection {
  const used = columns.filter(({ cell }) => rows.some((row) => !isEmpty(cell(row))));
  return { ...of, columns: used, rows: rows.map((row) => used.map(({ cell }) => cell(row))) };
}

/** True when nothing stands in a cell. */
export function isEmpty(cell: Cell): boolean {
  return cell === undefined || cell === "" || (Array.isArray(cell) && cell.length === 0);
}

/** Formats a section for a terminal; `undefined`: it has no rows. */
export function formatSection({ title, columns, rows }: StatusSection): string | undefined {
  if (rows.length === 0) return undefined;
  const lines = [columns.map(({ name }) => name), ...rows.map((row) => row.map(cellText))];
  const table = formatTable(lines, { toTheRight: (column) => columns[column]?.isNumber === true });
  return `\n${title}\n${table.split("\n").map((line) => `  ${line}`).join("\n")}`;
}

function cellText(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell !== "object") return String(cell);
  if ("text" in cell) return cell.note === undefined ? cell.text : `${cell.text} (${cell.note})`;
  return cell.map(cellText).join("; ");
}
