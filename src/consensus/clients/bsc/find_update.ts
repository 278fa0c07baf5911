/**
 * Finds the update that a plan asks for: scans the blocks for suitable votes, fetches the headers that the first
 * suitable vote names, and verifies the result by the hub's rules. Source: docs/protocol/evm-consensus.md section 9.4.
 */
import { recover } from "../../../core/encoding/coded_error.ts";
import type { VerifiedUpdate } from "../../spec/header_commitment.ts";
import {
  BscError,
  type BscNetwork,
  epochBlock,
  ExtraDataError,
  parseExtraData,
  type VoteAttestation,
  type VoteData,
  voteThreshold,
} from "./spec/extra_data.ts";
import type { BlockRange, BscSearch, SignedTargets } from "./spec/plan_update.ts";
import { type BscConsensusState, type BscUpdate, MAX_ANCESTRY, type VoteKeys } from "./spec/update.ts";
import { type BscHubView, isVoter, verifyBscUpdate } from "./spec/verify_update.ts";
import { type EvmReader, fetchEvmHeader } from "../../evm_reader.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import { partsOf } from "../../../core/runtime/slices.ts";

/** Headers of the chain. Each matches the hash of its fields; a missing header is a fault. */
export type BscHeaders = Pick<EvmReader, "chain" | "hosts" | "fetchHeaders" | "fetchChainIds">;

/** Headers per request: an ancestry may need a thousand. */
const PER_REQUEST = 64;

/** Fetches the headers of a range, ascending. */
async function fetchRange(
  reader: Pick<EvmReader, "fetchHeaders">,
  { from, to }: BlockRange,
  signal: AbortSignal,
): Promise<readonly EvmBlockHeader[]> {
  const headers: EvmBlockHeader[] = [];
  const blocks = Array.from({ length: Number(to - from) + 1 }, (_, at) => from + BigInt(at));
  for (const part of partsOf(blocks, PER_REQUEST)) {
    headers.push(...(await reader.fetchHeaders(part, signal)).map(({ header }) => header));
  }
  return headers;
}

/** The chain and the hub's rules for it. */
export interface SearchContext {
  readonly headers: BscHeaders;
  readonly hub: BscHubView & { readonly epochLength: bigint };
}

/** Result of a search. */
export type SearchResult =
  | {
    readonly kind: "found";
    readonly update: BscUpdate;
    readonly verified: VerifiedUpdate<BscConsensusState>;
  }
  | {
    readonly kind: "none";
    /** Reason that the last block was unsuitable. */
    readonly reason: VoteRefusal | undefined;
    /** Refusals of our verifier: an endpoint served data of another chain. */
    readonly refused: readonly BscError[];
  };

/** Headers fetched at a time. A block without votes is normal, many in a row are not. */
const HEADERS_AT_A_TIME = 8n;

/** Maximum number of blocks in one search; if none has votes, the chain itself finalizes nothing. */
const MAX_BLOCKS = 256n;

/** Updates that our verifier may refuse before the search is abandoned: each costs a signature check. */
const MAX_REFUSED = 16;

/** Searches for an update that `trusted`, the state of the client, accepts. */
export async function findBscUpdate(
  { headers, hub }: SearchContext,
  { trusted, wanted }: { readonly trusted: BscConsensusState; readonly wanted: BscSearch },
  signal: AbortSignal,
): Promise<SearchResult> {
  const refused: BscError[] = [];
  let reason: VoteRefusal | undefined;
  let tried = 0;
  const voteFacts = { ...hub, finalizedHeight: trusted.finalizedHeight };
  for (const range of slices(wanted)) {
    const fetched = await fetchRange(headers, range, signal);
    for (const attested of wanted.startAt === "lowest" ? fetched : fetched.toReversed()) {
      const choice = chooseVote(wanted, attested, voteFacts);
      if (choice.action === "skip") {
        reason = choice.reason;
        continue;
      }
      const [sourceHeader, targetHeader, epochHeaderAncestry] = await Promise.all([
        fetchEvmHeader(headers, choice.vote.sourceHash, signal),
        fetchEvmHeader(headers, choice.vote.targetHash, signal),
        choice.ancestry === undefined ? [] : fetchRange(headers, choice.ancestry, signal),
      ]);
      const update = { sourceHeader, targetHeader, attestedHeader: attested, epochHeaderAncestry };
      const verified = verify(trusted, update, hub);
      if (!(verified instanceof BscError)) return { kind: "found", update, verified };
      // Around a rotation another set may have signed.
      if (!choice.isSignedForSure && verified.code === "signature") reason = "other_signers";
      else refused.push(verified);
      if (++tried === MAX_REFUSED) return { kind: "none", reason, refused };
    }
  }
  return { kind: "none", reason, refused };
}

function verify(
  trusted: BscConsensusState,
  update: BscUpdate,
  hub: BscHubView,
): VerifiedUpdate<BscConsensusState> | BscError {
  return recover(BscError, () => verifyBscUpdate(trusted, update, hub), (error) => error);
}

/** Splits the range into parts, from the end at which the search begins. */
function* slices({ attested: { from, to }, startAt }: BscSearch): Generator<BlockRange> {
  const count = to - from + 1n < MAX_BLOCKS ? to - from + 1n : MAX_BLOCKS;
  for (let done = 0n; done < count; done += HEADERS_AT_A_TIME) {
    const size = count - done < HEADERS_AT_A_TIME ? count - done : HEADERS_AT_A_TIME;
    yield startAt === "lowest"
      ? { from: from + done, to: from + done + size - 1n }
      : { from: to - done - size + 1n, to: to - done };
  }
}

/** Reason that the votes in a block are unsuitable. The next block may have others. */
type VoteRefusal =
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
  const read = (): VoteAttestation | VoteRefusal => parseExtraData(network, header).attestation ?? "no_vote";
  return recover(ExtraDataError, read, () => "malformed_extra_data");
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
