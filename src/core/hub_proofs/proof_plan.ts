/**
 * Decides which of the consensus proofs that the hub has accepted a chain needs. Pure. Rules: docs/protocol/messaging.md
 * section 7.2.2: authority sets rotate in order. The number of proofs per transaction: `transaction_bytes.ts`.
 */
import type { AcceptedProofIndex } from "../chains/hub.ts";

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

/** Plans all rotations above the chain's authority set. */
export function planRotations({ rotations }: AcceptedProofIndex, setId: bigint): RotationPlan {
  const needed = [...rotations].filter(([set]) => set > setId).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const steps: RotationStep[] = [];
  for (const [set, height] of needed) {
    const expected = setId + BigInt(steps.length) + 1n;
    if (set !== expected) return { kind: "gap", missing: expected };
    steps.push({ height, newSetId: set });
  }
  return { kind: "rotations", steps };
}

/** Maximum number of proofs for messages that are tried where the bytes of newer ones are not to be had. */
const MAX_TRIED = 8;

/** Proven heights above `known` that are no rotations, newest first: one of them is enough. */
export function newerHeights({ messaging }: AcceptedProofIndex, known: bigint): readonly bigint[] {
  return messaging.filter((height) => height > known).toReversed().slice(0, MAX_TRIED);
}
