/**
 * Finds the update that a plan asks for: scans the blocks for suitable votes, fetches the headers that the first
 * suitable vote names, and verifies the result by the hub's rules. Source: docs/protocol/evm-consensus.md section 9.4.
 */
import { BscError } from "./spec/bsc_error.ts";
import type { BscNetwork } from "./spec/bsc_network.ts";
import type { BscConsensusState } from "./spec/consensus_state.ts";
import { chooseVote, type VoteRefusal } from "./spec/choose_vote.ts";
import type { BlockRange, BscSearch } from "./spec/plan_update.ts";
import type { BscUpdate } from "./spec/update.ts";
import { type BscHubView, type VerifiedBscUpdate, verifyBscUpdate } from "./spec/verify_update.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import { type EvmReader, fetchEvmHeader } from "../../evm_reader.ts";

/** Headers of the chain. Each matches the hash of its fields; a missing header is a fault. */
export type BscHeaders = Pick<EvmReader, "chain" | "hosts" | "fetchHeaders" | "fetchChainIds">;

/** Headers per request: an ancestry may need a thousand. */
const PER_REQUEST = 64n;

/** Fetches the headers of a range, ascending. */
async function fetchRange(
  reader: Pick<EvmReader, "fetchHeaders">,
  { from, to }: BlockRange,
  signal: AbortSignal,
): Promise<readonly EvmBlockHeader[]> {
  const headers: EvmBlockHeader[] = [];
  for (let first = from; first <= to; first += PER_REQUEST) {
    const count = to - first + 1n < PER_REQUEST ? to - first + 1n : PER_REQUEST;
    const wanted = Array.from({ length: Number(count) }, (_, at) => first + BigInt(at));
    headers.push(...(await reader.fetchHeaders(wanted, signal)).map(({ header }) => header));
  }
  return headers;
}

/** The chain and the hub's rules for it. */
export interface SearchContext {
  readonly headers: BscHeaders;
  readonly network: BscNetwork;
  readonly hub: BscHubView;
  readonly epochLength: bigint;
}

/** Update to search for. */
export interface SearchInput {
  /** State of the client that the update builds on. */
  readonly trusted: BscConsensusState;
  readonly wanted: BscSearch;
}

/** Result of a search. */
export type SearchResult =
  | { readonly kind: "found"; readonly update: BscUpdate; readonly verified: VerifiedBscUpdate }
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
const MAX_REFUSED = 4;

/** Votes of another set to try around a rotation before the search is abandoned. */
const MAX_OTHER_SET_VOTES = 16;

/** Searches for an update that `trusted` accepts. */
export async function findBscUpdate(
  context: SearchContext,
  { trusted, wanted }: SearchInput,
  signal: AbortSignal,
): Promise<SearchResult> {
  const { headers, network, epochLength } = context;
  const refused: BscError[] = [];
  let reason: VoteRefusal | undefined;
  let otherSigners = 0;
  const voteFacts = { network, epochLength, finalizedHeight: trusted.finalizedHeight };
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
      const verified = verify(trusted, update, context.hub);
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
