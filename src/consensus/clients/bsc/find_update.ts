/**
 * Finds the update that a plan asks for: walks over the blocks whose votes may do, fetches what the first fitting vote
 * names, and holds the result against the hub's rules.
 * Source: docs/protocol/evm-consensus.md section 9.4.
 */
import { BscError } from "./spec/bsc_error.ts";
import type { BscNetwork } from "./spec/bsc_network.ts";
import type { BscConsensusState } from "./spec/consensus_state.ts";
import { type BlockRange, type BscSearch, chooseVote, type VoteRefusal } from "./spec/plan_update.ts";
import type { BscUpdate } from "./spec/update.ts";
import { type BscHubView, type VerifiedBscUpdate, verifyBscUpdate } from "./spec/verify_update.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import type { ChainIdReport } from "../../evm_reader.ts";

/** Headers of the chain. Each has the hash of its fields; what does not exist is a fault. */
export interface BscHeaders {
  /** Hosts of the endpoints that are asked. */
  readonly hosts: readonly string[];
  /** The newest header. */
  fetchHead(signal: AbortSignal): Promise<EvmBlockHeader>;
  fetchByHash(hash: Hash256, signal: AbortSignal): Promise<EvmBlockHeader>;
  /** Headers of a range, ascending. */
  fetchRange(range: BlockRange, signal: AbortSignal): Promise<readonly EvmBlockHeader[]>;
  /** What each endpoint says it serves. */
  fetchChainIds(signal: AbortSignal): Promise<readonly ChainIdReport[]>;
}

/** What a search works with. */
export interface SearchInput {
  readonly network: BscNetwork;
  readonly hub: BscHubView;
  readonly epochLength: bigint;
}

/** What a search brought. */
export type SearchResult =
  | { readonly kind: "found"; readonly update: BscUpdate; readonly verified: VerifiedBscUpdate }
  | {
    readonly kind: "none";
    /** Why the last block looked at did not do. */
    readonly reason: VoteRefusal | undefined;
    /** Refusals of our verifier on the way: an endpoint served what is not the chain's. */
    readonly refused: readonly BscError[];
  };

/** Headers fetched at a time. A block without votes is normal, many in a row are not. */
const HEADERS_AT_A_TIME = 8n;

/** Blocks looked at in one search; with fewer votes than that the chain itself finalizes nothing. */
const MAX_BLOCKS = 256n;

/** Updates that our verifier may refuse before the search is given up: each costs a signature check. */
const MAX_REFUSED = 4;

/** Votes of another set that are tried around a rotation before the search is given up. */
const MAX_OTHER_SET_VOTES = 16;

/** Looks for an update that `trusted` accepts. */
export async function findBscUpdate(
  headers: BscHeaders,
  trusted: BscConsensusState,
  wanted: BscSearch,
  facts: SearchInput,
  signal: AbortSignal,
): Promise<SearchResult> {
  const refused: BscError[] = [];
  let reason: VoteRefusal | undefined;
  let otherSigners = 0;
  const voteFacts = {
    network: facts.network,
    epochLength: facts.epochLength,
    finalizedHeight: trusted.finalizedHeight,
  };
  for (const range of slices(wanted)) {
    const fetched = await headers.fetchRange(range, signal);
    for (const attested of wanted.startAt === "lowest" ? fetched : fetched.toReversed()) {
      const choice = chooseVote(wanted, attested, voteFacts);
      if (choice.action === "skip") {
        reason = choice.reason;
        continue;
      }
      const [sourceHeader, targetHeader, epochHeaderAncestry] = await Promise.all([
        headers.fetchByHash(choice.vote.sourceHash, signal),
        headers.fetchByHash(choice.vote.targetHash, signal),
        choice.ancestry === undefined ? [] : headers.fetchRange(choice.ancestry, signal),
      ]);
      const update = { sourceHeader, targetHeader, attestedHeader: attested, epochHeaderAncestry };
      const verified = verify(trusted, update, facts.hub);
      if (!(verified instanceof BscError)) return { kind: "found", update, verified };
      if (!choice.isSignedForSure && verified.code === "signature") {
        reason = "other_signers";
        otherSigners++;
      } else refused.push(verified);
      if (refused.length === MAX_REFUSED || otherSigners === MAX_OTHER_SET_VOTES) {
        return { kind: "none", reason, refused };
      }
    }
  }
  return { kind: "none", reason, refused };
}

function verify(
  trusted: BscConsensusState,
  update: BscUpdate,
  hub: BscHubView,
): VerifiedBscUpdate | BscError {
  try {
    return verifyBscUpdate(trusted, update, hub);
  } catch (error) {
    if (error instanceof BscError) return error;
    throw error;
  }
}

/** The range cut into parts, from the end at which the search begins. */
function* slices({ attested: { from, to }, startAt }: BscSearch): Generator<BlockRange> {
  const count = to - from + 1n < MAX_BLOCKS ? to - from + 1n : MAX_BLOCKS;
  for (let done = 0n; done < count; done += HEADERS_AT_A_TIME) {
    const size = count - done < HEADERS_AT_A_TIME ? count - done : HEADERS_AT_A_TIME;
    yield startAt === "lowest"
      ? { from: from + done, to: from + done + size - 1n }
      : { from: to - done - size + 1n, to: to - done };
  }
}
