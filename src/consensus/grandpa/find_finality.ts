/**
 * Finds the finality proof that brings a GRANDPA client furthest: at most up to the next change of the set, whose block
 * must end a proof, with a justification that the client's strict verifier takes.
 * Source: 05-hub-consensus section 4.4 of the protocol notes.
 */
import { GrandpaError } from "../../core/protocol/consensus/grandpa/grandpa_error.ts";
import {
  type FinalityProof,
  finalityProofCodec,
  GRANDPA_ENGINE,
  type GrandpaConsensusState,
} from "../../core/protocol/consensus/grandpa/message.ts";
import { scheduledAuthorities } from "../../core/protocol/consensus/grandpa/set_change.ts";
import { decodeGrandpaJustification } from "../../core/protocol/consensus/grandpa/verify_justification.ts";
import {
  type VerifiedFinality,
  verifyFinality,
} from "../../core/protocol/consensus/grandpa/verify_message.ts";
import { decodeStrict, ScaleError } from "../../core/protocol/scale.ts";
import type { RelayBlock, RelayChain } from "../relay_chain/relay_chain.ts";

/** The chain as the search reads it. */
export type FinalitySource = Pick<
  RelayChain,
  "fetchFinalized" | "fetchBlocks" | "fetchJustification" | "fetchJustifications" | "proveFinality"
>;

/** What a search brought. */
export type FinalityResult =
  | { readonly kind: "found"; readonly proof: FinalityProof; readonly verified: VerifiedFinality }
  /** The client knows the newest final block. */
  | { readonly kind: "current" }
  /** The chain has another block where the client's newest one is: another chain, or a client that was set up wrong. */
  | { readonly kind: "other_chain" }
  /** No block of the range has a justification that the client would take. */
  | { readonly kind: "none"; readonly refused: readonly GrandpaError[] };

/** Blocks whose justifications are asked for in one request; nodes keep one every 512 blocks and at set changes. */
const JUSTIFICATIONS_AT_A_TIME = 64;

/**
 * Looks for a proof.
 * @param maxBlockRange most blocks after the trusted one that a proof may cover.
 */
export async function findFinality(
  source: FinalitySource,
  trusted: GrandpaConsensusState,
  maxBlockRange: number,
  signal: AbortSignal,
): Promise<FinalityResult> {
  const finalized = await source.fetchFinalized(signal);
  if (finalized.header.number <= trusted.latestHeight) return { kind: "current" };
  const last = Math.min(finalized.header.number, trusted.latestHeight + maxBlockRange);
  const blocks = await source.fetchBlocks(trusted.latestHeight, last, signal);
  const [base, ...unknown] = blocks;
  if (base?.hash !== trusted.latestHash) return { kind: "other_chain" };
  const refused: GrandpaError[] = [];
  const change = unknown.findIndex(({ header }) => changesSet(header));
  if (change !== -1) {
    const ending = unknown.slice(0, change + 1);
    const block = ending.at(-1);
    const justification = block && await source.fetchJustification(block.hash, GRANDPA_ENGINE, signal);
    return tryOne(trusted, ending, justification, refused) ?? { kind: "none", refused };
  }
  if (last === finalized.header.number) {
    const newest = tryOne(trusted, unknown, await newestJustification(source, last, signal), refused);
    if (newest !== undefined) return newest;
  }
  return await searchStored(source, trusted, unknown, refused, signal) ?? { kind: "none", refused };
}

/** A digest item that is not readable changes nothing here: the verifier refuses the block if it comes to it. */
function changesSet(header: RelayBlock["header"]): boolean {
  try {
    return scheduledAuthorities(header) !== undefined;
  } catch (error) {
    if (error instanceof ScaleError) return false;
    throw error;
  }
}

async function newestJustification(
  source: FinalitySource,
  block: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const told = await source.proveFinality(block, signal);
  if (told === undefined) return undefined;
  try {
    return decodeStrict(finalityProofCodec, told, "FinalityProof").justification;
  } catch (error) {
    if (error instanceof ScaleError) return undefined;
    throw error;
  }
}

/** From the newest block down: stored justifications are rare, but their blocks end good proofs. */
async function searchStored(
  source: FinalitySource,
  trusted: GrandpaConsensusState,
  unknown: readonly RelayBlock[],
  refused: GrandpaError[],
  signal: AbortSignal,
): Promise<FinalityResult | undefined> {
  for (let end = unknown.length; end > 0; end -= JUSTIFICATIONS_AT_A_TIME) {
    const start = Math.max(0, end - JUSTIFICATIONS_AT_A_TIME);
    const part = unknown.slice(start, end);
    const hashes = part.map(({ hash }) => hash);
    const justifications = await source.fetchJustifications(hashes, GRANDPA_ENGINE, signal);
    for (let at = part.length - 1; at >= 0; at--) {
      const found = tryOne(trusted, unknown.slice(0, start + at + 1), justifications[at], refused);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * The proof by a justification, if the client would take it.
 * @param blocks from the child of the trusted block on; a justification may be for an earlier one than the last.
 */
function tryOne(
  trusted: GrandpaConsensusState,
  blocks: readonly RelayBlock[],
  justification: Uint8Array | undefined,
  refused: GrandpaError[],
): FinalityResult | undefined {
  if (justification === undefined) return undefined;
  try {
    const { targetHash } = decodeGrandpaJustification(justification).commit;
    const end = blocks.findIndex(({ hash }) => hash === targetHash);
    if (end === -1) return undefined;
    const unknownHeaders = blocks.slice(0, end + 1).map(({ header }) => header);
    const proof = { block: targetHash, justification, unknownHeaders };
    return { kind: "found", proof, verified: verifyFinality(trusted, proof) };
  } catch (error) {
    if (!(error instanceof GrandpaError)) throw error;
    refused.push(error);
    return undefined;
  }
}
