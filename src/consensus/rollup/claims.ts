/**
 * Claims of one kind about a rollup on its L1: those made since the last poll are found by their logs, and the first
 * that can be proved is offered. A bad claim never blocks the others, and none is dropped for what an endpoint did. The
 * kinds are behind {@link ClaimKind}. Start reading at {@link Claims.find}.
 */
import type { RawLog } from "../../core/evm/host_events.ts";
import type { Address } from "../../core/evm/address.ts";
import type { Hex } from "../../core/encoding/bytes.ts";
import { EvmProofError } from "../../core/merkle/evm_proof.ts";
import { ENDPOINT_FAULTS, RpcFault } from "../../core/rpc/call.ts";
import type { EvmReader } from "../evm_reader.ts";
import { ProverFault } from "../prover.ts";
import { type ClaimScan, ClaimSearch, type L1Range } from "./claim_search.ts";
import type { RollupDeps, RollupView } from "./rollup_options.ts";
import type { RollupClientState } from "./spec/rollup_client.ts";
import { RollupDataError, RollupUpdateError } from "./spec/rollup_errors.ts";

/** Claims to try in one poll. */
const MAX_ATTEMPTS = 32;
/** Faults of whole endpoints after which a poll ends: the other claims would meet them as well. */
const MAX_ENDPOINT_FAULTS = 3;

/** An update that our verifier accepts. */
export interface ProvenClaim {
  /** SCALE of the update. */
  readonly proof: Uint8Array;
  /** Height of the rollup that the hub will know. */
  readonly height: bigint;
}

/** Result of polling the claims of a rollup. */
export type ClaimFinding =
  | { readonly kind: "nothing"; readonly reason: string }
  | ProvenClaim & { readonly kind: "claim"; readonly summary: string };

/** Inputs of one poll. */
export interface ClaimPoll<State extends RollupClientState, Rules = undefined> {
  readonly view: RollupView<State>;
  /** Contract of the L1 in which claims are made. */
  readonly contract: Address;
  /** What else the hub stores about the claims. */
  readonly rules: Rules;
  /** The L1, pinned to the block that the hub knows. */
  readonly l1: EvmReader;
  readonly signal: AbortSignal;
}

/** Range whose claims were found, with the newest claim of earlier ranges. */
export interface SearchedRange<Claim> {
  readonly range: L1Range;
  readonly newest: Claim | undefined;
}

/** Completeness of the found claims by the contract's state. `unknown`: inconclusive. */
export type Completeness = "complete" | "incomplete" | "unknown";

/**
 * Keeps the claims that nothing speaks against; the others are not tried now. @param isFinal nothing can change that.
 */
export type Keep<Claim> = <Some extends Claim>(
  claims: readonly Some[],
  reasonAgainst: (claim: Some, index: number) => string | undefined,
  isFinal?: boolean,
) => readonly Some[];

/** Differences between the kinds of claims. */
export interface ClaimKind<
  State extends RollupClientState,
  Claim,
  Candidate extends Claim = Claim,
  Rules = undefined,
> {
  /** Plural in sentences. */
  readonly noun: string;
  readonly topic0: Hex;
  /** Reads a log; `undefined` for other logs. @throws {RollupDataError} */
  decode(log: RawLog & { readonly blockNumber: bigint }, contract: Address): Claim | undefined;
  /** Returns the key of a claim, unique within one contract. */
  keyOf(claim: Claim): string;
  /** Place of a claim among others, e.g. the L1 block of its log. */
  orderOf(claim: Claim): bigint;
  /** Formats a claim for the log. */
  describe(claim: Claim): string;
  /** Compares the claims found in a range, in order, with the contract's state at the hub's L1 block. */
  judge(
    found: readonly Claim[],
    poll: ClaimPoll<State, Rules>,
    searched: SearchedRange<Claim>,
  ): Promise<Completeness>;
  /** Selects the claims that are worth a proof, in the order in which to try them. */
  plan(
    open: readonly Claim[],
    poll: ClaimPoll<State, Rules>,
    keep: Keep<Claim>,
  ): Promise<readonly Candidate[]>;
  /**
   * Builds and verifies an update; `undefined`: it does not advance the hub. @throws {ClaimRefusal | RollupDataError |
   * RollupUpdateError | EvmProofError | RpcFault} when that cannot be done now
   */
  prove(candidate: Candidate, poll: ClaimPoll<State, Rules>): Promise<ProvenClaim | undefined>;
}

/** A claim that cannot be submitted now. */
export class ClaimRefusal extends Error {
  override readonly name = "ClaimRefusal";

  /**
   * @param code of a kind, or of the verifier, builder or endpoint that refused. @param source `l1`: its endpoint returned
   * data that is not in the state that the hub knows; `claim`: the claimant or the rollup's endpoint, which cannot be
   * distinguished; `endpoint`: one did not answer, `cause` is its fault.
   */
  constructor(
    readonly code: string,
    readonly source: "l1" | "claim" | "endpoint",
    options?: ErrorOptions,
  ) {
    super(`Claim refused: ${code}`, options);
  }
}

