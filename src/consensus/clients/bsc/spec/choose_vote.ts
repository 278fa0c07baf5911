/**
 * Choice of the votes for an update: pure decisions on a block's header. Source: polytope-labs/hyperbridge:
 * modules/consensus/bsc/prover/src/lib.rs; the hub's rules as in `verify_update.ts`.
 */
import type { EvmBlockHeader } from "../../../../core/evm/block_header.ts";
import { type BscNetwork, epochBlock, voteThreshold } from "./bsc_network.ts";
import type { VoteKeys } from "./consensus_state.ts";
import { ExtraDataError, parseExtraData, type VoteAttestation, type VoteData } from "./extra_data.ts";
import type { BlockRange, BscSearch, SignedTargets } from "./plan_update.ts";
import { MAX_ANCESTRY } from "./update.ts";
import { isVoter } from "./verify_update.ts";

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
