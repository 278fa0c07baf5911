/**
 * Dry run of claims in order until one can be proved: a bad claim must not block the others.
 */
import { RollupDataError } from "./spec/rollup_data_error.ts";
import { RollupUpdateError } from "./spec/rollup_update_error.ts";
import { EvmProofError } from "../../core/merkle/evm_proof.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { EvmReader } from "../evm_reader.ts";
import { ProverFault } from "../prover.ts";
import type { ClaimSearch } from "./claim_search.ts";

/** Claims to try in one poll. */
const MAX_ATTEMPTS = 32;

/** Result of polling the claims of a rollup. */
export type ClaimFinding =
  | { readonly kind: "nothing"; readonly reason: string }
  | {
    readonly kind: "claim";
    /** SCALE of the update; our verifier accepts it. */
    readonly proof: Uint8Array;
    /** Height of the rollup that the hub will know. */
    readonly height: bigint;
    readonly summary: string;
  };

/** Party at fault for a refusal. */
export type RefusalSource =
  /** The L1 endpoint returned data that is not in the state that the hub knows. */
  | "l1"
  /** The claimant or the rollup's endpoint: they cannot be distinguished. */
  | "claim";

/** A claim that cannot be submitted now. */
export class ClaimRefusal extends Error {
  override readonly name = "ClaimRefusal";

  constructor(
    /** Code of this module, or of the verifier or builder that refused. */
    readonly code: string,
    readonly source: RefusalSource,
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

/** Converts an error of a builder or verifier to a refusal; `undefined` for errors that concern no claim. */
function refusalOf(error: unknown): ClaimRefusal | undefined {
  if (error instanceof ClaimRefusal) return error;
  const isRefusal = error instanceof RollupDataError || error instanceof RollupUpdateError ||
    error instanceof EvmProofError;
  if (!isRefusal) return undefined;
  return new ClaimRefusal(error.code, l1FaultCodes.has(error.code) ? "l1" : "claim", { cause: error });
}

/** Context of a dry run. */
export interface ClaimDryRun<Claim> {
  readonly search: ClaimSearch<Claim>;
  readonly l1: EvmReader;
  readonly l2: EvmReader;
  readonly log: Log;
  /** Formats a claim for the log. */
  readonly describe: (claim: Claim) => string;
}

/**
 * Finds the first claim that can be proved, in the given order. @param attempt builds and verifies an update; may throw
 * what {@link refusalOf} knows. `undefined`: it does not advance the hub. @throws {ProverFault} `bad_data` when none
 * can be proved and the L1 endpoint is at fault.
 */
export async function findProvable<Claim, Candidate extends Claim>(
  dryRun: ClaimDryRun<Claim>,
  candidates: readonly Candidate[],
  attempt: (claim: Candidate) => Promise<Extract<ClaimFinding, { kind: "claim" }> | undefined>,
): Promise<ClaimFinding> {
  const { search, log } = dryRun;
  const refusals: { readonly claim: Claim; readonly refusal: ClaimRefusal }[] = [];
  for (const claim of search.ordered(candidates).slice(0, MAX_ATTEMPTS)) {
    const name = dryRun.describe(claim);
    try {
      const offer = await attempt(claim);
      if (offer === undefined) {
        search.settle(claim);
        continue;
      }
      if (search.noteOffered(claim)) {
        log.warn("rollup_claim_last_attempt", { claim: name });
      }
      return offer;
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      const isGivenUp = search.noteRefused(claim);
      log.warn("rollup_claim_unprovable", {
        claim: name,
        code: refusal.code,
        l1: dryRun.l1.hosts.join(", "),
        l2: dryRun.l2.hosts.join(", "),
        isGivenUp,
      });
      refusals.push({ claim, refusal });
    }
  }
  return conclusion(dryRun, refusals);
}

function conclusion<Claim>(
  dryRun: ClaimDryRun<Claim>,
  refusals: readonly { readonly claim: Claim; readonly refusal: ClaimRefusal }[],
): ClaimFinding {
  const lie = refusals.find(({ refusal }) => refusal.source === "l1");
  if (lie !== undefined) {
    throw badData(
      dryRun.l1,
      `its data about ${dryRun.describe(lie.claim)} is not in the L1 state that the hub knows`,
      lie.refusal,
    );
  }
  const [first] = refusals;
  return {
    kind: "nothing",
    reason: first === undefined
      ? "no claim is above the hub's height"
      : `none of ${refusals.length} claims can be proved (${
        dryRun.describe(first.claim)
      }: ${first.refusal.code})`,
  };
}

/** Creates the fault of an endpoint with invalid data; it is named where there is only one. */
export function badData(reader: EvmReader, detail: string, cause: Error): ProverFault {
  const [host, ...others] = reader.hosts;
  const endpoint = others.length === 0 ? host : undefined;
  const names = endpoint === undefined ? ` (one of ${reader.hosts.join(", ")})` : "";
  return new ProverFault("bad_data", {
    chain: reader.chain,
    endpoint,
    detail: `${detail}: ${refusalOf(cause)?.code}${names}`,
  }, {
    cause,
  });
}
