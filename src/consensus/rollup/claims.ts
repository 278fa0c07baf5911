/**
 * Claims about a rollup on its L1: found by their logs in consecutive ranges of L1 blocks and kept until the hub is above
 * them; the first that can be proved is offered. A bad claim never blocks the others, and none is dropped for what an
 * endpoint did. Kinds of claims are behind {@link ClaimKind}. Start reading at {@link Claims.find}. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/{op-host,arb-host}/src/host.rs (submit_consensus_update).
 */
import { mapError } from "../spec/client_error.ts";
import type { EvmReader, TrustedBlock } from "../evm_reader.ts";
import { ProverFault } from "../prover.ts";
import { RollupDataError, RollupUpdateError } from "./spec/rollup_client.ts";
import type { TargetReads } from "../../core/chains/consensus_target.ts";
import type { Hex } from "../../core/encoding/bytes.ts";
import type { Address } from "../../core/evm/address.ts";
import type { RawLog } from "../../core/evm/host_events.ts";
import { EvmProofError } from "../../core/merkle/evm_proof.ts";
import { ENDPOINT_FAULTS, RpcFault } from "../../core/rpc/call.ts";
import { dropOldest } from "../../core/runtime/slices.ts";
import type { Log } from "../../core/telemetry/log.ts";

/** A log of the L1. */
export type ClaimLog = RawLog & { readonly blockNumber: bigint };

/** A claim about a rollup in a log of its L1. */
export interface RollupClaim {
  /** For the operator's log. */
  readonly name: string;
  readonly log: ClaimLog;
  /** Key of the hub's storage that exists when fishermen blacklisted the claim; absent: they cannot. */
  readonly blacklistKey?: Uint8Array;
  /** Height of the rollup that it is about; absent: its proof shows it. */
  readonly l2Height?: bigint;
}

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

/** L1 blocks whose logs are searched, both ends included. */
interface L1Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** One poll. */
export interface ClaimPoll extends RollupView {
  /** The L1, pinned to the block that the hub knows. */
  readonly l1: EvmReader;
  /** Reports, once, that a claim is skipped. @param why code or clause. */
  readonly reportSkipped: (claim: RollupClaim, why: string) => void;
  readonly signal: AbortSignal;
}

/** Why claims are not used that the hub needs no more. */
const OLD = "not above the hub's height";

/** L1 blocks to search back at start, about a day, to find claims made while no relayer ran. */
const L1_LOOK_BACK_BLOCKS = 7200n;
/** Blocks of the last range that are searched again, about an hour: the log index of a node may lag behind its state. */
const OVERLAP_BLOCKS = 300n;
/**
 * Maximum number of claims; anyone can make claims on some chains, so there must be a limit. The oldest are dropped
 * first.
 */
const MAX_CLAIMS = 512;

/** Claims of one kind, with what the hub stores about them now. */
export interface ClaimKind<Claim extends RollupClaim, Candidate extends Claim = Claim> {
  /** Plural in sentences. */
  readonly noun: string;
  /** Contract of the L1 in which they are made. */
  readonly contract: Address;
  readonly topic0: Hex;
  /** Reads a log of the contract; `undefined` for other logs. @throws {RollupDataError} */
  decode(log: ClaimLog): Claim | undefined;
  /** Selects the claims that are worth a proof, in the order in which to try them; of the others the reasons against. */
  plan(open: readonly Claim[], poll: ClaimPoll): Promise<readonly (Candidate | string)[]>;
  /**
   * Builds and verifies an update; `undefined`: it is not above the hub's height. @throws {ClaimRefusal | RollupDataError |
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
  "output_missing",
  "output_mismatch",
  "output_block_missing",
  "output_block_mismatch",
  "assertion_missing",
  "node_missing",
  "node_mismatch",
  "malformed_event",
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

/** An open claim. */
interface Entry<Claim> {
  readonly claim: Claim;
  /** Number of times that it could not be proved, or was offered. */
  attempts: number;
  /** True: it was logged that it is skipped. */
  isReported: boolean;
}

/** Names a claim by all of its log: a forged log never takes the place of a true one. */
function keyOf({ log: { blockNumber, topics, data } }: RollupClaim): string {
  return [blockNumber, ...topics, data].join().toLowerCase();
}

/** The claims of one kind about one rollup. */
export class Claims<Claim extends RollupClaim> {
  readonly #deps: RollupDeps;
  /** By {@link keyOf}, in the order in which they were found. */
  readonly #open = new Map<string, Entry<Claim>>();
  /** Contract whose logs were searched, and the last block; `undefined`: none yet. */
  #searched: { readonly contract: Address; readonly to: bigint } | undefined;

