/**
 * Reads the input of a naive proof of one relay chain block, whose node proves the leaf. Source:
 * docs/protocol/hub-consensus.md section 5.4.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { decodeAuthorities, headLeaf } from "./spec/verify_proof.ts";
import {
  BeefyError,
  type BeefyJustification,
  decoded,
  mmrLeafCodec,
} from "../../../core/beefy/commitment.ts";
import type { NaiveProofInput, ParachainHead } from "./spec/build_proof.ts";
import { merkleRoot } from "./spec/merkle_tree.ts";
import { leafProofCodec, parachainIdsCodec, relayBeefyKeys } from "./spec/relay_storage.ts";
import {
  decodeHeadData,
  parachainHeadKey,
  parachainHeadsPrefix,
  parachainOfHeadKey,
} from "../../../core/substrate/parachain_heads.ts";
import { bytes, compareIntegers, decodeStrict, list } from "../../../core/encoding/scale.ts";
import type { RelayBlock, RelayChain } from "../../relay_chain/relay_chain.ts";
import { partsOf } from "../../../core/runtime/slices.ts";

/** Where and what to read. */
export interface ProofReads {
  readonly relay: Pick<RelayChain, "fetchKeys" | "fetchStorage" | "fetchMmrProof">;
  /** Parachains whose heads are proved; on-demand ones are not in the relay chain's list. */
  readonly paraIds: readonly number[];
  /** Maximum number of storage keys of one request. */
  readonly batchSize: number;
}

/** A justified block to prove. */
export interface ProvedBlock {
  readonly block: RelayBlock;
  readonly justification: BeefyJustification;
  /** Leaves of the mountain range at that block, as the client counts them. */
  readonly leafCount: bigint;
}

/** Maximum number of heads behind a leaf of newer runtimes, the first ones by id. */
const MAX_HEADS = 1_024;

/**
 * Reads everything for a proof, unverified. @throws {RpcFault} also where the node does not prove leaves @throws
 * {BeefyError} `undecodable_data`; `out_of_bounds_leaves`: the client was given another activation block
 */
export async function readNaiveProofInput(
  reads: ProofReads,
  { block, justification, leafCount }: ProvedBlock,
  signal: AbortSignal,
): Promise<NaiveProofInput> {
  const { relay, paraIds } = reads;
  const [[authorities], answer] = await Promise.all([
    relay.fetchStorage([relayBeefyKeys.authorities], block.hash, signal),
    relay.fetchMmrProof(block, signal),
  ]);
  const proof = decoded(() => decodeStrict(leafProofCodec, answer.proof, "LeafProof"));
  if (proof.leafCount !== leafCount) throw new BeefyError("out_of_bounds_leaves");
  const leaf = decoded(() => {
    const [encoded] = decodeStrict(list(bytes), answer.leaves, "Leaves");
    return decodeStrict(mmrLeafCodec, required(encoded), "MmrLeaf");
  });
  return {
    justification,
    authorities: decodeAuthorities(required(authorities)),
    leaf,
    mmrItems: proof.items,
    heads: await readCommittedHeads(reads, { block: block.header.parentHash, root: leaf.extra }, signal),
    paraIds,
  };
}

/**
 * Reads the heads that a leaf commits to: those in the relay chain's list, and on-demand ones that its runtime names, as
 * on Polkadot in August 2026; or every one, as in newer runtimes. @throws {BeefyError} `head_missing`: neither
 */
async function readCommittedHeads(
  reads: ProofReads,
  { block, root }: { readonly block: Hash256; readonly root: Hash256 },
  signal: AbortSignal,
): Promise<readonly ParachainHead[]> {
  for (const readIds of [readListedIds, readAllIds]) {
    const heads = await readHeads(reads, { block, paraIds: await readIds(reads, block, signal) }, signal);
    if (merkleRoot(heads.map(({ paraId, head }) => headLeaf(paraId, head))) === root) return heads;
  }
  throw new BeefyError("head_missing");
}

/** Reads the ids of the parachains in the relay chain's list, and adds those of the configuration. */
async function readListedIds(
  { relay, paraIds }: ProofReads,
  block: Hash256,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const [stored = Uint8Array.of(0)] = await relay.fetchStorage([relayBeefyKeys.parachains], block, signal);
  const listed = decoded(() => decodeStrict(parachainIdsCodec, stored, "Parachains"));
  return [...new Set([...listed, ...paraIds])].sort(compareIntegers);
}

/** Reads the ids of all parachains with a head. */
async function readAllIds(
  { relay }: ProofReads,
  block: Hash256,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const keys = await relay.fetchKeys(parachainHeadsPrefix, block, signal);
  return decoded(() => keys.map(parachainOfHeadKey)).sort(compareIntegers).slice(0, MAX_HEADS);
}

/** Reads the newest heads of parachains in the state of a block, in their order; none where there is no value. */
export async function readHeads(
  { relay, batchSize }: Pick<ProofReads, "relay" | "batchSize">,
  { block, paraIds }: { readonly block: Hash256; readonly paraIds: readonly number[] },
  signal: AbortSignal,
): Promise<readonly ParachainHead[]> {
  const heads: ParachainHead[] = [];
  for (const part of partsOf(paraIds, batchSize)) {
    const values = await relay.fetchStorage(part.map(parachainHeadKey), block, signal);
    heads.push(...part.flatMap((paraId, at) => {
      const stored = values[at];
      return stored === undefined ? [] : [{ paraId, head: decoded(() => decodeHeadData(stored)) }];
    }));
  }
  return heads;
}

function required(stored: Uint8Array | undefined): Uint8Array {
  if (stored === undefined) throw new BeefyError("undecodable_data");
  return stored;
}
