/**
 * Which claim about an Arbitrum chain to submit: pure decisions on what the hub holds and what the L1 shows.
 * Source: polytope-labs/hyperbridge: tesseract/consensus/arb-host/src/{lib,host}.rs; the hub's rules as in
 * `verify_update.ts`.
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import type { AssertionCreated, NodeCreated } from "./claim_events.ts";
import { nodeClaimHash, parseAssertionWord } from "./claim_hashes.ts";

/** An assertion with what the L1 says about it. */
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

/** Why a claim is not worth a proof. */
export type ClaimReason =
  /** Fishermen ruled it out. */
  | "blacklisted"
  /** Created after the L1 block in which the hub can check proofs. */
  | "beyond_hub_l1_height"
  /** The rollup does not have the parent (yet, or any more). */
  | "parent_missing"
  /** The parent has two children: one of them is wrong. */
  | "challenged";

/** Claims in the order in which to try them, and those that are not worth it. */
export interface ClaimPlan<Found> {
  /** Newest first. The first whose block is above the hub's height and that can be proved is to be submitted. */
  readonly candidates: readonly Found[];
  readonly passedOver: readonly { readonly claim: Found; readonly reason: ClaimReason }[];
}

/** What the hub holds that decides over claims. */
export interface ClaimPlanInput {
  /** At least those of the claims at hand that are ruled out. */
  readonly blacklistedClaims: ReadonlySet<Hash256>;
  /** Height of the proofs, at most the hub's L1 height. */
  readonly l1Height: bigint;
}

/**
 * Sorts assertions into candidates and others.
 * @param found in the order of the logs.
 */
export function planAssertions(
  found: readonly FoundAssertion[],
  facts: ClaimPlanInput,
): ClaimPlan<FoundAssertion> {
  return partition(found.toReversed(), ({ event, l1Height, parentWord }) => {
    if (facts.blacklistedClaims.has(event.assertionHash)) return "blacklisted";
    if (l1Height > facts.l1Height) return "beyond_hub_l1_height";
    if (parentWord === undefined || BigInt(parentWord) === 0n) return "parent_missing";
    return parseAssertionWord(parentWord).secondChildBlock === 0n ? undefined : "challenged";
  });
}

/** Sorts nodes into candidates, by number, and others. */
export function planNodes(found: readonly FoundNode[], facts: ClaimPlanInput): ClaimPlan<FoundNode> {
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
): ClaimPlan<Found> {
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
 * Whether the hub gains by a claim that ends at a block: it stores nothing at or below the height it has.
 * @param hubHeight height of the chain on the hub; undefined when there is none.
 */
export function isWorthSubmitting(l2Height: bigint, hubHeight: bigint | undefined): boolean {
  return hubHeight === undefined || l2Height > hubHeight;
}
