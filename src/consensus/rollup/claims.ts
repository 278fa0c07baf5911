/**
 * Claims about a rollup on its L1: those made since the last poll are found by their logs, and the first that can be
 * proved is offered. A bad claim never blocks the others, and none is dropped for what an endpoint did. Kinds of claims
 * are behind {@link ClaimKind}. Start reading at {@link Claims.find}.
 */
import { mapError } from "../spec/client_error.ts";
import type { EvmReader, TrustedBlock } from "../evm_reader.ts";
import { ProverFault } from "../prover.ts";
import { ClaimSearch, type L1Range, type RollupClaim } from "./claim_search.ts";
import { RollupDataError, RollupUpdateError } from "./spec/rollup_client.ts";
import type { TargetReads } from "../../core/chains/consensus_target.ts";
import type { Hex } from "../../core/encoding/bytes.ts";
import type { Address } from "../../core/evm/address.ts";
import type { RawLog } from "../../core/evm/host_events.ts";
import { EvmProofError } from "../../core/merkle/evm_proof.ts";
import { ENDPOINT_FAULTS, RpcFault } from "../../core/rpc/call.ts";
import type { Log } from "../../core/telemetry/log.ts";

/** Dependencies of a rollup's prover. It closes none of them. */
export interface RollupDeps {
  readonly hub: {
    readonly reads: Pick<
      TargetReads,
      "fetchClient" | "fetchNowSec" | "fetchLatestHeight" | "fetchCommitment" | "fetchStorage"
    >;
  };
  /** Execution chain of the L1; `openEvmReader` of `../evm_reader.ts`. */
  readonly l1: EvmReader;
  /** The rollup itself. */
  readonly l2: EvmReader;
  readonly log: Log;
}

/** What the hub knows of a rollup and its L1. */
export interface RollupView {
  /** Newest L1 block that the hub knows: claims are proved in its state. */
  readonly block: TrustedBlock;
  /** Newest height of the rollup on the hub; `undefined`: none. */
  readonly hubHeight: bigint | undefined;
}

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

/** One poll. */
export interface ClaimPoll extends RollupView {
  /** The L1, pinned to the block that the hub knows. */
  readonly l1: EvmReader;
  readonly signal: AbortSignal;
}

/** Keeps the claims that nothing speaks against; the others are not tried now. */
export type Keep<Claim> = <Some extends Claim>(
  claims: readonly Some[],
  reasonAgainst: (claim: Some, index: number) => string | undefined,
) => readonly Some[];

/** Claims of one kind, with what the hub stores about them now. */
export interface ClaimKind<Claim extends RollupClaim, Candidate extends Claim = Claim> {
  /** Plural in sentences. */
  readonly noun: string;
  /** Contract of the L1 in which they are made. */
  readonly contract: Address;
  readonly topic0: Hex;
  /** Reads a log of the contract; `undefined` for other logs. @throws {RollupDataError} */
  decode(log: RawLog & { readonly blockNumber: bigint }): Claim | undefined;
  /** Selects the claims that are worth a proof, in the order in which to try them. */
  plan(open: readonly Claim[], keep: Keep<Claim>, poll: ClaimPoll): Promise<readonly Candidate[]>;
  /**
   * Builds and verifies an update; `undefined`: it does not advance the hub. @throws {ClaimRefusal | RollupDataError |
   * RollupUpdateError | EvmProofError | RpcFault} when that cannot be done now
   */
  prove(candidate: Candidate, poll: ClaimPoll): Promise<ProvenClaim | undefined>;
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
  const detail = "a log or answer of a rollup's contract does not match its ABI";
  return mapError(RollupDataError, read, (cause) => badData(l1, detail, cause));
}

/** The claims of one kind about one rollup. */
export class Claims<Claim extends RollupClaim> {
  readonly #deps: RollupDeps;
  readonly #search = new ClaimSearch<Claim>();

  constructor(deps: RollupDeps) {
    this.#deps = deps;
  }

