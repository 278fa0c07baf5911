/**
 * Planning of the next BSC update: pure decisions on the client's state and the chain's head. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/bsc/src/{lib,notification}.rs,
 * modules/consensus/bsc/prover/src/lib.rs; the hub's rules as in `verify_update.ts`.
 */
import { equalBytes } from "../../../../core/encoding/bytes.ts";
import {
  type BscNetwork,
  epochBlock,
  epochOfBlock,
  firstBlockOfNewSet,
  firstTargetOfNewSet,
  voteThreshold,
} from "./bsc_network.ts";
import type { BscConsensusState, StagedValidators, VoteKeys } from "./consensus_state.ts";
import { ExtraDataError, parseExtraData, type VoteAttestation, type VoteData } from "./extra_data.ts";
import type { EvmBlockHeader } from "../../../../core/evm/block_header.ts";
import { MAX_ANCESTRY } from "./update.ts";
import { isVoter } from "./verify_update.ts";

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
  const from = highestOf(possible, firstSignedByStaged(trusted, staged, first, facts));
  if (from > head) {
    return { action: "wait", reason: possible > head ? "no_new_block" : "rotation_not_reached" };
  }
  return search({
    purpose: "enact",
    epoch,
    attested: { from: lowestOf(from, last), to: lowestOf(last, head) },
    startAt: "highest",
    signers: staged.validators,
    targets: targetsOfStaged(trusted, staged, first, facts),
  });
}

function targetsOfStaged(
  { currentValidators }: BscConsensusState,
  staged: StagedValidators,
  firstOfEpoch: bigint,
  { turnLength }: BscPlanInput,
): SignedTargets {
  if (isSameSet(currentValidators, staged.validators)) return ALL_TARGETS;
  if (turnLength === undefined) return NO_TARGET_IS_SURE;
  const from = firstTargetOfNewSet(firstOfEpoch, currentValidators.length, turnLength);
  return { from, to: undefined, others: "skip" };
}

function firstSignedByStaged(
  trusted: BscConsensusState,
  staged: StagedValidators,
  first: bigint,
  { turnLength }: BscPlanInput,
): bigint {
  const { currentValidators } = trusted;
  if (turnLength === undefined || isSameSet(currentValidators, staged.validators)) {
    return staged.rotationBlock;
  }
  return highestOf(staged.rotationBlock, firstBlockOfNewSet(first, currentValidators.length, turnLength));
}

/** True when two sets have the same keys in the same order. */
export function isSameSet(a: VoteKeys, b: VoteKeys): boolean {
  return a.length === b.length && a.every((key, index) => equalBytes(key, b[index] ?? new Uint8Array(0)));
}

/** True when further updates may follow one of this plan in the same extrinsic: it catches up. */
export function isChainable(plan: BscPlan): boolean {
  return plan.action === "search" && plan.purpose !== "advance";
}

/** Reason that the votes in a block are unsuitable. The next block may have others. */
export type VoteRefusal =
  | "malformed_extra_data"
  /** A block without votes is normal. */
  | "no_vote"
  /** The block is not in the range. */
  | "outside_range"
  /** The target is not the child of the source, so the hub would not accept the source as final. */
  | "not_adjacent"
  | "source_not_newer"
  /**
   * The source is of another epoch than the purpose requires, or its first block where that would stage a set again.
   */
  | "source_epoch"
  /** A voter is not in the set that signs. */
  | "unknown_voter"
  | "too_few_voters"
  /** The previous or next set signs votes for this target: around a rotation. */
  | "other_signers"
  /** More headers than an update may carry. */
  | "ancestry_too_long";

/** Headers to fetch for an update on the votes of a block. */
export type VoteChoice =
  | {
    readonly action: "fetch";
    /** Vote that names source and target, to be fetched by hash. */
    readonly vote: VoteData;
    /** Headers that lead from the epoch's first block to the source's parent; undefined when none are needed. */
    readonly ancestry: BlockRange | undefined;
    /** False: another set may have signed, so that a wrong signature does not incriminate the endpoint. */
    readonly isSignedForSure: boolean;
  }
  | { readonly action: "skip"; readonly reason: VoteRefusal };

/** Decides whether the votes in `attested` are suitable for a search. Signatures are left to `verifyBscUpdate`. */
export function chooseVote(
  wanted: BscSearch,
  attested: EvmBlockHeader,
  facts: {
    readonly network: BscNetwork;
    readonly epochLength: bigint;
    readonly finalizedHeight: bigint;
  },
): VoteChoice {
  const attestation = readVote(facts.network, attested);
  if (typeof attestation === "string") return { action: "skip", reason: attestation };
  const { vote } = attestation;
  const { from, to } = wanted.attested;
  const first = epochBlock(wanted.epoch, facts.epochLength);
  const reason = attested.number < from || attested.number > to
    ? "outside_range"
    : vote.targetNumber !== vote.sourceNumber + 1n
    ? "not_adjacent"
    : vote.sourceNumber <= facts.finalizedHeight
    ? "source_not_newer"
    : refuseSource(wanted, vote.sourceNumber, first) ?? refuseVoters(wanted.signers, attestation.voters);
  if (reason !== undefined) return { action: "skip", reason };
  const isSignedForSure = isSignedTarget(wanted.targets, vote.targetNumber);
  if (!isSignedForSure && wanted.targets.others === "skip") {
    return { action: "skip", reason: "other_signers" };
  }
  const isAncestryDue = wanted.purpose === "stage" && vote.sourceNumber > first;
  return {
    action: "fetch",
    vote,
    ancestry: isAncestryDue ? { from: first, to: vote.sourceNumber - 1n } : undefined,
    isSignedForSure,
  };
}

function isSignedTarget({ from, to }: SignedTargets, target: bigint): boolean {
  return (from === undefined || target >= from) && (to === undefined || target <= to);
}

function readVote(network: BscNetwork, header: EvmBlockHeader): VoteAttestation | VoteRefusal {
  try {
    return parseExtraData(network, header).attestation ?? "no_vote";
  } catch (cause) {
    if (cause instanceof ExtraDataError) return "malformed_extra_data";
    throw cause;
  }
}

function refuseSource({ purpose }: BscSearch, source: bigint, first: bigint): VoteRefusal | undefined {
  if (purpose === "advance") return source === first ? "source_epoch" : undefined;
  if (source < first || (purpose === "enact" && source === first)) return "source_epoch";
  return purpose === "stage" && source - first > BigInt(MAX_ANCESTRY) ? "ancestry_too_long" : undefined;
}

function refuseVoters(signers: VoteKeys, voters: bigint): VoteRefusal | undefined {
  if (voters >> BigInt(signers.length) !== 0n) return "unknown_voter";
  const count = signers.filter((_, index) => isVoter(voters, index)).length;
  return count < voteThreshold(signers.length) ? "too_few_voters" : undefined;
}

function highestOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function lowestOf(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
