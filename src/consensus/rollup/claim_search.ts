/**
 * Open claims of an L1 contract: found in consecutive ranges of L1 blocks, kept until the hub is at or above them, so
 * that none is lost when a submission fails or a node is down. Independent of the kind of claim. Start reading at
 * {@link ClaimSearch.extend}. Source: polytope-labs/hyperbridge: tesseract/consensus/{op-host,arb-host}/src/host.rs
 * (submit_consensus_update).
 */
import { dropOldest } from "../../core/runtime/slices.ts";
import type { Address } from "../../core/evm/address.ts";

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
 * Returns the next range, or undefined when all L1 blocks that the hub knows were searched. Never beyond the hub's L1
 * height, up to which it can check proofs. @param hubL1Height newest L1 height on the hub. @param searchedTo end of the
 * last range; undefined at start.
 */
function nextL1Range(hubL1Height: bigint, searchedTo: bigint | undefined): L1Range | undefined {
  if (searchedTo !== undefined && hubL1Height <= searchedTo) return undefined;
  const from = searchedTo === undefined ? hubL1Height - L1_LOOK_BACK_BLOCKS : searchedTo - OVERLAP_BLOCKS;
  return { from: from < 0n ? 0n : from + 1n, to: hubL1Height };
}

/**
 * Maximum number of open claims; anyone can make claims on some chains, so there must be a limit. The oldest are
 * dropped first.
 */
const MAX_OPEN = 512;
/** Number of submissions without success after which other claims come first. */
const MAX_OFFERS = 10;

/** Maximum number of remembered settled claims in blocks that are searched again. */
const MAX_SETTLED = 1024;

interface Entry<Claim> {
  claim: Claim;
  /** First L1 block of the range in which it was found. */
  readonly from: bigint;
  failures: number;
  offers: number;
  /** Why it was not offered last. */
  reason: string | undefined;
}

/** Claims of one contract. */
export class ClaimSearch<Claim> {
  readonly #keyOf: (claim: Claim) => string;
  /** By key, in the order in which they were found. */
  readonly #open = new Map<string, Entry<Claim>>();
  #contract: Address | undefined;
  #searchedTo: bigint | undefined;
  /** Keys of settled claims, whose blocks may be searched again. */
  readonly #settled = new Set<string>();

  /** @param keyOf returns the unique key of a claim. */
  constructor(keyOf: (claim: Claim) => string) {
    this.#keyOf = keyOf;
  }

  /** All open claims, oldest first. */
  get open(): readonly Claim[] {
    return [...this.#open.values()].map(({ claim }) => claim);
  }

  /**
   * Searches the L1 blocks that the hub knows and that were not searched yet, and once more the last ones before them.
   * When `scan` fails, they are searched again. A replaced contract restarts the search. @returns the blocks that were
   * searched; `undefined` when there was nothing to search.
   */
  async extend(
    contract: Address,
    hubL1Height: bigint,
    scan: (range: L1Range) => Promise<readonly Claim[]>,
  ): Promise<L1Range | undefined> {
    if (contract !== this.#contract) {
      this.#contract = contract;
      this.#searchedTo = undefined;
      this.#open.clear();
      this.#settled.clear();
    }
    const range = nextL1Range(hubL1Height, this.#searchedTo);
    if (range === undefined) return undefined;
    for (const claim of await scan(range)) this.#add(claim, range.from);
    this.#searchedTo = range.to;
    return range;
  }

  #add(claim: Claim, from: bigint): void {
    const key = this.#keyOf(claim);
    const known = this.#open.get(key);
    if (known !== undefined) known.claim = claim;
    else if (!this.#settled.has(key)) {
      this.#open.set(key, { claim, from, failures: 0, offers: 0, reason: undefined });
      dropOldest(this.#open, MAX_OPEN);
    }
  }

  /** Searches the blocks of a claim again: what was read of it contradicts the L1. */
  distrust(claim: Claim): void {
    const { from } = this.#open.get(this.#keyOf(claim)) ?? {};
    if (from === undefined || this.#searchedTo === undefined || from > this.#searchedTo) return;
    this.#searchedTo = from === 0n ? undefined : from - 1n;
  }

  /** Settles a claim: it is of no further interest. */
  settle(claim: Claim): void {
    const key = this.#keyOf(claim);
    this.#open.delete(key);
    this.#settled.add(key);
    dropOldest(this.#settled, MAX_SETTLED);
  }

  /** Sorts claims: those that failed least often first, otherwise in the given order. */
  ordered<Candidate extends Claim>(claims: readonly Candidate[]): readonly Candidate[] {
    const failures = (claim: Candidate): number => this.#open.get(this.#keyOf(claim))?.failures ?? 0;
    return claims.toSorted((a, b) => failures(a) - failures(b));
  }

  /** Notes that a claim could not be proved: it is tried again, after the others. */
  noteFailed(claim: Claim): void {
    const entry = this.#open.get(this.#keyOf(claim));
    if (entry !== undefined) entry.failures++;
  }

  /** Notes why a claim is not offered. True when that is news. */
  noteReason(claim: Claim, reason: string): boolean {
    const entry = this.#open.get(this.#keyOf(claim));
    if (entry === undefined || entry.reason === reason) return false;
    entry.reason = reason;
    return true;
  }

  /** Notes that a claim is submitted. True when that was often without success: then the others come first. */
  noteOffered(claim: Claim): boolean {
    const entry = this.#open.get(this.#keyOf(claim));
    if (entry === undefined) return false;
    entry.reason = undefined;
    if (++entry.offers % MAX_OFFERS !== 0) return false;
    entry.failures++;
    return true;
  }
}
