/**
 * Planning of the next BSC update: pure decisions on the client's state and the chain's head. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/bsc/src/{lib,notification}.rs,
 * modules/consensus/bsc/prover/src/lib.rs; the hub's rules as in `verify_update.ts`.
 */
import { epochBlock, epochOfBlock } from "./extra_data.ts";
import type { BscConsensusState, StagedValidators, VoteKeys } from "./update.ts";

/** Blocks of a range, both ends included. */
export interface BlockRange {
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * Purpose of an update: `stage` proves the set that the next epoch announces, with votes of the current one; `enact`
 * makes the staged set current, with its own votes; `advance` proves a newer block and changes no set.
 */
export type BscPurpose = "stage" | "enact" | "advance";

/** An update to search for. */
export interface BscSearch {
  readonly action: "search";
  readonly purpose: BscPurpose;
  /** Epoch of valid sources: for `advance` the current one, otherwise the one that announces the set. */
  readonly epoch: bigint;
  /** Blocks whose votes may be suitable. */
  readonly attested: BlockRange;
  /** End of the range to start at: `lowest` has the shortest ancestry, `highest` proves the newest block. */
  readonly startAt: "lowest" | "highest";
  /** Set that signs the votes. */
  readonly signers: VoteKeys;
  /** False: another set may sign them, around a rotation, so that a wrong signature does not incriminate the endpoint. */
  readonly isSignedForSure: boolean;
}

/** Reason that there is nothing to search for yet. */
export type BscWaitReason =
  /** No block after the trusted one has usable votes. */
  | "no_new_block"
  /** The node's chain ends in an epoch before the client's. */
  | "node_behind";

/** Reason that no update can advance the client: it needs a new state from the hub's governance. */
export type BscUnrecoverableReason =
  /** Too few blocks are left after the trusted one in the only epoch in which the staged set can be enacted. */
  | "enactment_missed"
  /** The same for the epoch that announces the next set. */
  | "staging_missed"
  /** The trusted block is two epochs ahead of the trusted set. */
  | "epochs_skipped";

/** Next step. */
export type BscPlan =
  | BscSearch
  | { readonly action: "wait"; readonly reason: BscWaitReason }
  | { readonly action: "unrecoverable"; readonly reason: BscUnrecoverableReason };

/** Inputs of the decision besides the trusted state. */
export interface BscPlanInput {
  /** Newest block of the node. */
  readonly head: bigint;
  /** Blocks of an epoch as the hub stores it. */
  readonly epochLength: bigint;
}

/** Maximum number of updates in one extrinsic. */
export const MAX_CHAINED_UPDATES = 8;

/** A vote is for the parent of its block or an older one, and its source is older still. */
const SOURCE_DISTANCE = 2n;

/**
 * Plans the next search. To catch up on missed epochs, verify the update that was found, plan again with the resulting
 * state, and put all updates into one extrinsic in this order ({@link isChainable}).
 */
export function planBscUpdate(trusted: BscConsensusState, facts: BscPlanInput): BscPlan {
  const staged = trusted.nextValidators;
  if (staged !== undefined) return planEnactment(trusted, staged, facts);
  const { epochLength, head } = facts;
  if (epochOfBlock(trusted.finalizedHeight, epochLength) > trusted.currentEpoch + 1n) {
    return { action: "unrecoverable", reason: "epochs_skipped" };
  }
  if (epochOfBlock(head, epochLength) < trusted.currentEpoch) {
    return { action: "wait", reason: "node_behind" };
  }
  const next = epochBlock(trusted.currentEpoch + 1n, epochLength);
  // The first two blocks of an epoch vote for sources of the previous epoch.
  const isStaging = head >= next + SOURCE_DISTANCE || trusted.finalizedHeight >= next;
  return isStaging ? planStaging(trusted, facts) : planAdvance(trusted, facts);
}

function firstUseful(trusted: BscConsensusState): bigint {
  return trusted.finalizedHeight + 1n + SOURCE_DISTANCE;
}

function search(options: Omit<BscSearch, "action">): BscPlan {
  return { action: "search", ...options };
}

function planAdvance(trusted: BscConsensusState, { head, epochLength }: BscPlanInput): BscPlan {
  const firstOfEpoch = epochBlock(trusted.currentEpoch, epochLength);
  const from = highestOf(firstUseful(trusted), firstOfEpoch);
  if (from > head) return { action: "wait", reason: "no_new_block" };
  return search({
    purpose: "advance",
    epoch: trusted.currentEpoch,
    attested: { from, to: head },
    startAt: "highest",
    signers: trusted.currentValidators,
    // A client that was created in this epoch does not know the previous set, which signs at first. Updates never lead
    // to such a state: they enact a set above that block.
    isSignedForSure: trusted.currentEpoch === 0n || trusted.finalizedHeight !== firstOfEpoch,
  });
}

/** The staged set can only be enacted in the rest of the same epoch, so the lowest block is the best. */
function planStaging(trusted: BscConsensusState, { head, epochLength }: BscPlanInput): BscPlan {
  const epoch = trusted.currentEpoch + 1n;
  const first = epochBlock(epoch, epochLength);
  const from = highestOf(first + SOURCE_DISTANCE, firstUseful(trusted));
  const last = first + epochLength - 2n;
  if (from > last) return { action: "unrecoverable", reason: "staging_missed" };
  if (from > head) return { action: "wait", reason: "no_new_block" };
  return search({
    purpose: "stage",
    epoch,
    attested: { from, to: lowestOf(last, head) },
    startAt: "lowest",
    signers: trusted.currentValidators,
    isSignedForSure: false,
  });
}

/** The chain itself switches to the staged set later than the hub allows it, so the highest block is the best. */
function planEnactment(
  trusted: BscConsensusState,
  { rotationBlock, validators }: StagedValidators,
  { head, epochLength }: BscPlanInput,
): BscPlan {
  const epoch = epochOfBlock(rotationBlock, epochLength);
  const first = epochBlock(epoch, epochLength);
  const last = first + epochLength - 1n;
  // A source that is the epoch's first block would stage the set again.
  const possible = highestOf(firstUseful(trusted), first + 1n + SOURCE_DISTANCE);
  const from = highestOf(possible, rotationBlock);
  if (from > last) return { action: "unrecoverable", reason: "enactment_missed" };
  if (from > head) return { action: "wait", reason: "no_new_block" };
  return search({
    purpose: "enact",
    epoch,
    attested: { from, to: lowestOf(last, head) },
    startAt: "highest",
    signers: validators,
    isSignedForSure: false,
  });
}

/** True when further updates may follow one of this plan in the same extrinsic: it catches up. */
export function isChainable(plan: BscPlan): boolean {
  return plan.action === "search" && plan.purpose !== "advance";
}

function highestOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function lowestOf(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
