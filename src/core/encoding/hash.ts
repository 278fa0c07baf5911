/**
 * The hash functions of the protocol, each behind one function so that an implementation can be swapped.
 */
import { blake2b } from "@noble/hashes/blake2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";

/** Keccak-256 (32 bytes): commitments on every chain, tries of EVM chains and of the hub. */
export function keccak256(data: Uint8Array): Uint8Array {
  return keccak_256(data);
}

/** BLAKE2b with a 32-byte digest: tries and headers of most Substrate chains. */
export function blake2b256(data: Uint8Array): Uint8Array {
  return blake2b(data, { dkLen: 32 });
}

/** BLAKE2b with a 16-byte digest: storage map keys (`Blake2_128Concat`). */
export function blake2b128(data: Uint8Array): Uint8Array {
  return blake2b(data, { dkLen: 16 });
}
