/**
 * Addresses of EVM accounts: lower-case hex text in this folder, 20 bytes in ISMP types.
 */
import { enhanceCodec } from "scale-ts";
import { zeroAddress } from "viem";
import { fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import { type Codec, fixedBytes } from "../encoding/scale.ts";

/** 20 bytes as `0x` and 40 lower-case hex digits. */
export type Address = Hex;

/** Checked constructor; normalizes the letter case without checking an EIP-55 checksum. @throws {RangeError} */
export function toAddress(value: Uint8Array | string): Address {
  const bytes = typeof value === "string" ? fromHex(value) : value;
  if (bytes.length !== 20) throw new RangeError(`Expected 20 bytes, found ${bytes.length}`);
  return toHex(bytes);
}

/** The address, or undefined for the zero address, which means "none" in host storage. */
export function presentAddress(value: string): Address | undefined {
  const address = toAddress(value);
  return address === zeroAddress ? undefined : address;
}

/** SCALE `H160`: 20 bytes. */
export const addressCodec: Codec<Address> = enhanceCodec(
  fixedBytes(20),
  fromHex,
  (value) => toAddress(value),
);
