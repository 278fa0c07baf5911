/**
 * BLS signatures of a sync committee.
 * Source: polytope-labs/hyperbridge: modules/consensus/sync-committee/verifier/src/crypto.rs.
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type BlsPublicKey, isBlsSignature, parseBlsPublicKey } from "../../../spec/bls.ts";
import { SyncCommitteeError } from "./sync_committee_error.ts";
import { isSigner, type SyncAggregate, type SyncCommittee } from "./update.ts";

/**
 * True when exactly the committee members whose bits are set signed `message`. The participants' key is the committee's
 * aggregate less the absent keys, as on the hub: signers are the majority, and decompressing keys is what costs (about
 * 0.5 ms each, the check itself 60 ms). @throws {SyncCommitteeError} `public_key` when a key needed is not a point of
 * the group.
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
  return isBlsSignature(aggregate.signature, signers, message);
}

function parsePublicKey(compressed: Uint8Array): BlsPublicKey {
  try {
    return parseBlsPublicKey(compressed);
  } catch (cause) {
    throw new SyncCommitteeError("public_key", { cause });
  }
}
