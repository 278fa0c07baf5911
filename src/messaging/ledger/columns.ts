/** Conversion of values to and from database columns. Integers are read as bigint, so no digits are lost. */
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { type Hash256, toHash256 } from "../../core/encoding/bytes.ts";
import { parseStateMachine, type StateMachine } from "../../core/ismp/state_machine.ts";

/** Row of a query; integers are bigints. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** Values for the named parameters of a statement; `undefined` becomes NULL. */
export type Parameters = Readonly<Record<string, SQLInputValue | undefined>>;

/** How a value is kept in a column. */
interface Column<T> {
  /** @throws {Error} when the column does not match the schema: a defect, or a file modified by another program. */
  read(row: Row, column: string): T;
  write(value: T): SQLInputValue | undefined;
}

/** Creates the error of a column that does not match the schema. */
function wrong(column: string, expected: string): Error {
  return new Error(`Column ${column}: expected ${expected}`);
}

/** A column that may be NULL, which is `undefined`. */
function optional<T>({ read, write }: Column<T>): Column<T | undefined> {
  return {
    read: (row, column) => row[column] === null ? undefined : read(row, column),
    write: (value) => value === undefined ? undefined : write(value),
  };
}

/** A text. */
const text: Column<string> = {
  read: (row, column) => {
    const value = row[column];
    if (typeof value !== "string") throw wrong(column, "text");
    return value;
  },
  write: (value) => value,
};

/** An INTEGER as bigint. */
const integer: Column<bigint> = {
  read: (row, column) => {
    const value = row[column];
    if (typeof value !== "bigint") throw wrong(column, "integer");
    return value;
  },
  write: (value) => value,
};

/** A block height: an INTEGER. Written only from 0 to 2^63 - 1. */
const height: Column<bigint> = { read: integer.read, write: toHeight };

/** A count, id or time in milliseconds. */
const number: Column<number> = {
  read: (row, column) => {
    const value = Number(integer.read(row, column));
    if (!Number.isSafeInteger(value)) throw wrong(column, "integer below 2^53");
    return value;
  },
  write: (value) => value,
};

/** A REAL: a sum that is approximate. */
const real: Column<number> = {
  read: (row, column) => {
    const value = row[column];
    if (typeof value !== "number") throw wrong(column, "a number");
    return value;
  },
  write: (value) => value,
};

/** True or false as 1 or 0. */
const flag: Column<boolean> = {
  read: (row, column) => integer.read(row, column) === 1n,
  write: (value) => value ? 1 : 0,
};

/** Bytes. */
const bytes: Column<Uint8Array> = {
  read: (row, column) => {
    const value = row[column];
    if (!(value instanceof Uint8Array)) throw wrong(column, "bytes");
    return value;
  },
  write: (value) => value,
};

/** An amount as decimal text. */
const decimal: Column<bigint> = {
  read: (row, column) => {
    const digits = text.read(row, column);
    if (!/^-?[0-9]+$/.test(digits)) throw wrong(column, "decimal digits");
    return BigInt(digits);
  },
  write: (value) => value.toString(),
};

/** A u64 as text of 20 digits, which sorts like the number. */
const u64: Column<bigint> = { read: decimal.read, write: toU64Text };

/** A 32-byte value. */
const hash: Column<Hash256> = {
  read: (row, column) => toHash256(text.read(row, column)),
  write: (value) => value,
};

/** A state machine. */
const stateMachine: Column<StateMachine> = {
  read: (row, column) => parseStateMachine(text.read(row, column)),
  write: (value) => value,
};

/** A text from a closed list. */
function oneOf<const T extends string>(allowed: readonly T[]): Column<T> {
  return {
    read: (row, column) => {
      const value = text.read(row, column);
      const found = allowed.find((each) => each === value);
      if (found === undefined) throw wrong(column, `one of ${allowed.join(", ")}`);
      return found;
    },
    write: (value) => value,
  };
}

/** The kinds of columns. */
export const column = {
  text,
  integer,
  height,
  number,
  real,
  flag,
  bytes,
  decimal,
  u64,
  hash,
  stateMachine,
  oneOf,
  optional,
} as const;

/** The columns of a row's members. */
export type Columns<T> = { readonly [Name in keyof T]-?: Column<T[Name]> };

/** The row that a format reads. */
export type RowOf<Format> = Format extends RowFormat<infer T> ? Readonly<T> : never;

/** Conversion of whole rows: a member `madeAtHeight` is kept in the column `made_at_height`. */
export class RowFormat<T> {
  readonly #members: readonly (readonly [name: string, column: string, Column<unknown>])[];

  constructor(columns: Columns<T>) {
    this.#members = Object.entries<Column<unknown>>(columns)
      .map((
        [name, column],
      ) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), column]);
  }

  /** Reads a row of a query, which may have more columns. */
  readonly read = (row: Row): T => {
    const found: Record<string, unknown> = {};
    for (const [name, column, { read }] of this.#members) found[name] = read(row, column);
    return found as T;
  };

  /** The columns of those members that are given, `undefined` as NULL; others are left out. */
  write(values: Partial<T>): Parameters {
    const given: Readonly<Record<string, unknown>> = values;
    const row: Record<string, SQLInputValue | undefined> = {};
    for (const [name, column, { write }] of this.#members) {
      if (name in values) row[column] = write(given[name]);
    }
    return row;
  }

  /** As {@link write}, without the members that are `undefined`. */
  writeGiven(values: { readonly [Name in keyof T]?: T[Name] | undefined }): Parameters {
    const row = this.write(values as Partial<T>);
    return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
  }
}

/**
 * Converts a height to an INTEGER.
 * @throws {RangeError} unless it is from 0 to 2^63 - 1.
 */
export function toHeight(height: bigint): bigint {
  if (height < 0n || height >= 2n ** 63n) throw new RangeError(`Not a height: ${height}`);
  return height;
}

/**
 * Converts a u64 to text of 20 digits, which sorts like the number.
 * @throws {RangeError} unless it is from 0 to 2^64 - 1.
 */
export function toU64Text(value: bigint): string {
  if (value < 0n || value >= 2n ** 64n) throw new RangeError(`Not a u64: ${value}`);
  return value.toString().padStart(20, "0");
}
