import { blake2b } from "@noble/hashes/blake2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Hashes } from "./wasm_hashes.ts";

/** One array holding all parts in order. */
export { concatBytes } from "@noble/hashes/utils.js";
/** True when both arrays hold the same bytes. */
export { equalBytes } from "@noble/curves/utils.js";

const inJavaScript: Hashes = {
  keccak256: (data) => keccak_256(data),
  blake2b256: (data) => blake2b(data, { dkLen: 32 }),
  blake2b128: (data) => blake2b(data, { dkLen: 16 }),
};

let current = inJavaScript;
let isAsked = false;

/** Keccak-256 (32 bytes): commitments on every chain, tries of EVM chains and of the hub. */
export function keccak256(data: Uint8Array): Uint8Array {
  return hashes().keccak256(data);
}

/** BLAKE2b with a 32-byte digest: tries and headers of most Substrate chains. */
export function blake2b256(data: Uint8Array): Uint8Array {
  return hashes().blake2b256(data);
}

/** BLAKE2b with a 16-byte digest: storage map keys (`Blake2_128Concat`). */
export function blake2b128(data: Uint8Array): Uint8Array {
  return hashes().blake2b128(data);
}

/**
 * WebAssembly is 3 to 15 times as fast as JavaScript, but its functions come a moment after they are asked for: the
 * first hash asks for them, and those before they are there are made by JavaScript.
 */
function hashes(): Hashes {
  if (!isAsked) {
    isAsked = true;
    void loadFast();
  }
  return current;
}

async function loadFast(): Promise<void> {
  try {
    const { openWasmHashes } = await import("./wasm_hashes.ts");
    current = await openWasmHashes();
  } catch {
    // Without WebAssembly the functions in JavaScript stay: slower, with the same results.
  }
}

/**
 * Bytes and hex: the two forms of a value, and the only place that converts between them.
 *
 * Fixed 32-byte identifiers (hashes, commitments, roots) are lower-case `0x` hex strings everywhere, because they
 * serve as keys of maps, rows and log lines. Everything of variable length is a `Uint8Array`.
 */
/** `0x` followed by an even number of lower-case hex digits. */
export type Hex = `0x${string}`;

/** A 32-byte value as `0x` and 64 lower-case hex digits. */
export type Hash256 = Hex;

/** Lower-case `0x` hex of `bytes`. */
export function toHex(bytes: Uint8Array): Hex {
  return `0x${bytes.toHex()}`;
}

/**
 * Bytes of a hex string, with or without `0x`, in any letter case.
 * @throws {RangeError} when the text is not an even number of hex digits; the text itself is not repeated.
 */
export function fromHex(text: string): Uint8Array {
  const digits = text.startsWith("0x") || text.startsWith("0X") ? text.slice(2) : text;
  try {
    return Uint8Array.fromHex(digits);
  } catch {
    // The runtime's error may repeat the text.
    throw new RangeError("Expected an even number of hex digits");
  }
}

const evenDigits = /^0x(?:[0-9a-fA-F]{2})*$/;

/** Length from which reading the digits as bytes is quicker than a pattern: 15 times for 100,000 of them. */
const LONG_TEXT = 300;

/** True for `0x` and an even number of hex digits in any letter case. */
export function isHexBytes(value: unknown): value is Hex {
  if (typeof value !== "string") return false;
  if (value.length < LONG_TEXT) return evenDigits.test(value);
  if (!value.startsWith("0x")) return false;
  try {
    Uint8Array.fromHex(value.slice(2));
    return true;
  } catch {
    return false;
  }
}

/** The same bytes in the one spelling of this program; text that has it already is not copied. */
export function toLowerHex(text: Hex): Hex {
  return text.toLowerCase() as Hex;
}

/** Letters and digits of {@link Hash256}. */
const canonicalHash = /^0x[0-9a-f]{64}$/;

/**
 * Checked constructor of a {@link Hash256}.
 * @throws {RangeError} unless the value is exactly 32 bytes.
 */
export function toHash256(value: Uint8Array | string): Hash256 {
  if (typeof value === "string" && isCanonicalHash(value)) return value;
  const bytes = typeof value === "string" ? fromHex(value) : value;
  if (bytes.length !== 32) throw new RangeError(`Expected 32 bytes, found ${bytes.length}`);
  return toHex(bytes);
}

function isCanonicalHash(text: string): text is Hash256 {
  return canonicalHash.test(text);
}

/** One character for each byte: names that chains give in bytes need not be ASCII, nor UTF-8. */
export function toByteText(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

/** The bytes of {@link toByteText}; characters above 255 lose their upper bits. */
export function fromByteText(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Accepted texts: 40 digits before the point and 80 after it are more than any source sends. */
const PLAIN_DECIMAL = /^([0-9]{1,40})(?:\.([0-9]{1,80}))?$/;

/**
 * `text` x 10^`decimals`; digits beyond that are cut off (rounds down). `undefined` for everything that is not
 * plain digits with at most one point between them: signs, exponents, separators, blanks and empty texts.
 */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const parts = PLAIN_DECIMAL.exec(text);
  if (parts === null) return undefined;
  const [, whole = "", fraction = ""] = parts;
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
}

/** `amount` / 10^`decimals` as text; exact, no trailing zeros. */
export { formatUnits as formatDecimal } from "viem/utils";

/** `amount` with `from` decimals as one with `to` decimals; rounds down where digits are lost. */
export function rescale(amount: bigint, from: number, to: number): bigint {
  return to >= from ? amount * 10n ** BigInt(to - from) : amount / 10n ** BigInt(from - to);
}

/**
 * Converts whole currency units to units of a token with the given decimals. The part that the token cannot express is
 * rounded up, so that the result is never below the threshold.
 * @throws {RangeError} for amounts below 1 that only an exponent can write, and for those that are not finite.
 */
export function toTokenUnits(amount: number, decimals: number): bigint {
  const parts = /^(\d+)(?:\.(\d+))?$/.exec(
    Number.isInteger(amount) ? BigInt(amount).toString() : String(amount),
  );
  if (parts === null) throw new RangeError("Expected a finite amount of at least 0");
  const [, whole = "", fraction = ""] = parts;
  const scaled = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  return /[1-9]/.test(fraction.slice(decimals)) ? scaled + 1n : scaled;
}
