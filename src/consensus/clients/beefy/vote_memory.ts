/** Memory of checked votes: a proof is checked when it is made and again for every host, on the host's own state. */
import { dropOldest } from "../../../core/runtime/oldest.ts";
import { type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import { type RecoverAuthority, recoverAuthority } from "./spec/authorities.ts";

/** Votes to remember: those of three proofs of a thousand validators. */
const KEPT_VOTES = 2_048;

/**
 * Creates a function that recovers each vote once. What it returns follows from hash and signature alone, so that a
 * remembered answer is as good as a new one.
 */
export function rememberVotes(recover: RecoverAuthority = recoverAuthority): RecoverAuthority {
  const known = new Map<string, Uint8Array | undefined>();
  return (hash: Hash256, signature: Uint8Array): Uint8Array | undefined => {
    const key = `${hash}${toHex(signature)}`;
    if (known.has(key)) return known.get(key);
    const address = recover(hash, signature);
    known.set(key, address);
    dropOldest(known, KEPT_VOTES);
    return address;
  };
}