/** Codes of verifiers for L1 data that contradicts the L1's own state. */
const l1FaultCodes: ReadonlySet<string> = new Set([
  "game_missing",
  "game_mismatch",
  "challenge_missing",
  "output_missing",
  "output_mismatch",
  "output_block_missing",
  "output_block_mismatch",
  "assertion_missing",
  "node_missing",
  "node_mismatch",
  "malformed_event",
  "malformed_result",
]);

/** Converts an error of an attempt to a refusal; `undefined` for errors that concern no claim. */
function refusalOf(error: unknown): ClaimRefusal | undefined {
  if (error instanceof ClaimRefusal) return error;
  if (error instanceof RpcFault) return new ClaimRefusal(error.code, "endpoint", { cause: error });
  const isRefusal = error instanceof RollupDataError || error instanceof RollupUpdateError ||
    error instanceof EvmProofError;
  if (!isRefusal) return undefined;
  return new ClaimRefusal(error.code, l1FaultCodes.has(error.code) ? "l1" : "claim", { cause: error });
}

/** Creates the fault of an endpoint with invalid data; it is named where there is only one. */
function badData(reader: EvmReader, detail: string, cause: Error): ProverFault {
  const [host, ...others] = reader.hosts;
  const endpoint = others.length === 0 ? host : undefined;
  const names = endpoint === undefined ? ` (one of ${reader.hosts.join(", ")})` : "";
  const problem = `${detail}: ${refusalOf(cause)?.code}${names}`;
  return new ProverFault("bad_data", { chain: reader.chain, endpoint, detail: problem }, { cause });
}

/** Reads answers of the L1. @throws {ProverFault} `bad_data` when one does not match its ABI */
export function readL1<T>(l1: EvmReader, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof RollupDataError)) throw cause;
    throw badData(l1, "a log or answer of a rollup's contract does not match its ABI", cause);
  }
}

/** The claims of one kind about one rollup. */
export class Claims<
  State extends RollupClientState,
  Claim,
  Candidate extends Claim = Claim,
  Rules = undefined,
