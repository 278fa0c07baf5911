/**
 * Selection of the claim about an Arbitrum chain to submit: pure decisions on the state of the hub and the L1. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/arb-host/src/{lib,host}.rs; the hub's rules as in `verify_update.ts`.
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import type { AssertionCreated, NodeCreated } from "./claim_events.ts";
import { nodeClaimHash, parseAssertionWord } from "./claim_hashes.ts";

/** An assertion with its state on the L1. */
export interface FoundAssertion {
  readonly event: AssertionCreated;
  /** L1 block of the log. */
  readonly l1Height: bigint;
  /** First word of the parent at the height of the proofs; zero or undefined when the slot is empty. */
  readonly parentWord: Hash256 | undefined;
}

/** A node with the L1 block of its log. */
export interface FoundNode {
  readonly event: NodeCreated;
  readonly l1Height: bigint;
}

/** Reason to skip a claim. */
export type ClaimReason =
  /** Blacklisted by fishermen. */
  | "blacklisted"
  /** Created after the newest L1 block at which the hub can check proofs. */
  | "beyond_hub_l1_height"
  /** The rollup does not have the parent (yet, or any more). */
  | "parent_missing"
  /** The parent has two children: one of them is wrong. */
  | "challenged";

/** Claims in the order in which to try them, and skipped ones. */
export interface RollupClaimPlan<Found> {
  /** Newest first. The first one above the hub's height that can be proved is submitted. */
  readonly candidates: readonly Found[];
  readonly passedOver: readonly { readonly claim: Found; readonly reason: ClaimReason }[];
}

/** State of the hub that the decision depends on. */
export interface RollupClaimPlanInput {
  /** Contains at least the blacklisted ones among the given claims. */
  readonly blacklistedClaims: ReadonlySet<Hash256>;
  /** Height of the proofs, at most the hub's L1 height. */
  readonly l1Height: bigint;
}

/**
 * Splits assertions into candidates and others. @param found in the order of the logs.
 */
export function planAssertions(
  found: readonly FoundAssertion[],
  facts: RollupClaimPlanInput,
): RollupClaimPlan<FoundAssertion> {
  return partition(found.toReversed(), ({ event, l1Height, parentWord }) => {
    if (facts.blacklistedClaims.has(event.assertionHash)) return "blacklisted";
    if (l1Height > facts.l1Height) return "beyond_hub_l1_height";
    if (parentWord === undefined || BigInt(parentWord) === 0n) return "parent_missing";
    return parseAssertionWord(parentWord).secondChildBlock === 0n ? undefined : "challenged";
  });
}

/** Splits nodes into candidates, by number, and others. */
export function planNodes(
  found: readonly FoundNode[],
  facts: RollupClaimPlanInput,
): RollupClaimPlan<FoundNode> {
  const newestFirst = found.toSorted((a, b) => {
    const [left, right] = [a.event.nodeNumber, b.event.nodeNumber];
    return left === right ? 0 : left > right ? -1 : 1;
  });
  return partition(newestFirst, ({ event, l1Height }) => {
    if (facts.blacklistedClaims.has(nodeClaimHash(event))) return "blacklisted";
    return l1Height > facts.l1Height ? "beyond_hub_l1_height" : undefined;
  });
}

function partition<Found>(
  claims: readonly Found[],
  reasonAgainst: (claim: Found) => ClaimReason | undefined,
): RollupClaimPlan<Found> {
  const candidates: Found[] = [];
  const passedOver: { readonly claim: Found; readonly reason: ClaimReason }[] = [];
  for (const claim of claims) {
    const reason = reasonAgainst(claim);
    if (reason === undefined) candidates.push(claim);
    else passedOver.push({ claim, reason });
  }
  return { candidates, passedOver };
}

/**
 * True when a claim that ends at a block advances the hub: it stores nothing at or below its height. @param hubHeight
 * height of the chain on the hub; undefined when there is none.
 */
export function isWorthSubmitting(l2Height: bigint, hubHeight: bigint | undefined): boolean {
  return hubHeight === undefined || l2Height > hubHeight;
}
