/**
 * Decides what receipts and the hub's response mean for a group of claims. Pure.
 * Rules: docs/protocol/messaging.md sections 14.2 and 14.3. A row is claimed only when the hub says so (I7); one bad
 * row must not keep the fees of 49 others.
 */
import { equalBytes, type Hash256 } from "../../../core/encoding/bytes.ts";
import type { ClaimGroup } from "./claim_plan.ts";
import { bisect } from "../../relay/decisions/batch.ts";

/** Row whose receipt at the proof height is not ours. */
export interface LostReceipt {
  readonly commitment: Hash256;
  /** `gone`: no receipt at all (a reorganisation took it); `other`: it names another relayer. */
  readonly found: "gone" | "other";
}

/** Group without the rows that would invalidate it. */
export interface CheckedGroup {
  /** `undefined` when nothing is left. Its fee is not reduced: the hub sums what it finds. */
  readonly group: ClaimGroup | undefined;
  /** To be marked `lost`. */
  readonly lost: readonly LostReceipt[];
}

/**
 * Compares the receipts that the proof contains with the recorded relayer.
 * @param receipts per commitment of the group, `undefined` for none
 */
export function checkReceipts(
  group: ClaimGroup,
  receipts: readonly (Uint8Array | undefined)[],
): CheckedGroup {
  if (receipts.length !== group.commitments.length) throw new Error("Receipts do not match the claims");
  const kept: Hash256[] = [];
  const lost: LostReceipt[] = [];
  for (const [index, commitment] of group.commitments.entries()) {
    const receipt = receipts[index];
    if (receipt === undefined) lost.push({ commitment, found: "gone" });
    else if (equalBytes(receipt, group.relayer)) kept.push(commitment);
    else lost.push({ commitment, found: "other" });
  }
  return { group: kept.length === 0 ? undefined : { ...group, commitments: kept }, lost };
}

/** Request whose proof shows less than its latest fee: the hub would pay the old one, and only once. */
export interface RaisedFee {
  readonly commitment: Hash256;
  /** Units of the source's fee token. */
  readonly newest: bigint;
  readonly proven: bigint;
}

/**
 * Compares the fees that the proof contains with the newest ones on the source.
 * @param fees per commitment of the group
 */
export function checkFees(
  group: ClaimGroup,
  fees: readonly bigint[],
): { readonly group: ClaimGroup | undefined; readonly raised: readonly RaisedFee[] } {
  if (fees.length !== group.commitments.length) throw new Error("Fees do not match the claims");
  const raised = group.commitments.flatMap((commitment, index): readonly RaisedFee[] => {
    const newest = group.minFees.get(commitment) ?? 0n;
    const proven = fees[index] ?? 0n;
    return proven < newest ? [{ commitment, newest, proven }] : [];
  });
  const waiting = new Set(raised.map(({ commitment }) => commitment));
  const kept = group.commitments.filter((commitment) => !waiting.has(commitment));
  return { group: kept.length === 0 ? undefined : { ...group, commitments: kept }, raised };
}

/**
 * Decides the outcome of a `lost` row by the receipt at a newer final height of the destination: ours again, finally
 * delivered by another relayer, or undelivered, so that the message returns to its leg.
 */
export function judgeLost(
  receipt: Uint8Array | undefined,
  relayer: Uint8Array,
): "unclaimed" | "drop" | "deliver_again" {
  if (receipt === undefined) return "deliver_again";
  return equalBytes(receipt, relayer) ? "unclaimed" : "drop";
}

/** Response of the hub to a claim. */
export type ClaimAnswer =
  /** In a final block, with its event. */
  | { readonly kind: "finalized"; readonly hubBlock: bigint }
  /** The transaction pool or the pallet refused it. */
  | {
    readonly kind: "refused";
    /** `Relayer.Nonce` when it was signed and now; absent without a beneficiary. */
    readonly nonce?: { readonly signed: bigint; readonly now: bigint } | undefined;
  }
  /** An extrinsic with the same proof is already in the transaction pool (1013, 1014). */
  | { readonly kind: "conflict" }
  /** It left the transaction pool, or its outcome is unknown. */
  | { readonly kind: "vanished" };

/** Next action for a group. */
export type ClaimNext =
  | { readonly kind: "claimed"; readonly commitments: readonly Hash256[]; readonly hubBlock: bigint }
  /** Submit these, one after the other, each with a fresh nonce. */
  | {
    readonly kind: "submit";
    readonly groups: readonly ClaimGroup[];
    readonly why: "nonce_moved" | "bisect";
  }
  /** Check this row alone: receipt, fee and claim are read again, then it waits like a failed hub message. */
  | { readonly kind: "defer"; readonly commitment: Hash256 }
  /** Read what the hub has recorded, then plan again. */
  | { readonly kind: "replan" };

/** Decides the next action for a group by the hub's response. */
export function applyClaimAnswer(group: ClaimGroup, answer: ClaimAnswer): ClaimNext {
  switch (answer.kind) {
    case "finalized":
      return { kind: "claimed", commitments: group.commitments, hubBlock: answer.hubBlock };
    case "conflict":
    case "vanished":
      return { kind: "replan" };
    case "refused":
      return applyRefusal(group, answer.nonce);
  }
}

function applyRefusal(
  group: ClaimGroup,
  nonce: { readonly signed: bigint; readonly now: bigint } | undefined,
): ClaimNext {
  if (nonce !== undefined && nonce.signed !== nonce.now) {
    return { kind: "submit", groups: [group], why: "nonce_moved" };
  }
  const [commitment] = group.commitments;
  if (commitment === undefined) throw new Error("Empty group of claims");
  if (group.commitments.length === 1) return { kind: "defer", commitment };
  const groups = bisect(group.commitments).map((commitments) => ({ ...group, commitments }));
  return { kind: "submit", groups, why: "bisect" };
}
