/**
 * Aggregate BLS signatures of votes.
 * Source: polytope-labs/hyperbridge: modules/consensus/bsc/verifier/src/lib.rs.
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type BlsPublicKey, isBlsSignature, NO_KEYS, parseBlsPublicKey } from "../../../spec/bls.ts";
import { BscError } from "./bsc_error.ts";

/**
 * True when exactly the holders of these keys signed `message`. Never true for an empty list. @throws {BscError}
 * `public_key` when a key is not a point of the group.
 */
export function isSignedByVoters(
  keys: readonly Uint8Array[],
  signature: Uint8Array,
  message: Hash256,
): boolean {
  const sum = keys.map(parsePublicKey).reduce((total, key) => total.add(key), NO_KEYS);
  // Keys that cancel each other out would make the empty signature valid.
  return !sum.is0() && isBlsSignature(signature, sum, message);
}

function parsePublicKey(compressed: Uint8Array): BlsPublicKey {
  try {
    return parseBlsPublicKey(compressed);
  } catch (cause) {
    throw new BscError("public_key", { cause });
  }
}
