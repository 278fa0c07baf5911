/**
 * Finds blocks of the relay chain that can be proved to a BEEFY client: justified, signed by the set that the client
 * expects, and cheap to prove. Source: docs/protocol/hub-consensus.md sections 5.3 and 5.4.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import {
  BEEFY_ENGINE,
  BeefyError,
  type BeefyJustification,
  decodeBeefyJustification,
  decoded,
} from "../../../core/beefy/commitment.ts";
import { relayBeefyKeys } from "./spec/relay_storage.ts";
import type { BeefyClientState } from "../../../core/evm/beefy_client_state.ts";
import { decodeStrict, u64 } from "../../../core/encoding/scale.ts";
import type { RelayBlock, RelayChain } from "../../relay_chain/relay_chain.ts";

/** Reads of the relay chain that the search needs. */
export type JustifiedRelay = Pick<
  RelayChain,
  "fetchBlocks" | "fetchHash" | "fetchJustifications" | "fetchStored"
>;

/** Blocks whose justifications are fetched at a time. */
const BLOCKS_AT_A_TIME = 64;

/** Blocks of a session that are searched for a justification (docs/protocol/hub-consensus.md section 5.3). */
const SEARCHED_BLOCKS = 2_400;

/** Newest blocks among which the one with the cheapest proof is chosen. */
const CHOICE_BLOCKS = 32;

/** A justified block with its decoded justification. */
export interface JustifiedBlock {
  readonly number: number;
  readonly block: RelayBlock;
  readonly justification: BeefyJustification;
}

/** Blocks of the relay chain, both inclusive. */
interface RelayRange {
  readonly from: number;
  readonly to: number;
}

/** Justified blocks of a range. */
interface Candidates {
  readonly candidates: readonly JustifiedBlock[];
  /** True when a later set also signs in the range. */
  readonly isOver: boolean;
}

/**
 * Justified blocks of one relay chain. Methods may throw an `RpcFault`, and a `BeefyError` for invalid data of nodes.
 */
export class JustifiedBlocks {
  readonly #relay: JustifiedRelay;

  constructor(relay: JustifiedRelay) {
    this.#relay = relay;
  }

  /** Finds a justified block of the session after the client's, with a small last mountain if there is one. */
  async findSession(
    { latestHeight, next, beefyActivationBlock }: BeefyClientState,
    head: RelayBlock,
    signal: AbortSignal,
  ): Promise<JustifiedBlock | undefined> {
    const from = await this.#findFirst(
      { from: Number(latestHeight) + 1, to: head.header.number },
      next.id,
      signal,
    );
    const to = Math.min(head.header.number, from + SEARCHED_BLOCKS - 1);
    const found: JustifiedBlock[] = [];
    // The first block of a session is always justified; others are read, with their whole bodies, only if it is
    // unusable.
    for (let first = from, count = 1; first <= to; first += count, count = BLOCKS_AT_A_TIME) {
      const last = Math.min(to, first + count - 1);
      const { candidates, isOver } = await this.#fetchCandidates({ from: first, to: last }, next.id, signal);
      found.push(...candidates);
      const isCheap = ({ number }: JustifiedBlock): boolean =>
        lastMountainHeight(number, beefyActivationBlock) <= SMALL_MOUNTAIN;
      if (isOver || found.some(isCheap)) break;
    }
    return inOrderOfPreference(found, beefyActivationBlock, "oldest")[0];
  }

  /** Finds the first block of a range whose set has at least that id; the last one has it. Binary search. */
  async #findFirst({ from, to }: RelayRange, setId: bigint, signal: AbortSignal): Promise<number> {
    let low = from;
    let high = to;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const hash = await this.#relay.fetchHash(middle, signal);
      if (await this.fetchSetId(hash, signal) >= setId) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Fetches the justified blocks of a range that the set with that id signed. */
  async #fetchCandidates(
    { from, to }: RelayRange,
    setId: bigint,
    signal: AbortSignal,
  ): Promise<Candidates> {
    const blocks = await this.#relay.fetchBlocks(from, to, signal);
    return await this.#readCandidates(blocks, setId, signal);
  }

  async #readCandidates(
    blocks: readonly RelayBlock[],
    setId: bigint,
    signal: AbortSignal,
  ): Promise<Candidates> {
    const hashes = blocks.map(({ hash }) => hash);
    const stored = await this.#relay.fetchJustifications(hashes, BEEFY_ENGINE, signal);
    const read = blocks.flatMap((block, at): readonly JustifiedBlock[] => {
      const encoded = stored[at];
      if (encoded === undefined) return [];
      const justification = decodeBeefyJustification(encoded);
      const { number } = block.header;
      return justification.commitment.blockNumber === number ? [{ number, block, justification }] : [];
    });
    const setOf = ({ justification }: JustifiedBlock): bigint => justification.commitment.validatorSetId;
    return {
      candidates: read.filter((each) => setOf(each) === setId),
      isOver: read.some((each) => setOf(each) > setId),
    };
  }

  /** Finds justified blocks in order of preference: the head alone where no other can precede it. */
  async findNewest(
    { latestHeight, beefyActivationBlock, current }: BeefyClientState,
    head: RelayBlock,
    signal: AbortSignal,
  ): Promise<readonly JustifiedBlock[]> {
    const { number } = head.header;
    if (lastMountainHeight(number, beefyActivationBlock) <= SMALL_MOUNTAIN) {
      const { candidates } = await this.#readCandidates([head], current.id, signal);
      if (candidates.length > 0) return candidates;
    }
    const from = Math.max(Number(latestHeight) + 1, number - CHOICE_BLOCKS + 1);
    const { candidates } = await this.#fetchCandidates({ from, to: number }, current.id, signal);
    return inOrderOfPreference(candidates, beefyActivationBlock, "newest");
  }

  /** Fetches the id of the set whose session a block belongs to. */
  async fetchSetId(block: Hash256, signal: AbortSignal): Promise<bigint> {
    const [stored] = await this.#relay.fetchStored(
      [{ key: relayBeefyKeys.validatorSetId, block }],
      signal,
    );
    if (stored === undefined) throw new BeefyError("undecodable_data");
    return decoded(() => decodeStrict(u64, stored, "ValidatorSetId"));
  }
}

/** Mountains of up to 2^6 leaves are small enough to stop the search. */
const SMALL_MOUNTAIN = 6;

/** Leaves of the mountain range at a block; the first block after the activation has one. */
export function leafCountAt(block: number, activationBlock: bigint): bigint {
  return BigInt(block) - activationBlock;
}

/**
 * Height of the last mountain at a block: 2^height leaves must be read where the node cannot prove the leaf itself.
 */
export function lastMountainHeight(block: number, activationBlock: bigint): number {
  const count = leafCountAt(block, activationBlock);
  if (count <= 0n) return Infinity;
  let height = 0;
  while ((count >> BigInt(height) & 1n) === 0n) height++;
  return height;
}

/**
 * Sorts blocks by preference: those with a small last mountain first, the newest or the oldest of them; then those with
 * larger ones.
 */
export function inOrderOfPreference<B extends { readonly number: number }>(
  blocks: readonly B[],
  activationBlock: bigint,
  first: "newest" | "oldest",
): readonly B[] {
  const cost = ({ number }: B): number =>
    Math.max(SMALL_MOUNTAIN, lastMountainHeight(number, activationBlock));
  const sign = first === "newest" ? -1 : 1;
  return blocks
    .filter(({ number }) => leafCountAt(number, activationBlock) > 0n)
    .toSorted((a, b) => cost(a) - cost(b) || sign * (a.number - b.number));
}
