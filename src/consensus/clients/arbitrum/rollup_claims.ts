/**
 * Updates from the claims of a rollup contract of either generation: claims made since the last poll are found by their
 * logs, and the newest unchallenged one is proved. Start reading at {@link RollupClaims.find}.
 */
import { type Hash256, type Hex, toHash256 } from "../../../core/encoding/bytes.ts";
import type { ArbitrumConsensusState } from "./spec/consensus_state.ts";
import { blacklistedClaimKey } from "./spec/hub_storage.ts";
import { isWorthSubmitting, type RollupClaimPlan, type RollupClaimPlanInput } from "./spec/plan_update.ts";
import { type ArbitrumProof, arbitrumUpdateCodec } from "./spec/update.ts";
import { decodeArbitrumUpdate, verifyArbitrumUpdate } from "./spec/verify_update.ts";
import type { L1Range } from "../../rollup/spec/l1_range.ts";
import { RollupDataError } from "../../rollup/spec/rollup_data_error.ts";
import type { Address } from "../../../core/evm/address.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import type { RawLog } from "../../../core/evm/host_events.ts";
import type { AccountProofAnswer } from "../../../core/merkle/evm_proof.ts";
import type { EvmReader } from "../../evm_reader.ts";
import { type ClaimScan, ClaimSearch } from "../../rollup/claim_search.ts";
import { type Completeness, scanCompletely } from "../../rollup/complete_scan.ts";
import { badData, type ClaimFinding, ClaimRefusal, findProvable } from "../../rollup/claim_dry_run.ts";
import type { RollupDeps } from "../../rollup/rollup_options.ts";
import type { RollupView } from "../../rollup/rollup_prover.ts";

type View = RollupView<ArbitrumConsensusState>;

/** A claim with the L1 block of its log. */
export interface FoundClaim<Event> {
  readonly event: Event;
  readonly l1Height: bigint;
}

/** Differences between the generations of the rollup contract. */
export interface ClaimGeneration<Event> {
  readonly topic0: Hex;
  /** Reads a log; `undefined` for other logs. @throws {RollupDataError} */
  decode(log: RawLog, rollupCore: Address): Event | undefined;
  /** Returns the key of a claim, unique within one contract. */
  keyOf(event: Event): string;
  /** Formats the claim for the log. */
  describe(event: Event): string;
  /** Name of the claim in the hub's blacklist. */
  claimHash(event: Event): Hash256;
  /** Last block of the claim. */
  blockHash(event: Event): Hash256;
  /** Splits claims into candidates for a proof, newest first, and others. */
  plan(
    found: readonly FoundClaim<Event>[],
    facts: RollupClaimPlanInput,
    read: (slots: readonly Hash256[]) => Promise<readonly (Hash256 | undefined)[]>,
  ): Promise<RollupClaimPlan<FoundClaim<Event>>>;
  /**
   * Compares the claims found in a range with the contract's state at its end. @param found in the order of the logs
   * @param newest newest claim of earlier ranges
   */
  judge(
    found: readonly Event[],
    newest: Event | undefined,
    read: (slots: readonly Hash256[]) => Promise<readonly (Hash256 | undefined)[]>,
  ): Promise<Completeness>;
  /** Slots that {@link build} needs. */
  slots(event: Event): readonly Hash256[];
  /** @throws {RollupDataError | EvmProofError} */
  build(
    parts: { readonly event: Event; readonly header: EvmBlockHeader; readonly rollup: AccountProofAnswer },
  ): ArbitrumProof;
}

/** Inputs of one poll. */
interface ClaimPoll {
  readonly view: View;
  readonly rollupCore: Address;
  /** The L1, pinned to the block that the hub knows. */
  readonly l1: EvmReader;
}

/** The claims of one rollup. */
export class RollupClaims<Event> {
  readonly #deps: RollupDeps;
  readonly #generation: ClaimGeneration<Event>;
  readonly #search: ClaimSearch<FoundClaim<Event>>;
  /** Newest claim of the ranges that are finished. */
  #newest: { readonly rollupCore: Address; readonly event: Event } | undefined;

  constructor(deps: RollupDeps, generation: ClaimGeneration<Event>) {
    this.#deps = deps;
    this.#generation = generation;
    this.#search = new ClaimSearch(({ event }) => generation.keyOf(event));
  }

