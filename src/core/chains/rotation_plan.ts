/**
 * Decides which consensus proofs of the hub a chain needs. Pure. Rules: docs/protocol/messaging.md section 7.2.2:
 * authority sets rotate in order. The number of proofs per transaction: `transaction_bytes.ts`.
 */
import type { AcceptedProof } from "./hub.ts";

/** Rotation: the next authority set, and the proven height of the hub. */
export interface RotationStep {
  readonly height: bigint;
  readonly newSetId: bigint;
}

/** Rotations that a chain still needs, ascending. */
export type RotationPlan =
  | { readonly kind: "rotations"; readonly steps: readonly RotationStep[] }
  /** The hub no longer keeps the rotation to this set: the chain cannot catch up. */
  | { readonly kind: "gap"; readonly missing: bigint };

/** Proof of the highest height above the chain's known height; `undefined`: none. */
export function newestProof(proofs: readonly AcceptedProof[], known: bigint): AcceptedProof | undefined {
  let newest: AcceptedProof | undefined;
  for (const proof of proofs) {
    if (proof.height > known && (newest === undefined || proof.height > newest.height)) newest = proof;
  }
  return newest;
}

/**
 * Rotations between the chain's authority set and the newest proof.
 * @param rotations next set, and the proven height of its rotation
 * @param facts.newest `undefined`: every rotation that the chain lacks
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
