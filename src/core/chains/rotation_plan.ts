/**
 * Decides which consensus proofs of the hub a chain needs. Pure.
 * Rules: docs/protocol/messaging.md section 7.2.2: every authority set hands over to the next in
 * order. How many proofs go into one transaction: `transaction_bytes.ts`.
 */
import type { AcceptedProof } from "./hub_accounts.ts";

/** A rotation: the set handed over to, and the proven height of the hub. */
export interface RotationStep {
  readonly height: bigint;
  readonly newSetId: bigint;
}

/** Rotations that a chain must take, ascending. */
export type RotationPlan =
  | { readonly kind: "rotations"; readonly steps: readonly RotationStep[] }
  /** The hub does not keep the rotation to this set any more: the chain cannot be followed up from here. */
  | { readonly kind: "gap"; readonly missing: bigint };

/** The proof of the highest height above what the chain knows; `undefined`: there is none. */
export function newestProof(proofs: readonly AcceptedProof[], known: bigint): AcceptedProof | undefined {
  let newest: AcceptedProof | undefined;
  for (const proof of proofs) {
    if (proof.height > known && (newest === undefined || proof.height > newest.height)) newest = proof;
  }
  return newest;
}

/**
 * Rotations between the chain's set and the newest proof.
 * @param rotations set handed over to, and the height whose proof does it
 * @param facts.newest `undefined`: every rotation that the chain has not taken
 */
export function planRotations(
  rotations: ReadonlyMap<bigint, bigint>,
  facts: { readonly setId: bigint; readonly newest: Pick<AcceptedProof, "height"> | undefined },
): RotationPlan {
  const { newest } = facts;
  const needed = [...rotations]
    .filter(([set, height]) => set > facts.setId && (newest === undefined || height <= newest.height))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const steps: RotationStep[] = [];
  for (const [set, height] of needed) {
    const expected = facts.setId + BigInt(steps.length) + 1n;
    if (set !== expected) return { kind: "gap", missing: expected };
    steps.push({ height, newSetId: set });
  }
  return { kind: "rotations", steps };
}
