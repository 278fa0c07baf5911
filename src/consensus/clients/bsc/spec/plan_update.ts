/**
 * Planning of the next BSC update: pure decisions on the client's state and the chain's head. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/bsc/src/{lib,notification}.rs,
 * modules/consensus/bsc/prover/src/lib.rs; the hub's rules as in `verify_update.ts`.
 */
import { equalBytes } from "../../../../core/encoding/bytes.ts";
import { epochBlock, epochOfBlock, firstBlockOfNewSet, firstTargetOfNewSet } from "./extra_data.ts";
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
  readonly targets: SignedTargets;
}

/** Targets whose votes the set of a search is known to sign; `undefined`: that end is unknown. */
export interface SignedTargets {
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
  /** `skip`: another set signs the others; `try`: the set of the search may sign them. */
  readonly others: "skip" | "try";
}

/** Reason that there is nothing to search for yet. */
export type BscWaitReason =
  /** No block after the trusted one has usable votes. */
  | "no_new_block"
  /** The node's chain ends in an epoch before the client's. */
  | "node_behind"
  /** The staged set does not sign yet. */
  | "rotation_not_reached";

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
  /** Consecutive blocks of one validator in the current epoch; undefined when unknown. */
  readonly turnLength: number | undefined;
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

function planAdvance(trusted: BscConsensusState, { head, epochLength, turnLength }: BscPlanInput): BscPlan {
  const firstOfEpoch = epochBlock(trusted.currentEpoch, epochLength);
  const possible = highestOf(firstUseful(trusted), firstOfEpoch);
  const from = highestOf(possible, firstSignedByInitial(trusted, firstOfEpoch, turnLength));
  if (from > head) {
    return { action: "wait", reason: possible > head ? "no_new_block" : "rotation_not_reached" };
  }
  return search({
    purpose: "advance",
    epoch: trusted.currentEpoch,
    attested: { from, to: head },
    startAt: "highest",
    signers: trusted.currentValidators,
    targets: isInitial(trusted, firstOfEpoch)
      ? { from: firstOfEpoch + epochLength / 2n, to: undefined, others: "try" }
      : ALL_TARGETS,
  });
}

const ALL_TARGETS: SignedTargets = { from: undefined, to: undefined, others: "skip" };
const NO_TARGET_IS_SURE: SignedTargets = { from: undefined, to: -1n, others: "try" };

/** True for a client that was created in this epoch: the previous set, which signs at first, is unknown. */
function isInitial({ currentEpoch, finalizedHeight }: BscConsensusState, firstOfEpoch: bigint): boolean {
  return currentEpoch > 0n && finalizedHeight === firstOfEpoch;
}

/**
 * First target that an initial client's set signs: a client starts with the block that announces its set, and for some
 * blocks the previous set continues to sign. Updates never lead to such a state: they enact a set above that block.
 */
function firstSignedByInitial(
  trusted: BscConsensusState,
  firstOfEpoch: bigint,
  turnLength: number | undefined,
): bigint {
  if (!isInitial(trusted, firstOfEpoch) || turnLength === undefined) return firstOfEpoch;
  return firstBlockOfNewSet(firstOfEpoch, trusted.currentValidators.length, turnLength);
}

function planStaging(trusted: BscConsensusState, facts: BscPlanInput): BscPlan {
  const epoch = trusted.currentEpoch + 1n;
  const first = epochBlock(epoch, facts.epochLength);
  const from = highestOf(first + SOURCE_DISTANCE, firstUseful(trusted));
  const last = lastToStage(trusted, { first, from }, facts);
  if (from > last) return { action: "unrecoverable", reason: "staging_missed" };
  if (from > facts.head) return { action: "wait", reason: "no_new_block" };
  return search({
    purpose: "stage",
    epoch,
    attested: { from, to: lowestOf(last, facts.head) },
    startAt: "lowest",
    signers: trusted.currentValidators,
    targets: targetsOfOldSet(trusted, first, facts),
  });
}

/**
 * Targets that the old set signs. The announced set signs the later ones; whether it is the same is unknown before its
 * header is fetched.
 */
function targetsOfOldSet(
  { currentValidators }: BscConsensusState,
  firstOfEpoch: bigint,
  { turnLength }: BscPlanInput,
): SignedTargets {
  if (turnLength === undefined) return NO_TARGET_IS_SURE;
  const next = firstTargetOfNewSet(firstOfEpoch, currentValidators.length, turnLength);
  return { from: undefined, to: next - 1n, others: "try" };
}

/**
 * Last block to search. One that the old set still signs early in the epoch is preferred, since the staged set can only
 * be enacted in the rest of the same epoch; the hub accepts any that leaves one block.
 */
function lastToStage(
  trusted: BscConsensusState,
  { first, from }: { readonly first: bigint; readonly from: bigint },
  { epochLength, turnLength }: BscPlanInput,
): bigint {
  const count = trusted.currentValidators.length;
  const half = first + epochLength / 2n;
  const lastOfSet = turnLength === undefined ? half : firstBlockOfNewSet(first, count, turnLength) - 1n;
  const preferred = highestOf(lastOfSet, half);
  const lastPossible = first + epochLength - 2n;
  return from > preferred ? lastPossible : lowestOf(preferred, lastPossible);
}

function planEnactment(trusted: BscConsensusState, staged: StagedValidators, facts: BscPlanInput): BscPlan {
  const { epochLength, head } = facts;
  const epoch = epochOfBlock(staged.rotationBlock, epochLength);
  const first = epochBlock(epoch, epochLength);
  const last = first + epochLength - 1n;
  // A source that is the epoch's first block would stage the set again.
  const possible = highestOf(firstUseful(trusted), first + 1n + SOURCE_DISTANCE);
  if (highestOf(possible, staged.rotationBlock) > last) {
    return { action: "unrecoverable", reason: "enactment_missed" };
  }
  const rotation = { current: trusted.currentValidators, staged, first, turnLength: facts.turnLength };
  const from = highestOf(possible, firstSignedByStaged(rotation));
  if (from > head) {
    return { action: "wait", reason: possible > head ? "no_new_block" : "rotation_not_reached" };
  }
  return search({
    purpose: "enact",
    epoch,
    attested: { from: lowestOf(from, last), to: lowestOf(last, head) },
    startAt: "highest",
    signers: staged.validators,
    targets: targetsOfStaged(rotation),
  });
}

/** The change of the signing set within an epoch. */
interface Rotation {
  readonly current: VoteKeys;
  readonly staged: StagedValidators;
  /** First block of the epoch. */
  readonly first: bigint;
  readonly turnLength: number | undefined;
}

function targetsOfStaged({ current, staged, first, turnLength }: Rotation): SignedTargets {
  if (isSameSet(current, staged.validators)) return ALL_TARGETS;
  if (turnLength === undefined) return NO_TARGET_IS_SURE;
  const from = firstTargetOfNewSet(first, current.length, turnLength);
  return { from, to: undefined, others: "skip" };
}

function firstSignedByStaged({ current, staged, first, turnLength }: Rotation): bigint {
  if (turnLength === undefined || isSameSet(current, staged.validators)) return staged.rotationBlock;
  return highestOf(staged.rotationBlock, firstBlockOfNewSet(first, current.length, turnLength));
}

/** True when two sets have the same keys in the same order. */
export function isSameSet(a: VoteKeys, b: VoteKeys): boolean {
  return a.length === b.length && a.every((key, index) => equalBytes(key, b[index] ?? new Uint8Array(0)));
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
