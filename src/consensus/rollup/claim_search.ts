/**
 * Open claims of an L1 contract: found in consecutive ranges of L1 blocks and kept, so that none is lost when a submission
 * fails or a node is down. Start reading at {@link ClaimSearch.extend}. Source: polytope-labs/hyperbridge:
 * tesseract/consensus/{op-host,arb-host}/src/host.rs (submit_consensus_update).
 */
import { dropOldest } from "../../core/runtime/slices.ts";
import type { Address } from "../../core/evm/address.ts";

/** A claim about a rollup in a log of its L1. */
export interface RollupClaim {
  /** For the log, unique within one contract. */
  readonly name: string;
  readonly l1Height: bigint;
  /** Key of the hub's storage that exists when fishermen blacklisted the claim; absent: they cannot. */
  readonly blacklistKey?: Uint8Array;
}

/** L1 blocks whose logs are searched, both ends included. Proofs are taken at `to`. */
export interface L1Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** L1 blocks to search back at start, about a day, to find claims made while no relayer ran. */
const L1_LOOK_BACK_BLOCKS = 7200n;
/** Blocks of the last range that are searched again, about an hour: the log index of a node may lag behind its state. */
const OVERLAP_BLOCKS = 300n;

/**
 * Maximum number of claims; anyone can make claims on some chains, so there must be a limit. The oldest are dropped
 * first.
 */
const MAX_CLAIMS = 512;

interface Entry<Claim> {
  claim: Claim;
  /** First L1 block of the range in which it was found. */
  readonly from: bigint;
  /** Number of times that it could not be proved, or was offered. */
  attempts: number;
  /** Why it was not offered last. */
  reason: string | undefined;
  /** True: it is of no further interest, though its block may be searched again. */
  isSettled: boolean;
}

/** Claims of one contract. */
export class ClaimSearch<Claim extends RollupClaim> {
  /** By name, in the order in which they were found. */
  readonly #entries = new Map<string, Entry<Claim>>();
  #contract: Address | undefined;
  #searchedTo: bigint | undefined;

  /** All open claims, oldest first. */
  get open(): readonly Claim[] {
    return [...this.#entries.values()].flatMap(({ claim, isSettled }) => isSettled ? [] : [claim]);
  }

  /**
   * Searches the L1 blocks that the hub knows and that were not searched yet, and once more the last ones before them;
   * never beyond the hub's L1 height, up to which it can check proofs. When `scan` fails, they are searched again. A
   * replaced contract restarts the search. @returns the blocks that were searched; `undefined` when there was nothing to
   * search.
   */
  async extend(
    contract: Address,
    hubL1Height: bigint,
    scan: (range: L1Range) => Promise<readonly Claim[]>,
  ): Promise<L1Range | undefined> {
    if (contract !== this.#contract) {
      this.#contract = contract;
      this.#searchedTo = undefined;
      this.#entries.clear();
    }
    const searchedTo = this.#searchedTo;
    if (searchedTo !== undefined && hubL1Height <= searchedTo) return undefined;
    const after = searchedTo === undefined ? hubL1Height - L1_LOOK_BACK_BLOCKS : searchedTo - OVERLAP_BLOCKS;
    const range = { from: after < 0n ? 0n : after + 1n, to: hubL1Height };
    for (const claim of await scan(range)) this.#add(claim, range.from);
    this.#searchedTo = range.to;
    return range;
  }

  #add(claim: Claim, from: bigint): void {
    const known = this.#entries.get(claim.name);
    if (known !== undefined) {
      known.claim = claim;
      return;
    }
    this.#entries.set(claim.name, { claim, from, attempts: 0, reason: undefined, isSettled: false });
    dropOldest(this.#entries, MAX_CLAIMS);
  }

  /** Searches the blocks of a claim again: what was read of it contradicts the L1. */
  distrust({ name }: RollupClaim): void {
    const { from } = this.#entries.get(name) ?? {};
    if (from === undefined || this.#searchedTo === undefined || from > this.#searchedTo) return;
    this.#searchedTo = from === 0n ? undefined : from - 1n;
  }

  /** Settles a claim: it is of no further interest. */
  settle({ name }: RollupClaim): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.isSettled = true;
  }

  /** Sorts claims: those that were attempted least often first, otherwise in the given order. */
  ordered<Candidate extends Claim>(claims: readonly Candidate[]): readonly Candidate[] {
    const attempts = ({ name }: Candidate): number => this.#entries.get(name)?.attempts ?? 0;
    return claims.toSorted((a, b) => attempts(a) - attempts(b));
  }

  /** Notes that a claim could not be proved, or was offered: it is tried again after the others. */
  noteAttempt({ name }: RollupClaim): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.attempts++;
  }

  /** Notes why a claim is not offered; `undefined`: it is. True when that is news. */
  noteReason({ name }: RollupClaim, reason: string | undefined): boolean {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.reason === reason) return false;
    entry.reason = reason;
    return true;
  }
}
