/**
 * Addresses of Substrate accounts. Source: paritytech/ss58-registry and paritytech/polkadot-sdk:
 * substrate/primitives/core/src/crypto.rs, `Ss58Codec`.
 */
import { getSs58AddressInfo } from "@polkadot-api/substrate-bindings";
import { base58 } from "@scure/base";
import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes } from "../encoding/bytes.ts";

const CHECKSUM_BYTES = 2;
const KEY_BYTES = 32;
/** Network of addresses that belong to none in particular. */
const GENERIC_NETWORK = 42;

/** The public key of an address of any network; `undefined`: it is none. */
export function ss58PublicKey(address: string): Uint8Array | undefined {
  const found = getSs58AddressInfo(address);
  return found.isValid && found.publicKey.length === KEY_BYTES ? found.publicKey : undefined;
}

/** The address of a public key, for no network in particular. The package's own function keeps a timer running. */
export function ss58Address(publicKey: Uint8Array): string {
  const body = concatBytes(Uint8Array.of(GENERIC_NETWORK), publicKey);
  const checksum = blake2b(concatBytes(new TextEncoder().encode("SS58PRE"), body), { dkLen: 64 });
  return base58.encode(concatBytes(body, checksum.subarray(0, CHECKSUM_BYTES)));
}
