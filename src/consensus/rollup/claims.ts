/**
 * Claims of one kind about a rollup on its L1: those made since the last poll are found by their logs, and the first
 * that can be proved is offered. A bad claim never blocks the others, and none is dropped for what an endpoint did. The
 * kinds are behind {@link ClaimKind}. Start reading at {@link Claims.find}.
 */
import { mapError } from "../spec/client_error.ts";
import type { EvmReader, TrustedBlock } from "../evm_reader.ts";
import { ProverFault, type ProverOptions } from "../prover.ts";
import { ClaimSearch, type L1Range } from "./claim_search.ts";
import { type RollupClientState, RollupDataError, RollupUpdateError } from "./spec/rollup_client.ts";
import type { TargetReads } from "../../core/chains/consensus_target.ts";
import type { Hex } from "../../core/encoding/bytes.ts";
import type { Address } from "../../core/evm/address.ts";
import type { RawLog } from "../../core/evm/host_events.ts";
import type { ConsensusStateId, StateMachineId } from "../../core/ismp/state_machine.ts";
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

/** Current state of the hub's clients of a rollup and its L1. */
export interface RollupView<State extends RollupClientState> {
  readonly state: State;
  /** Newest L1 block that the hub knows, with its Unix time: claims are proved in its state. */
  readonly l1: TrustedBlock & { readonly timestampSec: bigint };
  /** Newest height of the rollup on the hub; `undefined`: none. */
  readonly hubHeight: bigint | undefined;
}

/** Configured options of any rollup. */
export interface RollupOptions extends ProverOptions {
  /**
   * As configured. Where it is the L1's id or names no rollup client of the hub, the id that is known for the chain is
   * used: read `ConsensusProver.consensusStateId` again after `check`, `next` or `fetchInitialState`.
   */
  readonly consensusStateId: ConsensusStateId;
  /** `l1_state_machine` and `l1_consensus_state_id`. */
  readonly l1: StateMachineId;
}

/** Configured options of an OP stack chain. The hub's own addresses take precedence; these are compared with them. */
export interface OpStackOptions extends RollupOptions {
  /** Contract of the L1 in which games are created. */
  readonly disputeGameFactory: Address | undefined;
  /** Type of games to try first; every type that the hub lists counts. */
  readonly respectedGameType?: number | undefined;
  /** `message_parser`: address of `L2ToL1MessagePasser` on the rollup. */
  readonly messageParser: Address;
  /** `L2OutputOracle` of chains without dispute games. */
  readonly l2Oracle?: Address | undefined;
}

/** Configured options of an Arbitrum chain. */
export interface ArbitrumOptions extends RollupOptions {
  /** Rollup contract on the L1. The hub's own address takes precedence; this one is compared with it. */
  readonly rollupCore: Address | undefined;
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
  /** Formats a claim for the log. */
  describe(claim: Claim): string;
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
  const detail = "a log or answer of a rollup's contract does not match its ABI";
  return mapError(RollupDataError, read, (cause) => badData(l1, detail, cause));
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
   * Reads the range at every endpoint, and adds up what they know: none of them can hide a claim. @throws {RpcFault |
   * ProverFault} of the first endpoint when none serves logs
   */
  async #scan(poll: ClaimPoll<State, Rules>, range: L1Range): Promise<readonly Claim[]> {
    const found = new Map<string, Claim>();
    const faults: unknown[] = [];
    const answers = await Promise.all(
      poll.l1.each().map(async (reader) => {
        try {
          const claims = await this.#fetch(reader, poll, range);
          for (const claim of claims) found.set(this.#kind.keyOf(claim), claim);
          return [{ reader, count: new Set(claims.map((claim) => this.#kind.keyOf(claim))).size }];
        } catch (fault) {
          poll.signal.throwIfAborted();
          if (!(fault instanceof RpcFault || fault instanceof ProverFault)) throw fault;
          faults.push(fault);
          return [];
        }
      }),
    );
    if (answers.flat().length === 0) throw faults[0];
    for (const { reader, count } of answers.flat()) {
      if (count === found.size) continue;
      const fields = { from_block: range.from, to_block: range.to, found: count };
      this.#deps.log.warn("endpoint_data_invalid.logs", { endpoint: reader.hosts.join(", "), ...fields });
    }
    return [...found.values()];
  }

  async #fetch(
    reader: EvmReader,
    { contract, signal }: ClaimPoll<State, Rules>,
    range: L1Range,
  ): Promise<readonly Claim[]> {
    const logs = await reader.fetchLogs({ address: contract, topics: [this.#kind.topic0] }, range, signal);
    return readL1(reader, () => logs.flatMap((entry) => this.#kind.decode(entry, contract) ?? []));
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

function isOfEndpoint({ refusal: { cause } }: { readonly refusal: ClaimRefusal }): boolean {
  return cause instanceof RpcFault && ENDPOINT_FAULTS.has(cause.code);
}
