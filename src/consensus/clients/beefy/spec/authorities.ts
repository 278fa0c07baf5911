/**
 * BEEFY authority sets: their addresses, and the Merkle tree over them. Source: paritytech/polkadot-sdk:
 * substrate/frame/beefy-mmr/src/lib.rs (BeefyEcdsaToEthereum).
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../../../core/encoding/bytes.ts";
import { type Codec, decodeStrict, fixedBytes, list } from "../../../../core/encoding/scale.ts";
import { decoded } from "../../../../core/beefy/commitment.ts";
import { decompressKey, recoverKey } from "./curve_points.ts";

const authoritiesCodec: Codec<readonly Uint8Array[]> = list(fixedBytes(33));

/** Decodes the compressed keys in `Beefy.Authorities`. @throws {BeefyError} `undecodable_data` */
export function decodeAuthorities(stored: Uint8Array): readonly Uint8Array[] {
  return decoded(() => decodeStrict(authoritiesCodec, stored, "Authorities"));
}

const NO_ADDRESS = new Uint8Array(20);

/**
 * Address of a compressed key. The relay chain substitutes 20 zero bytes for a key that is not a point of the curve, so
 * the same is done here to get its root.
 */
export function authorityAddress(key: Uint8Array): Uint8Array {
  const point = decompressKey(key);
  return point === undefined ? NO_ADDRESS : addressOf(point);
}

function addressOf(point: Uint8Array): Uint8Array {
  return keccak256(point.subarray(1)).subarray(12);
}

/** Leaf of an address in the tree of a set. */
export function authorityLeaf(address: Uint8Array): Hash256 {
  return toHash256(keccak256(address));
}

/** Leaves of the tree of a set, from its keys in the order of the chain. May be interrupted between two keys. */
export function* authorityLeaves(
  keys: readonly Uint8Array[],
): Generator<undefined, readonly Hash256[], undefined> {
  const leaves: Hash256[] = [];
  for (const key of keys) {
    yield;
    leaves.push(authorityLeaf(authorityAddress(key)));
  }
  return leaves;
}

const { ORDER } = secp256k1.Point.Fn;

/** Largest s of a signature that contracts accept. */
const HALF_ORDER = ORDER / 2n;

/**
 * Converts a vote's signature to the form of contracts: recovery id 27 or 28, and the smaller of the two s. Relay
 * chains do not require it, so a validator that signs with the larger s would otherwise invalidate proofs with its
 * votes. @param signature r, s and the recovery id 0 or 1.
 */
export function toContractSignature(signature: Uint8Array): Uint8Array {
  const recovery = signature[64] ?? 0;
  const s = BigInt(toHex(signature.subarray(32, 64)));
  if (s <= HALF_ORDER || s >= ORDER) return signature.with(64, recovery + 27);
  const smaller = fromHex(`0x${(ORDER - s).toString(16).padStart(64, "0")}`);
  return concatBytes(signature.subarray(0, 32), smaller, Uint8Array.of((recovery ^ 1) + 27));
}

/**
 * Address that signed a hash, as contracts recover it; undefined when none follows. @param signature r, s and the
 * recovery id 27 or 28.
 */
export type RecoverAuthority = (hash: Hash256, signature: Uint8Array) => Uint8Array | undefined;

/** See {@link RecoverAuthority}. */
export function recoverAuthority(hash: Hash256, signature: Uint8Array): Uint8Array | undefined {
  const recovery = (signature[64] ?? 0) - 27;
  if (signature.length !== 65 || (recovery !== 0 && recovery !== 1)) return undefined;
  if (BigInt(toHex(signature.subarray(32, 64))) > HALF_ORDER) return undefined;
  const point = recoverKey(fromHex(hash), signature.subarray(0, 64), recovery);
  return point === undefined ? undefined : addressOf(point);
}
