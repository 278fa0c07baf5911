/**
 * Finds the finality proof that advances a GRANDPA client furthest: at most up to the next set change, whose block must
 * end a proof, with a justification that the client's strict verifier accepts. Source: docs/protocol/hub-consensus.md
 * section 4.4.
 */
import { recover } from "../../../core/encoding/coded_error.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import {
  forcesChange,
  GRANDPA_ENGINE,
  type GrandpaConsensusState,
  GrandpaError,
  type GrandpaFinalityProof,
  scheduledAuthorities,
} from "./spec/message.ts";
import { decodeGrandpaJustification } from "./spec/verify_justification.ts";
import { type VerifiedFinality, verifyFinality } from "./spec/verify_message.ts";
import { bytes, decodePrefix, hash256, ScaleError, Struct } from "../../../core/encoding/scale.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { runInSlices } from "../../../core/runtime/slices.ts";
import type { RelayBlock, RelayChain } from "../../relay_chain/relay_chain.ts";

/** Reads of the chain that the search needs. */
export type FinalitySource = Pick<
  RelayChain,
  "fetchFinalized" | "fetchBlocks" | "fetchJustification" | "fetchJustifications" | "proveFinality"
>;

/** Result of a search. */
export type FinalityResult =
  | {
    readonly kind: "found";
    readonly proof: GrandpaFinalityProof;
    readonly verified: VerifiedFinality;
    /** The newest final block, which may be beyond the proof. */
    readonly finalHeight: number;
  }
  /** The client knows the newest final block. */
  | { readonly kind: "current" }
  /** The newest final block is before the client's: the node is behind, or on a shorter chain. */
  | { readonly kind: "behind"; readonly finalHeight: number }
  /** The chain has another block at the client's height: another chain, or a client that was set up wrongly. */
  | { readonly kind: "other_chain" }
  /** That block forces a change of the voters, and no block before it can be proved: no client can pass it. */
  | { readonly kind: "forced_change"; readonly block: number }
  /** No block of the range has a justification that the client would accept. */
  | {
    readonly kind: "none";
    readonly refused: readonly GrandpaError[];
    readonly finalHeight: number;
    /** False: the node does not offer `grandpa_proveFinality`, or answers with too much. */
    readonly canProve: boolean;
  };

/** Blocks of one search. */
interface Range {
  readonly trusted: GrandpaConsensusState;
  /** From the child of the trusted block on. */
  readonly blocks: readonly RelayBlock[];
  readonly finalHeight: number;
  /** Last block that a proof may cover. */
  readonly furthest: number;
  /** Reasons that justifications were refused. */
  readonly refused: GrandpaError[];
  /** Methods that the node does not offer, or answers with too much. */
  readonly unsupported: Set<string>;
}

/** Blocks whose justifications are fetched in one request; nodes keep one every 512 blocks and at set changes. */
const JUSTIFICATIONS_AT_A_TIME = 64;

/** Search for proofs of one chain. Methods may throw an `RpcFault`. */
export class FinalitySearch {
  readonly #source: FinalitySource;
  readonly #maxBlockRange: number;
  /**
   * Blocks after a client's newest one up to which there are no justifications: a node that stored none when a block
   * became final gets none later, and blocks are fetched with their whole bodies.
   */
  #searched: { readonly after: Hash256; readonly upTo: number } | undefined;

  /** @param maxBlockRange maximum number of blocks after the trusted one that a proof may cover. */
  constructor(source: FinalitySource, maxBlockRange: number) {
    this.#source = source;
    this.#maxBlockRange = maxBlockRange;
  }

  /** Searches for a proof for a client of that state. */
  async find(trusted: GrandpaConsensusState, signal: AbortSignal): Promise<FinalityResult> {
    const { header: { number: finalHeight }, hash } = await this.#source.fetchFinalized(signal);
    if (finalHeight < trusted.latestHeight) return { kind: "behind", finalHeight };
    if (finalHeight === trusted.latestHeight) {
      return { kind: hash === trusted.latestHash ? "current" : "other_chain" };
    }
    const furthest = trusted.latestHeight + this.#maxBlockRange;
    const last = Math.min(finalHeight, furthest);
    const [base, ...blocks] = await this.#source.fetchBlocks(trusted.latestHeight, last, signal);
    if (base?.hash !== trusted.latestHash) return { kind: "other_chain" };
    const range: Range = { trusted, blocks, finalHeight, furthest, refused: [], unsupported: new Set() };
    const found = await this.#search(range, signal);
    if (found !== undefined) return found;
    const forced = findForced(range);
    if (forced !== undefined) return { kind: "forced_change", block: forced };
    return { kind: "none", refused: range.refused, finalHeight, canProve: range.unsupported.size === 0 };
  }

