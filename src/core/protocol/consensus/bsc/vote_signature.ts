/**
 * Aggregate BLS signatures of votes (minimal public keys, the same domain as on the beacon chain).
 * Source: polytope-labs/hyperbridge: modules/consensus/bsc/verifier/src/lib.rs, modules/utils/bls-utils/src/bls.rs.
 */
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { fromHex, type Hash256 } from "../../bytes.ts";
import { BLS_DOMAIN } from "../sync_committee/aggregate_signature.ts";
import { BscError } from "./bsc_error.ts";

const { G1, longSignatures } = bls12_381;

type PublicKeyPoint = InstanceType<typeof G1.Point>;
type SignaturePoint = ReturnType<typeof longSignatures.Signature.fromBytes>;

/**
 * Whether all holders of these keys, and nobody else, signed `message`. Never true of no keys.
 * @throws {BscError} `public_key` when a key is not a point of the group.
 */
export function isSignedByVoters(
  keys: readonly Uint8Array[],
  signature: Uint8Array,
  message: Hash256,
): boolean {
  const sum = keys.map(parsePublicKey).reduce((total, key) => total.add(key), G1.Point.ZERO);
  const parsed = parseSignature(signature);
  // Keys that cancel each other out would make any signature of nothing valid.
  if (parsed === undefined || sum.is0()) return false;
  return longSignatures.verify(parsed, longSignatures.hash(fromHex(message), BLS_DOMAIN), sum);
}

/** Undefined for bytes that are no point of the group: noble tells it by an exception without a code. */
function parseSignature(compressed: Uint8Array): SignaturePoint | undefined {
  try {
    return longSignatures.Signature.fromBytes(compressed);
  } catch {
    return undefined;
  }
}

function parsePublicKey(compressed: Uint8Array): PublicKeyPoint {
  try {
    return G1.Point.fromBytes(compressed);
  } catch (cause) {
    throw new BscError("public_key", { cause });
  }
}
