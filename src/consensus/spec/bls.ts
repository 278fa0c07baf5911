/**
 * BLS signatures over BLS12-381 as Ethereum and BSC use them: public keys in G1 (48 bytes), signatures in G2 (96 bytes).
 * Source: ethereum/consensus-specs: specs/phase0/beacon-chain.md (BLS signatures);
 * polytope-labs/hyperbridge: modules/utils/bls-utils/src/bls.rs.
 */
import { readOrUndefined } from "../../core/encoding/coded_error.ts";
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { fromHex, type Hash256 } from "../../core/encoding/bytes.ts";

/** Domain separation of the signatures of both kinds of chain. */
const BLS_DOMAIN = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

const { G1, longSignatures } = bls12_381;

/** A public key, or a sum of public keys. */
export type BlsPublicKey = InstanceType<typeof G1.Point>;

/** The sum of no keys. */
export const NO_KEYS: BlsPublicKey = G1.Point.ZERO;

/**
 * Decompresses a key. @throws an error of the curve library when the bytes are no point of the group; callers map it to
 * their own codes.
 */
export function parseBlsPublicKey(compressed: Uint8Array): BlsPublicKey {
  return G1.Point.fromBytes(compressed);
}

/** True when `signature` (compressed) is by `key` over `message`; false for bytes that are no point of the group. */
export function isBlsSignature(signature: Uint8Array, key: BlsPublicKey, message: Hash256): boolean {
  const parsed = parseSignature(signature);
  if (parsed === undefined) return false;
  return longSignatures.verify(parsed, longSignatures.hash(fromHex(message), BLS_DOMAIN), key);
}

/**
 * Decompresses a signature; undefined for bytes that are no point of the group, for which the library throws an
 * exception without a code.
 */
function parseSignature(
  compressed: Uint8Array,
): ReturnType<typeof longSignatures.Signature.fromBytes> | undefined {
  return readOrUndefined(() => longSignatures.Signature.fromBytes(compressed));
}