  async #search(
    range: Range,
    signal: AbortSignal,
  ): Promise<FinalityResult | undefined> {
    const change = range.blocks.findIndex(({ header }) => changesSet(header));
    if (change === -1) {
      const newest = range.finalHeight > range.furthest ? undefined : await this.#tryNewest(range, signal);
      return newest ?? await this.#searchStored(range, signal);
    }
    const blocks = range.blocks.slice(0, change + 1);
    const ending = blocks.at(-1);
    const justification = ending &&
      await this.#source.fetchJustification(ending.hash, GRANDPA_ENGINE, signal);
    return await tryOne({ ...range, blocks }, justification);
  }

  /**
   * Tries the newest justification of the node. It may be for a later block than the requested one: blocks become final
   * in the meantime, and a node proves a block by the last one of its set.
   */
  async #tryNewest(
    range: Range,
    signal: AbortSignal,
  ): Promise<FinalityResult | undefined> {
    const last = range.blocks.at(-1)?.header.number ?? 0;
    const justification = await this.#fetchNewest(last, range, signal);
    const target = justification && targetOf(justification);
    if (target === undefined || target <= last) return await tryOne(range, justification);
    if (target > range.furthest) return undefined;
    const later = await this.#source.fetchBlocks(last, target, signal);
    const blocks = [...range.blocks.slice(0, -1), ...later];
    const change = blocks.findIndex(({ header }) => changesSet(header));
    return await tryOne(
      { ...range, blocks: change === -1 ? blocks : blocks.slice(0, change + 1) },
      justification,
    );
  }

  /** Fetches the newest justification. Nodes that do not prove blocks, or not this one, keep justifications of some. */
  async #fetchNewest(
    block: number,
    { unsupported }: Range,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    try {
      const reported = await this.#source.proveFinality(block, signal);
      if (reported === undefined) return undefined;
      return decodePrefix(usedProofCodec, reported, "FinalityProof").justification;
    } catch (error) {
      if (error instanceof ScaleError) return undefined;
      if (!(error instanceof RpcFault) || !refusals.has(error.code)) throw error;
      if (error.code === "missing_method" || error.code === "too_large") unsupported.add(error.where.method);
      return undefined;
    }
  }

  /** Searches stored justifications from the newest block down: they are rare, but their blocks end good proofs. */
  async #searchStored(
    range: Range,
    signal: AbortSignal,
  ): Promise<FinalityResult | undefined> {
    const { trusted, blocks: all } = range;
    const { after, upTo = trusted.latestHeight } = this.#searched ?? {};
    const known = after === trusted.latestHash ? Math.min(all.length, upTo - trusted.latestHeight) : 0;
    for (let end = all.length; end > known; end -= JUSTIFICATIONS_AT_A_TIME) {
      const start = Math.max(known, end - JUSTIFICATIONS_AT_A_TIME);
      const part = range.blocks.slice(start, end);
      const hashes = part.map(({ hash }) => hash);
      const justifications = await this.#source.fetchJustifications(hashes, GRANDPA_ENGINE, signal);
      for (let at = part.length - 1; at >= 0; at--) {
        const blocks = range.blocks.slice(0, start + at + 1);
        const found = await tryOne({ ...range, blocks }, justifications[at]);
        if (found !== undefined) return found;
      }
    }
    // Refused justifications are reported again at the next search.
    if (range.refused.length === 0) {
      this.#searched = { after: trusted.latestHash, upTo: trusted.latestHeight + all.length };
    }
    return undefined;
  }
}

/**
 * Returns the block that forces a change, where that explains the failure: before a scheduled change, or in its block.
 */
function findForced({ blocks, refused }: Range): number | undefined {
  // Votes for different blocks are by voters that the client knows: another block is tried later.
  if (refused.length > 0 && refused.every(({ code }) => code === "votes_differ")) return undefined;
  const first = blocks.find(({ header }) => forcesChange(header) || changesSet(header));
  return first !== undefined && forcesChange(first.header) ? first.header.number : undefined;
}

function changesSet(header: RelayBlock["header"]): boolean {
  return scheduledAuthorities(header) !== undefined;
}

/** Reads the number of the lowest block that was voted for, which is signed; undefined when it is unreadable. */
function targetOf(justification: Uint8Array): number | undefined {
  const decoded = recover(GrandpaError, () => decodeGrandpaJustification(justification), () => undefined);
  return decoded?.commit.precommits.reduce<number | undefined>(
    (lowest, { targetNumber }) => Math.min(lowest ?? targetNumber, targetNumber),
    undefined,
  );
}

/** Beginning of a node's finality proof. Headers follow, as many as the node likes: they are fetched one by one. */
const usedProofCodec = Struct({ block: hash256, justification: bytes });

/** Fault codes of a node without a usable finality proof, or without the method. */
const refusals: ReadonlySet<RpcFault["code"]> = new Set([
  "missing_method",
  "too_large",
  "refused",
  "not_found",
  "lagging",
]);

/**
 * Builds the proof by a justification for the last block of a range or an earlier one, if the client would accept it.
 */
async function tryOne(
  range: Range,
  justification: Uint8Array | undefined,
): Promise<FinalityResult | undefined> {
  return justification === undefined ? undefined : await runInSlices(prove(range, justification));
}

/** Steps of {@link tryOne}. */
function* prove(
  { trusted, blocks, finalHeight, refused }: Range,
  justification: Uint8Array,
): Generator<undefined, FinalityResult | undefined, undefined> {
  try {
    const { targetHash } = decodeGrandpaJustification(justification).commit;
    yield;
    const end = blocks.findIndex(({ hash }) => hash === targetHash);
    if (end === -1) return undefined;
    const unknownHeaders = blocks.slice(0, end + 1).map(({ header }) => header);
    const proof = { block: targetHash, justification, unknownHeaders };
    const verified = yield* verifyFinality(trusted, proof);
    return { kind: "found", proof, verified, finalHeight };
  } catch (error) {
    if (!(error instanceof GrandpaError)) throw error;
    refused.push(error);
    return undefined;
  }
}