  /** Builds the update for the first claim that can be proved. @throws {RpcFault | ProverFault} when none can */
  async find<Candidate extends Claim>(
    kind: ClaimKind<Claim, Candidate>,
    view: RollupView,
    signal: AbortSignal,
  ): Promise<ClaimFinding> {
    const { height } = view.block;
    const poll = { ...view, l1: this.#deps.l1.heldTo(view.block), signal };
    const scan = (range: L1Range): Promise<readonly Claim[]> => this.#scan(kind, poll, range);
    const range = await this.#search.extend(kind.contract, height, scan);
    const { open } = this.#search;
    if (open.length === 0) {
      const where = range === undefined
        ? `up to L1 block ${height}, the newest that the hub knows`
        : `in L1 blocks ${range.from} to ${range.to}`;
      return { kind: "nothing", reason: `there are no new ${kind.noun} ${where}` };
    }
    const reasons: string[] = [];
    const keep = this.#keepFor(reasons);
    const known = keep(
      open,
      ({ l1Height }) => l1Height > height ? "newer than the L1 block that the hub knows" : undefined,
    );
    const candidates = await kind.plan(await this.#dropBlacklisted(known, keep, signal), keep, poll);
    if (candidates.length > 0) return await this.#tryAll(kind, candidates, poll);
    const counts = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, all]) =>
      `${all.length} ${reason.replaceAll("_", " ")}`
    );
    return {
      kind: "nothing",
      reason: `none of ${reasons.length} ${kind.noun} can be used: ${counts.join(", ")}`,
    };
  }

  /** Returns a filter that notes why claims are not tried. */
  #keepFor(reasons: string[]): Keep<Claim> {
    return (claims, reasonAgainst) =>
      claims.filter((claim, index) => {
        const reason = reasonAgainst(claim, index);
        if (reason === undefined) return true;
        reasons.push(reason);
        if (this.#search.noteReason(claim, reason)) {
          this.#deps.log.debug("rollup_claim_skipped.unusable", { claim: claim.name, reason });
        }
        return false;
      });
  }

  async #dropBlacklisted(
    claims: readonly Claim[],
    keep: Keep<Claim>,
    signal: AbortSignal,
  ): Promise<readonly Claim[]> {
    const keys = claims.flatMap(({ blacklistKey }) => blacklistKey ?? []);
    if (keys.length === 0) return claims;
    const entries = await this.#deps.hub.reads.fetchStorage(keys, signal);
    return keep(claims, (_, index) => entries[index] && "blacklisted on the hub");
  }

  /**
   * Reads the range at every endpoint, and adds up what they know: none of them can hide a claim. @throws {RpcFault |
   * ProverFault} of the first endpoint when none serves logs
   */
  async #scan(
    kind: ClaimKind<Claim>,
    { l1, signal }: ClaimPoll,
    range: L1Range,
  ): Promise<readonly Claim[]> {
    const filter = { address: kind.contract, topics: [kind.topic0] };
    const outcomes = await Promise.allSettled(
      l1.each().map(async (reader) => {
        const logs = await reader.fetchLogs(filter, range, signal);
        const claims = readL1(reader, () => logs.flatMap((entry) => kind.decode(entry) ?? []));
        return { reader, claims: new Map(claims.map((claim) => [claim.name, claim])) };
      }),
    );
    signal.throwIfAborted();
    const faults = outcomes.flatMap((outcome) => outcome.status === "rejected" ? [outcome.reason] : []);
    const defect = faults.find((each) => !(each instanceof RpcFault || each instanceof ProverFault));
    if (defect !== undefined) throw defect;
    const answers = outcomes.flatMap((outcome) => outcome.status === "fulfilled" ? [outcome.value] : []);
    if (answers.length === 0) throw faults[0];
    const found = new Map(answers.flatMap(({ claims }) => [...claims]));
    for (const { reader, claims } of answers) {
      if (claims.size === found.size) continue;
      const fields = { from_block: range.from, to_block: range.to, found: claims.size };
      this.#deps.log.warn("endpoint_data_invalid.logs", { endpoint: reader.hosts.join(", "), ...fields });
    }
    return [...found.values()];
  }

  /** Tries claims in order until one can be proved. */
  async #tryAll<Candidate extends Claim>(
    kind: ClaimKind<Claim, Candidate>,
    candidates: readonly Candidate[],
    poll: ClaimPoll,
  ): Promise<ClaimFinding> {
    const search = this.#search;
    const refused: RefusedClaim[] = [];
    for (const claim of search.ordered(candidates).slice(0, MAX_ATTEMPTS)) {
      const { name } = claim;
      try {
        const offer = await kind.prove(claim, poll);
        if (offer === undefined) {
          search.settle(claim);
          continue;
        }
        search.noteAttempt(claim);
        search.noteReason(claim, undefined);
        const summary = `block ${offer.height} by ${name} at L1 block ${poll.block.height}`;
        return { ...offer, kind: "claim", summary };
      } catch (error) {
        poll.signal.throwIfAborted();
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        search.noteAttempt(claim);
        if (refusal.source === "l1") search.distrust(claim);
        if (search.noteReason(claim, refusal.code)) {
          const [l1, l2] = [this.#deps.l1, this.#deps.l2].map(({ hosts }) => hosts.join(", "));
          const fields = { claim: name, reason: refusal.code, l1, l2 };
          this.#deps.log.warn("rollup_claim_skipped.unprovable", fields);
        }
        refused.push({ name, refusal });
        if (refused.filter(isOfEndpoint).length === MAX_ENDPOINT_FAULTS) break;
      }
    }
    return this.#conclude(refused);
  }

  /** @throws {ProverFault} `bad_data` when the L1 endpoint is at fault. @throws {RpcFault} */
  #conclude(refused: readonly RefusedClaim[]): ClaimFinding {
    const lie = refused.find(({ refusal }) => refusal.source === "l1");
    if (lie !== undefined) {
      const detail = `its data about ${lie.name} is not in the L1 state that the hub knows`;
      throw badData(this.#deps.l1, detail, lie.refusal);
    }
    const fault = refused.find(({ refusal }) => refusal.source === "endpoint");
    if (fault !== undefined) throw fault.refusal.cause;
    const [first] = refused;
    return {
      kind: "nothing",
      reason: first === undefined
        ? "no claim is above the hub's height"
        : `none of ${refused.length} claims can be proved (${first.name}: ${first.refusal.code})`,
    };
  }
}

interface RefusedClaim {
  readonly name: string;
  readonly refusal: ClaimRefusal;
}

function isOfEndpoint({ refusal: { cause } }: RefusedClaim): boolean {
  return cause instanceof RpcFault && ENDPOINT_FAULTS.has(cause.code);
}
