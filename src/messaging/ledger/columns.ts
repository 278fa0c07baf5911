/** Conversion of values to and from database columns. Integers are read as bigint, so no digits are lost. */
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { type Hash256, toHash256 } from "../../core/encoding/bytes.ts";
import { parseStateMachine, type StateMachine } from "../../core/ismp/state_machine.ts";

/** Row of a query; integers are bigints. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** Values for the named parameters of a statement; `undefined` becomes NULL. */
export type Parameters = Readonly<Record<string, SQLInputValue | undefined>>;

/** Creates the error of a column that does not match the schema: a defect, or a file modified by another program. */
function wrong(column: string, expected: string): Error {
  return new Error(`Column ${column}: expected ${expected}`);
}

/** A column that may be NULL, which is `undefined`. */
function orNull<T>(read: (row: Row, column: string) => T): (row: Row, column: string) => T | undefined {
  return (row, column) => row[column] === null ? undefined : read(row, column);
}

/** Text of a column that is never NULL. */
export function readText(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw wrong(column, "text");
  return value;
}

/** Text or, for NULL, `undefined`. */
export const findText = orNull(readText);

/** An INTEGER column as bigint. */
export function readInteger(row: Row, column: string): bigint {
  const value = row[column];
  if (typeof value !== "bigint") throw wrong(column, "integer");
  return value;
}

/** An INTEGER column as bigint or, for NULL, `undefined`. */
export const findInteger = orNull(readInteger);

/** A count, id or time in milliseconds. */
export function readNumber(row: Row, column: string): number {
  const value = Number(readInteger(row, column));
  if (!Number.isSafeInteger(value)) throw wrong(column, "integer below 2^53");
  return value;
}

/** A count, id or time or, for NULL, `undefined`. */
export const findNumber = orNull(readNumber);

/** Bytes of a column that is never NULL. */
export function readBytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw wrong(column, "bytes");
  return value;
}

/** Bytes or, for NULL, `undefined`. */
export const findBytes = orNull(readBytes);

/** An amount or u64 kept as decimal text. */
export function readDecimal(row: Row, column: string): bigint {
  const text = readText(row, column);
  if (!/^-?[0-9]+$/.test(text)) throw wrong(column, "decimal digits");
  return BigInt(text);
}

/** An amount or, for NULL, `undefined`. */
export const findDecimal = orNull(readDecimal);

/** A 32-byte value. */
export function readHash(row: Row, column: string): Hash256 {
  return toHash256(readText(row, column));
}

/** A 32-byte value or, for NULL, `undefined`. */
export const findHash = orNull(readHash);

/** A state machine. */
export function readStateMachine(row: Row, column: string): StateMachine {
  return parseStateMachine(readText(row, column));
}

/** A state machine or, for NULL, `undefined`. */
export const findStateMachine = orNull(readStateMachine);

/** Text from a closed list. */
export function readOneOf<T extends string>(row: Row, column: string, allowed: readonly T[]): T {
  const text = readText(row, column);
  const found = allowed.find((value) => value === text);
  if (found === undefined) throw wrong(column, `one of ${allowed.join(", ")}`);
  return found;
}

/** Text from a closed list or, for NULL, `undefined`. */
export function findOneOf<T extends string>(row: Row, column: string, allowed: readonly T[]): T | undefined {
  return row[column] === null ? undefined : readOneOf(row, column, allowed);
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

/** Converts an amount to decimal text. */
export function toDecimal(value: bigint | undefined): string | undefined {
  return value?.toString();
}