  /** Builds the update for the newest claim that can be proved. */
  async find(view: View, rollupCore: Address, signal: AbortSignal): Promise<ClaimFinding> {
    const poll = { view, rollupCore, l1: this.#deps.l1.heldTo(view.l1) };
    const range = await this.#search.extend(
      rollupCore,
      view.l1.height,
      (range) => this.#scan(poll, range, signal),
    );
    if (this.#search.open.length === 0) {
      const where = range === undefined
        ? `up to L1 block ${view.l1.height}`
        : `in L1 blocks ${range.from} to ${range.to}`;
      return { kind: "nothing", reason: `no new claim was made ${where}` };
    }
    const blacklistedClaims = await this.#blacklisted(view, signal);
    const candidates = await this.#plan(poll, blacklistedClaims, signal);
    const { l1, l2, log } = this.#deps;
    const describe = ({ event }: FoundClaim<Event>): string => this.#generation.describe(event);
    return await findProvable(
      { search: this.#search, l1, l2, log, describe },
      candidates,
      (claim) => this.#prove(poll, { claim, blacklistedClaims }, signal),
    );
  }

  async #scan(poll: ClaimPoll, range: L1Range, signal: AbortSignal): Promise<ClaimScan<FoundClaim<Event>>> {
    const { rollupCore } = poll;
    const newest = this.#newest?.rollupCore === rollupCore ? this.#newest.event : undefined;
    const scan = await scanCompletely<FoundClaim<Event>>({
      l1: poll.l1,
      log: this.#deps.log,
      range,
      orderOf: ({ l1Height }) => l1Height,
      keyOf: ({ event }) => this.#generation.keyOf(event),
      fetch: async (reader) => {
        const filter = { address: rollupCore, topics: [this.#generation.topic0] };
        const logs = await reader.fetchLogs(filter, range, signal);
        return logs.flatMap((entry): FoundClaim<Event>[] => {
          const event = this.#decode(entry, rollupCore);
          return event === undefined ? [] : [{ event, l1Height: entry.blockNumber }];
        });
      },
      judge: (found) =>
        this.#generation.judge(found.map(({ event }) => event), newest, this.#reads(poll, signal)),
    });
    const last = scan.claims.at(-1);
    if (scan.isFinal && last !== undefined) this.#newest = { rollupCore, event: last.event };
    return scan;
  }

  /** Reads words of the contract at the block that the hub knows. */
  #reads(
    { view, rollupCore, l1 }: ClaimPoll,
    signal: AbortSignal,
  ): (slots: readonly Hash256[]) => Promise<readonly (Hash256 | undefined)[]> {
    const at = view.l1.height;
    return (slots) =>
      l1.fetchReads(slots.map((slot) => ({ kind: "word", account: rollupCore, slot, at })), signal)
        .then((words) => words.map((word) => word === undefined ? undefined : toHash256(word)));
  }

  #decode(entry: RawLog, rollupCore: Address): Event | undefined {
    try {
      return this.#generation.decode(entry, rollupCore);
    } catch (cause) {
      if (!(cause instanceof RollupDataError)) throw cause;
      throw badData(this.#deps.l1, "a log of the rollup contract does not match its ABI", cause);
    }
  }

  async #blacklisted(view: View, signal: AbortSignal): Promise<ReadonlySet<Hash256>> {
    const claims = this.#search.open.map(({ event }) => this.#generation.claimHash(event));
    const keys = claims.map((claim) => blacklistedClaimKey(view.state.stateMachineId, claim));
    const values = await this.#deps.hub.reads.fetchStorage(keys, signal);
    return new Set(claims.filter((_, index) => values[index] !== undefined));
  }

  async #plan(
    { view, rollupCore, l1 }: ClaimPoll,
    blacklistedClaims: ReadonlySet<Hash256>,
    signal: AbortSignal,
  ): Promise<readonly FoundClaim<Event>[]> {
    const facts = { blacklistedClaims, l1Height: view.l1.height };
    const at = view.l1.height;
    const read = (slots: readonly Hash256[]): Promise<readonly (Hash256 | undefined)[]> =>
      l1.fetchReads(slots.map((slot) => ({ kind: "word", account: rollupCore, slot, at })), signal);
    const { candidates, passedOver } = await this.#generation.plan(this.#search.open, facts, read);
    for (const { claim, reason } of passedOver) {
      const name = this.#generation.describe(claim.event);
      this.#deps.log.debug("rollup_claim_skipped", { claim: name, reason });
      if (reason === "blacklisted") this.#search.settle(claim);
      // Claims that an endpoint contradicts are retried a few times; a claim beyond the hub's L1 height is only too
      // early.
      else if (reason !== "beyond_hub_l1_height") this.#search.noteRefused(claim);
    }
    return candidates;
  }

  async #prove(
    { view, rollupCore }: ClaimPoll,
    { claim, blacklistedClaims }: {
      readonly claim: FoundClaim<Event>;
      readonly blacklistedClaims: ReadonlySet<Hash256>;
    },
    signal: AbortSignal,
  ): Promise<Extract<ClaimFinding, { kind: "claim" }> | undefined> {
    const generation = this.#generation;
    const { event } = claim;
    const found = await this.#deps.l2.fetchHeader(generation.blockHash(event), signal);
    if (found === undefined) throw new ClaimRefusal("block_does_not_exist", "claim");
    const { header } = found;
    if (!isWorthSubmitting(header.number, view.hubHeight)) return undefined;
    const requests = [{ account: rollupCore, slots: generation.slots(event) }];
    const [rollup] = await this.#deps.l1.fetchProofs(requests, view.l1, signal);
    if (rollup === undefined) throw new Error("A proof is missing");
    const proof = arbitrumUpdateCodec.enc({
      l1Height: view.l1.height,
      proof: generation.build({ event, header, rollup }),
    });
    verifyArbitrumUpdate(view.state, decodeArbitrumUpdate(proof), {
      l1StateRoot: view.l1.stateRoot,
      rollupCore,
      blacklistedClaims,
    });
    const summary = `block ${header.number} by ${generation.describe(event)} at L1 block ${view.l1.height}`;
    return { kind: "claim", proof, height: header.number, summary };
  }
}
