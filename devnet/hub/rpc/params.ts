/**
 * Reading positional parameters of RPC methods; everything wrong is -32602.
 */
import { fromHex, type Hash256, toHash256 } from "../../../src/core/encoding/bytes.ts";
import { invalidParams } from "./json_rpc.ts";

/** Bytes of a hex string with `0x`. */
export function hexParam(value: unknown, name: string): Uint8Array {
  if (typeof value !== "string" || !value.startsWith("0x")) throw invalidParams(`${name}: expected 0x hex`);
  try {
    return fromHex(value);
  } catch {
    throw invalidParams(`${name}: expected 0x hex`);
  }
}

/** A list, every item of which is read by `read`. */
export function listParam<T>(value: unknown, name: string, read: (item: unknown, name: string) => T): T[] {
  if (!Array.isArray(value)) throw invalidParams(`${name}: expected a sequence`);
  return value.map((item) => read(item, name));
}

/** 32 bytes of hex. */
export function hashParam(value: unknown, name: string): Hash256 {
  try {
    return toHash256(hexParam(value, name));
  } catch {
    throw invalidParams(`${name}: expected 32 bytes of 0x hex`);
  }
}

/** 32 bytes of hex, or nothing (`null` or left out). */
export function optionalHash(value: unknown, name: string): Hash256 | undefined {
  return value === undefined || value === null ? undefined : hashParam(value, name);
}

/** A whole number from 0 to 2^32 - 1. */
export function u32Param(value: unknown, name: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > 0xffffffff) {
    throw invalidParams(`${name}: expected u32`);
  }
  return value;
}

/** A whole number from 0 to 2^64 - 1. */
export function u64Param(value: unknown, name: string): bigint {
  const number = typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value))
    ? BigInt(value)
    : -1n;
  if (number < 0n || number >= 1n << 64n) throw invalidParams(`${name}: expected u64`);
  return number;
}

/** Bytes given as a list of numbers, as Rust's `Vec<u8>` reads JSON; hex strings are refused. */
export function numbersParam(value: unknown, name: string): Uint8Array {
  if (typeof value === "string") throw invalidParams(`invalid type: string "${value}", expected a sequence`);
  const isByte = (item: unknown): item is number =>
    typeof item === "number" && Number.isInteger(item) && item >= 0 && item <= 255;
  if (!Array.isArray(value) || !value.every(isByte)) throw invalidParams(`${name}: expected u8 numbers`);
  return Uint8Array.from(value);
}

/** An object with these members. */
export function objectParam<Name extends string>(
  value: unknown,
  names: readonly Name[],
): Record<Name, unknown> {
  if (typeof value !== "object" || value === null) throw invalidParams("expected an object");
  const members: Record<string, unknown> = { ...value };
  for (const name of names) if (!(name in members)) throw invalidParams(`missing field \`${name}\``);
  return members;
}
