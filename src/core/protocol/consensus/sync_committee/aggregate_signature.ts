/**
 * BLS signatures of a sync committee (minimal public keys, proof of possession).
 * Source: ethereum/consensus-specs: specs/phase0/beacon-chain.md (BLS signatures);
 * polytope-labs/hyperbridge: modules/consensus/sync-committee/verifier/src/crypto.rs.
 */
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { fromHex, type Hash256 } from "../../bytes.ts";
import { SyncCommitteeError } from "./sync_committee_error.ts";
import { isSigner, type SyncAggregate, type SyncCommittee } from "./update.ts";

/** Domain separation of Ethereum's signatures. */
export const BLS_DOMAIN = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

const { G1, longSignatures } = bls12_381;

type PublicKeyPoint = InstanceType<typeof G1.Point>;
type SignaturePoint = ReturnType<typeof longSignatures.Signature.fromBytes>;

/**
 * Whether those members of the committee whose bits are set signed `message`.
 * The participants' key is the committee's aggregate less the absent keys, as on the hub: signers are the majority,
 * and decompressing keys is what costs (about 0.5 ms each, the check itself 60 ms).
 * @throws {SyncCommitteeError} `public_key` when a key needed is not a point of the group.
 */
export function isSignedByCommittee(
  committee: SyncCommittee,
  aggregate: SyncAggregate,
  message: Hash256,
): boolean {
  let signers = parsePublicKey(committee.aggregatePublicKey);
  committee.publicKeys.forEach((key, index) => {
    if (!isSigner(aggregate.bits, index)) signers = signers.subtract(parsePublicKey(key));
  });
  const signature = parseSignature(aggregate.signature);
  if (signature === undefined) return false;
  return longSignatures.verify(signature, longSignatures.hash(fromHex(message), BLS_DOMAIN), signers);
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
    throw new SyncCommitteeError("public_key", { cause });
  }
}
