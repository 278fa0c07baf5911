/**
 * Addresses of Substrate accounts. Source: paritytech/ss58-registry and paritytech/polkadot-sdk:
 * substrate/primitives/core/src/crypto.rs, `Ss58Codec`.
 */
import { base58 } from "@scure/base";
import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes, equalBytes } from "../encoding/bytes.ts";

const CHECKSUM_BYTES = 2;
const KEY_BYTES = 32;

/** The public key of an address of any network, or of its hex; `undefined`: it is none. */
export function ss58PublicKey(address: string): Uint8Array | undefined {
  const bytes = decode(address);
  if (bytes === undefined) return undefined;
  // Networks from 64 on have two bytes, of which the first has bit 6 set.
  const start = ((bytes[0] ?? 0) & 0b0100_0000) === 0 ? 1 : 2;
  if (bytes.length !== start + KEY_BYTES + CHECKSUM_BYTES) return undefined;
  const body = bytes.subarray(0, start + KEY_BYTES);
  return equalBytes(checksumOf(body), bytes.subarray(start + KEY_BYTES)) ? body.slice(start) : undefined;
}

/** Network of addresses that belong to none in particular. */
const GENERIC_NETWORK = 42;

/** The address of a public key, for no network in particular. */
export function ss58Address(publicKey: Uint8Array): string {
  const body = concatBytes(Uint8Array.of(GENERIC_NETWORK), publicKey);
  return base58.encode(concatBytes(body, checksumOf(body)));
}

function decode(address: string): Uint8Array | undefined {
  try {
    return base58.decode(address);
  } catch {
    return undefined;
  }
}

function checksumOf(body: Uint8Array): Uint8Array {
  return blake2b(concatBytes(new TextEncoder().encode("SS58PRE"), body), { dkLen: 64 }).subarray(
    0,
    CHECKSUM_BYTES,
  );
}