  constructor(deps: RollupDeps) {
    this.#deps = deps;
  }

  /** Builds the update for the first claim that can be proved. @throws {RpcFault | ProverFault} when none can */
  async find<Candidate extends Claim>(
    kind: ClaimKind<Claim, Candidate>,
    view: RollupView,
    signal: AbortSignal,
  ): Promise<ClaimFinding> {
    const { hubHeight = -1n } = view;
    const reportSkipped: ClaimPoll["reportSkipped"] = (claim, why) => this.#reportSkipped(claim, why);
    const poll = { ...view, l1: this.#deps.l1.heldTo(view.block), reportSkipped, signal };
    const where = await this.#extend(kind, poll);
    if (this.#open.size === 0) {
      return { kind: "nothing", reason: `there are no new ${kind.noun} ${where}` };
    }
    const usable = await this.#findUsable(poll);
    const planned = await kind.plan(usable.filter((each) => typeof each !== "string"), poll);
    const judged = planned.map((each) => {
      if (typeof each === "string" || each.l2Height === undefined || each.l2Height > hubHeight) return each;
      this.#open.delete(keyOf(each));
      return OLD;
    });
    const found = await this.#tryAll(kind, judged.filter((each) => typeof each !== "string"), poll);
    if (found !== undefined) return found;
    const unusable = usable.filter((each) => typeof each === "string");
    const reasons = [...unusable, ...judged.map((each) => typeof each === "string" ? each : OLD)];
    const counts = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, all]) =>
      `${all.length} ${reason.replaceAll("_", " ")}`
    );
    return {
      kind: "nothing",
      reason: `none of ${reasons.length} ${kind.noun} can be used: ${counts.join(", ")}`,
    };
  }

  /** Returns the open claims that may be proved at the hub's L1 block, and the reasons against others. */
  async #findUsable({ block, signal }: ClaimPoll): Promise<readonly (Claim | string)[]> {
    const claims = [...this.#open.values()].map(({ claim }) => claim);
    const keys = claims.flatMap(({ blacklistKey }) => blacklistKey ?? []);
    const entries = keys.length === 0 ? [] : await this.#deps.hub.reads.fetchStorage(keys, signal);
    return claims.map((claim, index) => {
      if (claim.log.blockNumber > block.height) return "newer than the L1 block that the hub knows";
      return entries[index] === undefined ? claim : "blacklisted on the hub";
    });
  }

  /**
   * Searches the L1 blocks that the hub knows and that were not searched yet, and once more the last ones before them;
   * never beyond the hub's L1 height, up to which it can check proofs. When that fails, they are searched again. A
   * replaced contract restarts the search. @returns the blocks, in words.
   */
  async #extend(kind: ClaimKind<Claim>, poll: ClaimPoll): Promise<string> {
    const { contract } = kind;
    const { height: to } = poll.block;
    if (this.#searched?.contract !== contract) {
      this.#searched = undefined;
      this.#open.clear();
    }
    const last = this.#searched?.to;
    if (last !== undefined && to <= last) return `up to L1 block ${to}, the newest that the hub knows`;
    const after = last === undefined ? to - L1_LOOK_BACK_BLOCKS : last - OVERLAP_BLOCKS;
    const range = { from: after < 0n ? 0n : after + 1n, to };
    for (const [key, claim] of await this.#scan(kind, poll, range)) {
      if (!this.#open.has(key)) this.#open.set(key, { claim, attempts: 0, isReported: false });
    }
    dropOldest(this.#open, MAX_CLAIMS);
    this.#searched = { contract, to };
    return `in L1 blocks ${range.from} to ${to}`;
  }

  /**
   * Reads the range at every endpoint, and adds up what they know: none of them can hide a claim. @throws {RpcFault |
   * ProverFault} of the first endpoint when none serves logs
   */
  async #scan(
    kind: ClaimKind<Claim>,
    { l1, signal }: ClaimPoll,
    range: L1Range,
  ): Promise<ReadonlyMap<string, Claim>> {
    const filter = { address: kind.contract, topics: [kind.topic0] };
    const outcomes = await Promise.allSettled(
      l1.each().map(async (reader) => {
        const logs = await reader.fetchLogs(filter, range, signal);
        const detail = "a log of a rollup's contract does not match its ABI";
        const decode = (): readonly Claim[] => logs.flatMap((entry) => kind.decode(entry) ?? []);
        const claims = mapError(RollupDataError, decode, (cause) => badData(reader, detail, cause));
        return { reader, claims: new Map(claims.map((claim) => [keyOf(claim), claim])) };
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
    return found;
  }

  /** Tries claims in order until one can be proved; `undefined`: none is above the hub's height. */
  async #tryAll<Candidate extends Claim>(
    kind: ClaimKind<Claim, Candidate>,
    candidates: readonly Candidate[],
    poll: ClaimPoll,
  ): Promise<ClaimFinding | undefined> {
    const refused: RefusedClaim[] = [];
    const entries = candidates.flatMap((claim) => {
      const entry = this.#open.get(keyOf(claim));
      return entry === undefined ? [] : [{ claim, entry }];
    });
    const ordered = entries.toSorted((a, b) => a.entry.attempts - b.entry.attempts);
    for (const { claim, entry } of ordered.slice(0, MAX_ATTEMPTS)) {
      const { name } = claim;
      try {
        const offer = await kind.prove(claim, poll);
        if (offer === undefined) {
          this.#open.delete(keyOf(claim));
          continue;
        }
        entry.attempts++;
        const summary = `block ${offer.height} by ${name} at L1 block ${poll.block.height}`;
        return { ...offer, kind: "claim", summary };
      } catch (error) {
        poll.signal.throwIfAborted();
        const refusal = refusalOf(error);
        if (refusal === undefined) throw error;
        this.#reportSkipped(claim, refusal.code);
        entry.attempts++;
        // Its true log may be missing: everything is searched again.
        if (refusal.source === "l1") this.#searched = undefined;
        refused.push({ name, refusal });
        if (refused.filter(isOfEndpoint).length === MAX_ENDPOINT_FAULTS) break;
      }
    }
    return this.#conclude(refused);
  }

  #reportSkipped(claim: RollupClaim, why: string): void {
    const entry = this.#open.get(keyOf(claim));
    if (entry === undefined || entry.isReported) return;
    entry.isReported = true;
    const [l1, l2] = [this.#deps.l1, this.#deps.l2].map(({ hosts }) => hosts.join(", "));
    const explanation = why.replaceAll("_", " ");
    this.#deps.log.warn("rollup_claim_skipped", { claim: claim.name, explanation, l1, l2 });
  }

  /** @throws {ProverFault} `bad_data` when the L1 endpoint is at fault. @throws {RpcFault} */
  #conclude(refused: readonly RefusedClaim[]): ClaimFinding | undefined {
    const lie = refused.find(({ refusal }) => refusal.source === "l1");
    if (lie !== undefined) {
      const detail = `its data about ${lie.name} is not in the L1 state that the hub knows`;
      throw badData(this.#deps.l1, detail, lie.refusal);
    }
    const fault = refused.find(({ refusal }) => refusal.source === "endpoint");
    if (fault !== undefined) throw fault.refusal.cause;
    const [first] = refused;
    return first && {
      kind: "nothing",
      reason: `none of ${refused.length} claims can be proved (${first.name}: ${first.refusal.code})`,
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
