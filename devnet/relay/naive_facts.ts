/**
 * What a naive BEEFY proof is made of, read block by block out of a relay chain's storage.
 * Source: docs/protocol/hub-consensus.md section 5.4.
 */
import { fromHex, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { decodeAuthorities, headLeaf } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import type { NaiveProofInput, ParachainHead } from "../../src/consensus/clients/beefy/spec/build_proof.ts";
import {
  authoritySetCodec,
  type BeefyMmrLeaf,
  beefyMmrLeafHash,
  decodeBeefyJustification,
} from "../../src/core/beefy/commitment.ts";
import { merkleRoot } from "../../src/consensus/clients/beefy/spec/merkle_tree.ts";
import { decodeHeadData, parachainHeadKey } from "../../src/core/substrate/parachain_heads.ts";
import { hashPair, toSubtrees } from "../../src/core/merkle/mmr.ts";
import type { SubstrateHeader } from "../../src/core/substrate/header.ts";
import { decodeStrict, list, u32, u64 } from "../../src/core/encoding/scale.ts";
import { topPosition } from "../trie/mmr_range.ts";
import { relayKeys } from "./relay_state.ts";

/** Where headers and storage come from. */
export interface FactSource {
  header(block: number): Promise<SubstrateHeader>;
  storage(key: Uint8Array, block: number): Promise<Uint8Array | undefined>;
}

/** Which proof. */
export interface WantedProof {
  /** SCALE justification. */
  readonly justification: Uint8Array;
  /** Parachains whose heads are proved; they need not be in the list of parachains. */
  readonly paraIds: readonly number[];
}

/** Positions of the peaks that the relay chain keeps in its storage, without the last one. */
export function storedPeakPositions(leafCount: bigint): readonly bigint[] {
  return toSubtrees(leafCount).slice(0, -1).map(topPosition);
}

/** Blocks whose leaves form the last mountain of a range that ends with block `number`. */
function lastMountainBlocks(
  number: number,
  leafCount: bigint,
): { readonly from: number; readonly to: number } {
  const height = toSubtrees(leafCount).at(-1)?.height ?? 0;
  return { from: number - 2 ** height + 1, to: number };
}

const NO_NODE = new Uint8Array(32);

/** Items of the last leaf of a range. @param leaves hashes of the last mountain. */
export function mountainItems(
  storedPeaks: readonly Hash256[],
  leaves: readonly Hash256[],
): readonly Hash256[] {
  const items = [...storedPeaks];
  let level = leaves.map(fromHex);
  while (level.length > 1) {
    items.push(toHash256(level.at(-2) ?? NO_NODE));
    level = Array.from(
      { length: level.length >> 1 },
      (_, at) => hashPair(level[2 * at] ?? NO_NODE, level[2 * at + 1] ?? NO_NODE),
    );
  }
  return items;
}

/** Everything for the proof of the block that the justification is for. */
export async function readNaiveFacts(
  source: FactSource,
  { justification: encoded, paraIds }: WantedProof,
): Promise<NaiveProofInput> {
  const justification = decodeBeefyJustification(encoded);
  const { blockNumber } = justification.commitment;
  const leafCount = decodeStrict(
    u64,
    await required(source, relayKeys.mmrLeafCount, blockNumber),
    "NumberOfLeaves",
  );
  const storedPeaks: Hash256[] = [];
  for (const position of storedPeakPositions(leafCount)) {
    storedPeaks.push(toHash256(await required(source, relayKeys.mmrNode(position), blockNumber)));
  }
  const { from, to } = lastMountainBlocks(blockNumber, leafCount);
  const leaves: BeefyMmrLeaf[] = [];
  for (let block = from; block <= to; block++) leaves.push(await readLeaf(source, block, paraIds));
  const leaf = leaves.at(-1);
  if (leaf === undefined) throw new Error("A mountain without leaves");
  return {
    justification,
    authorities: decodeAuthorities(await required(source, relayKeys.beefyAuthorities, blockNumber)),
    leaf,
    mmrItems: mountainItems(storedPeaks, leaves.map(beefyMmrLeafHash)),
    heads: await readHeads(source, blockNumber - 1, paraIds),
    paraIds,
  };
}

async function readLeaf(
  source: FactSource,
  block: number,
  onDemand: readonly number[],
): Promise<BeefyMmrLeaf> {
  const { parentHash } = await source.header(block);
  const nextSet = await required(source, relayKeys.beefyNextSet, block);
  const heads = await readHeads(source, block - 1, onDemand);
  return {
    version: 0,
    parentNumber: block - 1,
    parentHash,
    nextAuthoritySet: decodeStrict(authoritySetCodec, nextSet, "BeefyNextAuthorities"),
    extra: merkleRoot(heads.map(({ paraId, head }) => headLeaf(paraId, head))),
  };
}

async function readHeads(
  source: FactSource,
  block: number,
  onDemand: readonly number[],
): Promise<readonly ParachainHead[]> {
  const listed = decodeStrict(list(u32), await required(source, relayKeys.parachains, block), "Parachains");
  const heads: ParachainHead[] = [];
  for (const paraId of [...new Set([...listed, ...onDemand])].sort((a, b) => a - b)) {
    const stored = await source.storage(parachainHeadKey(paraId), block);
    if (stored !== undefined) heads.push({ paraId, head: decodeHeadData(stored) });
  }
  return heads;
}

async function required(source: FactSource, key: Uint8Array, block: number): Promise<Uint8Array> {
  const value = await source.storage(key, block);
  if (value === undefined) throw new Error(`Block ${block} lacks a value`);
  return value;
}
