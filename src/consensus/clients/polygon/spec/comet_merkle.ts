/**
 * Merkle trees of CometBFT, over header fields and validators: RFC 6962 with SHA-256. Source: cometbft/cometbft-rs:
 * cometbft/src/merkle.rs.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";

const LEAF = Uint8Array.of(0);
const INNER = Uint8Array.of(1);

/** Root of the tree over `leaves`; without leaves the hash of nothing. */
export function cometMerkleRoot(leaves: readonly Uint8Array[]): Hash256 {
  return toHash256(rootOf(leaves));
}

function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return sha256(new Uint8Array(0));
  if (leaves.length === 1) return sha256(concatBytes(LEAF, first));
  const split = largestPowerBelow(leaves.length);
  return sha256(concatBytes(INNER, rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split))));
}

/** Largest power of two below `count`, which is at least two. */
function largestPowerBelow(count: number): number {
  return 2 ** (Math.ceil(Math.log2(count)) - 1);
}