> {
  readonly #deps: RollupDeps;
  readonly #kind: ClaimKind<State, Claim, Candidate, Rules>;
  readonly #search: ClaimSearch<Claim>;
  /** Newest claim of the ranges that are finished. */
  #newest: { readonly contract: Address; readonly claim: Claim } | undefined;

  constructor(deps: RollupDeps, kind: ClaimKind<State, Claim, Candidate, Rules>) {
    this.#deps = deps;
    this.#kind = kind;
    this.#search = new ClaimSearch((claim) => kind.keyOf(claim));
  }

  /** Builds the update for the first claim that can be proved. @throws {RpcFault | ProverFault} when none can */
  async find(inputs: Omit<ClaimPoll<State, Rules>, "l1">): Promise<ClaimFinding> {
    const { view, contract } = inputs;
    const poll = { ...inputs, l1: this.#deps.l1.heldTo(view.l1) };
    const range = await this.#search.extend(
      contract,
      view.l1.height,
      (range) => this.#scan(poll, range),
    );
    const { open } = this.#search;
    if (open.length === 0) {
      const where = range === undefined
        ? `up to L1 block ${view.l1.height}, the newest that the hub knows`
        : `in L1 blocks ${range.from} to ${range.to}`;
      return { kind: "nothing", reason: `there are no new ${this.#kind.noun} ${where}` };
    }
    const reasons: string[] = [];
    const keep: Keep<Claim> = (claims, reasonAgainst, isFinal = false) =>
      claims.filter((claim, index) => {
        const reason = reasonAgainst(claim, index);
        if (reason === undefined) return true;
        reasons.push(reason);
        if (this.#search.noteReason(claim, reason)) {
          this.#deps.log.debug("rollup_claim_skipped.unusable", {
            claim: this.#kind.describe(claim),
            reason,
          });
        }
        if (isFinal) this.#search.settle(claim);
        return false;
      });
    const candidates = await this.#kind.plan(open, poll, keep);
    if (candidates.length > 0) return await this.#tryAll(candidates, poll);
    const counts = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, all]) =>
      `${all.length} ${reason.replaceAll("_", " ")}`
    );
    return {
      kind: "nothing",
      reason: `none of ${reasons.length} ${this.#kind.noun} can be used: ${counts.join(", ")}`,
    };
  }

  /**
   * Reads the range at one endpoint after the other until the contract's state confirms that nothing is missing: a
   * lagging index hides no claim. @throws {RpcFault} when no endpoint serves logs.
   */
  async #scan(poll: ClaimPoll<State, Rules>, range: L1Range): Promise<ClaimScan<Claim>> {
    const newest = this.#newest?.contract === poll.contract ? this.#newest.claim : undefined;
    const found = new Map<string, Claim>();
    const judge = (claims: Iterable<Claim>): Promise<Completeness> =>
      this.#judge(this.#inOrder(claims), poll, { range, newest });
    const add = (claims: readonly Claim[]): void => {
      for (const claim of claims) found.set(this.#kind.keyOf(claim), claim);
    };
    add(await this.#fetch(poll.l1, poll, range));
    let verdict = await judge(found.values());
    for (const reader of isOpen(verdict, found) ? poll.l1.each() : []) {
      let claims: readonly Claim[];
      try {
        claims = await this.#fetch(reader, poll, range);
      } catch (fault) {
        if (fault instanceof RpcFault) continue; // the others may succeed
        throw fault;
      }
      if (await judge(claims) === "incomplete") {
        const fields = { from_block: range.from, to_block: range.to, found: claims.length };
        this.#deps.log.warn("endpoint_data_invalid.logs", { endpoint: reader.hosts.join(", "), ...fields });
      }
      add(claims);
      verdict = await judge(found.values());
      if (!isOpen(verdict, found)) break;
    }
    const claims = this.#inOrder(found.values());
    const last = claims.at(-1);
    const isFinal = !isOpen(verdict, found);
    if (isFinal && last !== undefined) this.#newest = { contract: poll.contract, claim: last };
    return { claims, isFinal };
  }

  async #fetch(
    reader: EvmReader,
    { contract, signal }: ClaimPoll<State, Rules>,
    range: L1Range,
  ): Promise<readonly Claim[]> {
    const logs = await reader.fetchLogs({ address: contract, topics: [this.#kind.topic0] }, range, signal);
    return readL1(this.#deps.l1, () => logs.flatMap((entry) => this.#kind.decode(entry, contract) ?? []));
  }

  async #judge(
    found: readonly Claim[],
    poll: ClaimPoll<State, Rules>,
    searched: SearchedRange<Claim>,
  ): Promise<Completeness> {
    try {
      return await this.#kind.judge(found, poll, searched);
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      this.#deps.log.debug("read_failed.rollup_claims", { error: fault });
      return "unknown";
    }
  }

  #inOrder(claims: Iterable<Claim>): readonly Claim[] {
    return [...claims].sort((a, b) => Number(this.#kind.orderOf(a) - this.#kind.orderOf(b)));
  }

  /** Tries claims in order until one can be proved. */
  async #tryAll(candidates: readonly Candidate[], poll: ClaimPoll<State, Rules>): Promise<ClaimFinding> {
    const search = this.#search;
    const refusals: { readonly name: string; readonly refusal: ClaimRefusal }[] = [];
    for (const claim of search.ordered(candidates).slice(0, MAX_ATTEMPTS)) {
      const name = this.#kind.describe(claim);
      try {
        const offer = await this.#kind.prove(claim, poll);
        if (offer === undefined) {
          search.settle(claim);
          continue;
        }
        if (search.noteOffered(claim)) {
          this.#deps.log.warn("rollup_claim_skipped.not_accepted", { claim: name });
        }
        const summary = `block ${offer.height} by ${name} at L1 block ${poll.view.l1.height}`;
        return { ...offer, kind: "claim", summary };
      } catch (error) {
        poll.signal.throwIfAborted();
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        search.noteFailed(claim);
        if (refusal.source === "l1") search.distrust(claim);
        if (search.noteReason(claim, refusal.code)) {
          const [l1, l2] = [this.#deps.l1, this.#deps.l2].map(({ hosts }) => hosts.join(", "));
          this.#deps.log.warn("rollup_claim_skipped.unprovable", {
            claim: name,
            reason: refusal.code,
            l1,
            l2,
          });
        }
        refusals.push({ name, refusal });
        if (refusals.filter(isOfEndpoint).length === MAX_ENDPOINT_FAULTS) break;
      }
    }
    return this.#conclude(refusals);
  }

  /** @throws {ProverFault} `bad_data` when the L1 endpoint is at fault. @throws {RpcFault} */
  #conclude(
    refusals: readonly { readonly name: string; readonly refusal: ClaimRefusal }[],
  ): ClaimFinding {
    const lie = refusals.find(({ refusal }) => refusal.source === "l1");
    if (lie !== undefined) {
      const detail = `its data about ${lie.name} is not in the L1 state that the hub knows`;
      throw badData(this.#deps.l1, detail, lie.refusal);
    }
    const fault = refusals.find(({ refusal }) => refusal.source === "endpoint");
    if (fault !== undefined) throw fault.refusal.cause;
    const [first] = refusals;
    return {
      kind: "nothing",
      reason: first === undefined
        ? "no claim is above the hub's height"
        : `none of ${refusals.length} claims can be proved (${first.name}: ${first.refusal.code})`,
    };
  }
}

/** True while a scan is incomplete: claims are missing, or none were found and nothing confirms that. */
function isOpen(verdict: Completeness, found: ReadonlyMap<string, unknown>): boolean {
  return verdict === "incomplete" || (verdict === "unknown" && found.size === 0);
}

function isOfEndpoint({ refusal: { cause } }: { readonly refusal: ClaimRefusal }): boolean {
  return cause instanceof RpcFault && ENDPOINT_FAULTS.has(cause.code);
}
