/**
 * Which claims of an L1 contract are still of interest: found in ranges of L1 blocks that follow one another, kept until
 * the hub is at or above them. So nothing is lost when a submission fails or a node is away.
 * Knows nothing of what a claim is. Start reading at {@link ClaimSearch.extend}.
 */
import type { Address } from "../../core/evm/address.ts";
import { L1_LOOK_BACK_BLOCKS, type L1Range, nextL1Range } from "./spec/l1_range.ts";

/** Claims that are kept; anybody can make claims on some chains, so there must be a bound. The oldest go first. */
const MAX_OPEN = 512;
/** How often a claim may fail, and how often it may be offered, before it is given up. */
const MAX_TRIES = 10;

/** What a scan of L1 blocks brought. */
export interface ClaimScan<Claim> {
  readonly claims: readonly Claim[];
  /** False: some may be missing, so the blocks are searched again. An empty range is final only when state says so. */
  readonly isFinal: boolean;
}

/** Claims of blocks that are searched again which are not offered again. */
const MAX_SETTLED = 1024;

interface Entry<Claim> {
  readonly claim: Claim;
  refusals: number;
  offers: number;
}

/** Claims of one contract. */
export class ClaimSearch<Claim> {
  readonly #keyOf: (claim: Claim) => string;
  /** By key, in the order in which they were found. */
  readonly #open = new Map<string, Entry<Claim>>();
  #contract: Address | undefined;
  #searchedTo: bigint | undefined;
  /** Keys of claims that are of no interest any more, as long as their blocks may be searched again. */
  readonly #settled = new Set<string>();
  #isAgain = false;

  /** @param keyOf tells claims apart. */
  constructor(keyOf: (claim: Claim) => string) {
    this.#keyOf = keyOf;
  }

  /** All that are of interest, oldest first. */
  get open(): readonly Claim[] {
    return [...this.#open.values()].map(({ claim }) => claim);
  }

  /**
   * Searches the L1 blocks that the hub knows and that were not searched yet. When `scan` fails, or is not final, they
   * stay so, for as long as a search at start would look back. A contract that was replaced starts the search again.
   * @returns the blocks that were searched; `undefined` when there was nothing to search.
   */
  async extend(
    contract: Address,
    hubL1Height: bigint,
    scan: (range: L1Range) => Promise<ClaimScan<Claim>>,
  ): Promise<L1Range | undefined> {
    if (contract !== this.#contract) {
      this.#contract = contract;
      this.#searchedTo = undefined;
      this.#open.clear();
      this.#settled.clear();
      this.#isAgain = false;
    }
    const range = this.#next(hubL1Height);
    if (range === undefined) return undefined;
    const { claims, isFinal } = await scan(range);
    for (const claim of claims) this.#add(claim);
    this.#isAgain = !isFinal;
    if (isFinal) {
      this.#searchedTo = range.to;
      this.#settled.clear();
    }
    return range;
  }

  #next(hubL1Height: bigint): L1Range | undefined {
    const range = nextL1Range(hubL1Height, this.#searchedTo);
    if (range === undefined || !this.#isAgain) return range;
    const oldest = range.to - L1_LOOK_BACK_BLOCKS + 1n;
    return { from: oldest > range.from ? oldest : range.from, to: range.to };
  }

  #add(claim: Claim): void {
    const key = this.#keyOf(claim);
    if (this.#open.has(key) || this.#settled.has(key)) return;
    this.#open.set(key, { claim, refusals: 0, offers: 0 });
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.#open.delete(oldest);
  }

  /** The claim is of no interest any more. */
  settle(claim: Claim): void {
    const key = this.#keyOf(claim);
    this.#open.delete(key);
    if (!this.#isAgain) return;
    this.#settled.add(key);
    const [oldest] = this.#settled;
    if (this.#settled.size > MAX_SETTLED && oldest !== undefined) this.#settled.delete(oldest);
  }

  /** Those that never failed first, else in the given order. */
  ordered<Candidate extends Claim>(claims: readonly Candidate[]): readonly Candidate[] {
    const hasFailed = (claim: Candidate): boolean => (this.#open.get(this.#keyOf(claim))?.refusals ?? 0) > 0;
    return [...claims.filter((claim) => !hasFailed(claim)), ...claims.filter(hasFailed)];
  }

  /** The claim could not be proved. True when it is given up. */
  noteRefused(claim: Claim): boolean {
    const entry = this.#open.get(this.#keyOf(claim));
    if (entry === undefined || ++entry.refusals < MAX_TRIES) return false;
    this.settle(claim);
    return true;
  }

  /** The claim is handed out for submission. True when that was its last time: then it is given up. */
  noteOffered(claim: Claim): boolean {
    const entry = this.#open.get(this.#keyOf(claim));
    if (entry === undefined || ++entry.offers < MAX_TRIES) return false;
    this.settle(claim);
    return true;
  }
}
