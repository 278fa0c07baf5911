/**
 * Bytes and hex: the two forms of a value, and the only place that converts between them.
 *
 * Fixed 32-byte identifiers (hashes, commitments, roots) are lower-case `0x` hex strings everywhere, because they
 * serve as keys of maps, rows and log lines. Everything of variable length is a `Uint8Array`.
 */
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";

/** `0x` followed by an even number of lower-case hex digits. */
export type Hex = `0x${string}`;

/** A 32-byte value as `0x` and 64 lower-case hex digits. */
export type Hash256 = Hex;

/** Lower-case `0x` hex of `bytes`. */
export function toHex(bytes: Uint8Array): Hex {
  return `0x${bytesToHex(bytes)}`;
}

/**
 * Bytes of a hex string, with or without `0x`, in any letter case.
 * @throws {RangeError} when the text is not an even number of hex digits; the text itself is not repeated.
 */
export function fromHex(text: string): Uint8Array {
  const digits = text.startsWith("0x") || text.startsWith("0X") ? text.slice(2) : text;
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) {
    throw new RangeError("Expected an even number of hex digits");
  }
  return hexToBytes(digits);
}

/**
 * Checked constructor of a {@link Hash256}.
 * @throws {RangeError} unless the value is exactly 32 bytes.
 */
export function toHash256(value: Uint8Array | string): Hash256 {
  const bytes = typeof value === "string" ? fromHex(value) : value;
  if (bytes.length !== 32) throw new RangeError(`Expected 32 bytes, found ${bytes.length}`);
  return toHex(bytes);
}

/** One array holding all parts in order. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** True when both arrays hold the same bytes (not constant time: never for secrets). */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** One character for each byte: names that chains give in bytes need not be ASCII, nor UTF-8. */
export function toByteText(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

/** The bytes of {@link toByteText}; characters above 255 lose their upper bits. */
export function fromByteText(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
