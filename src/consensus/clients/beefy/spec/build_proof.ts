/**
 * Construction of a proof by signatures from the data of a relay chain node. Source: docs/protocol/hub-consensus.md
 * section 5.4; polytope-labs/hyperbridge: modules/consensus/beefy/prover.
 */
import { fromHex, type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import type { BeefyClientState } from "../../../../core/evm/beefy_client_state.ts";
import {
  bagPeaks,
  calculateMmrRoot,
  hashPair,
  MmrError,
  topPosition,
  toSubtrees,
} from "../../../../core/merkle/mmr.ts";
import { authorityLeaves, toContractSignature } from "./authorities.ts";
import { BeefyError } from "../../../../core/beefy/beefy_error.ts";
import {
  type BeefyJustification,
  type BeefyMmrLeaf,
  beefyMmrLeafHash,
  findMmrRoot,
} from "../../../../core/beefy/commitment.ts";
import { merkleMultiProof, merkleRoot } from "./merkle_tree.ts";
import type { NaiveProof, ParachainProof } from "../../../../core/beefy/naive_proof.ts";
import { beefyLeafIndex, beefyThreshold, headLeaf } from "./verify_proof.ts";

/** A parachain with its newest head. */
export interface ParachainHead {
  readonly paraId: number;
  /** SCALE header. */
  readonly head: Uint8Array;
}

/** Input of a proof of block N, as a node serves it. */
export interface NaiveProofInput {
  readonly justification: BeefyJustification;
  /** `Beefy.Authorities` at N. */
  readonly authorities: readonly Uint8Array[];
  /** Hashes of all peaks but the last, from left to right; see {@link storedPeakPositions}. */
  readonly storedPeaks: readonly Hash256[];
  /** Leaf of N. */
  readonly leaf: BeefyMmrLeaf;
  /** Hashes of the other leaves of the last mountain, which come before it; see {@link lastMountainBlocks}. */
  readonly earlierLeaves: readonly Hash256[];
  /**
   * Items of the leaf's proof as a node built them (`mmr_generateProof`): peaks and earlier leaves may then be empty.
   */
  readonly mmrItems?: readonly Hash256[] | undefined;
  /** Heads at the parent of N, by ascending id: of all parachains, and of the hub. */
  readonly heads: readonly ParachainHead[];
  /** Parachains whose heads are proved. */
  readonly paraIds: readonly number[];
}

/** Positions of the peaks that the relay chain keeps in its storage, without the last one. */
export function storedPeakPositions(leafCount: bigint): readonly bigint[] {
  return toSubtrees(leafCount).slice(0, -1).map(topPosition);
}

/** Blocks whose leaves form the last mountain of a range that ends with block `number`. */
export function lastMountainBlocks(
  number: number,
  leafCount: bigint,
): { readonly from: number; readonly to: number } {
  const height = toSubtrees(leafCount).at(-1)?.height ?? 0;
  return { from: number - 2 ** height + 1, to: number };
}

/**
 * Builds the proof, with no more votes than the set needs. May be interrupted between two keys of the set. @throws {BeefyError} `invalid_authorities_proof` when the
 * keys are not those of the set that the client trusts, `super_majority_required`, `unknown_authority_set`,
 * `invalid_mmr_proof` when peaks and leaves do not lead to the signed root, `undecodable_data` when a wanted head is
 * missing
 */
export function* buildNaiveProof(
  trusted: BeefyClientState,
  facts: NaiveProofInput,
): Generator<undefined, NaiveProof, undefined> {
  const { commitment, signatures } = facts.justification;
  const set = [trusted.current, trusted.next].find(({ id }) => id === commitment.validatorSetId);
  if (set === undefined) throw new BeefyError("unknown_authority_set");
  const authorities = yield* authorityLeaves(facts.authorities);
  yield;
  if (set.length !== authorities.length || merkleRoot(authorities) !== set.root) {
    throw new BeefyError("invalid_authorities_proof");
  }
  yield;
  const threshold = beefyThreshold(set.length);
  if (signatures.length < threshold) throw new BeefyError("super_majority_required");
  const votes = signatures.slice(0, threshold).map(({ index, signature }) => ({
    index,
    signature: toContractSignature(signature),
  }));
  const { leaf } = facts;
  const leafIndex = beefyLeafIndex(trusted.beefyActivationBlock, leaf.parentNumber);
  const mmrProof = facts.mmrItems === undefined
    ? mmrItems(facts)
    : checkedItems(facts, facts.mmrItems, leafIndex);
  return {
    relay: {
      commitment,
      votes,
      leaf,
      leafIndex,
      mmrProof,
      authoritiesProof: merkleMultiProof(authorities, votes.map(({ index }) => index)),
    },
    parachain: proveHeads(facts.heads, facts.paraIds),
  };
}

/** Returns a node's items if they lead to the signed root. */
function checkedItems(
  { justification, leaf }: NaiveProofInput,
  items: readonly Hash256[],
  leafIndex: bigint,
): readonly Hash256[] {
  const leaves = [{ index: leafIndex, hash: beefyMmrLeafHash(leaf) }];
  try {
    const root = calculateMmrRoot(items, leaves, leafIndex + 1n);
    if (root === findMmrRoot(justification.commitment)) return items;
  } catch (cause) {
    if (!(cause instanceof MmrError)) throw cause;
    throw new BeefyError("invalid_mmr_proof", { cause });
  }
  throw new BeefyError("invalid_mmr_proof");
}

/** Peaks before the last mountain, then the siblings of its last leaf from below. */
function mmrItems({ justification, storedPeaks, leaf, earlierLeaves }: NaiveProofInput): readonly Hash256[] {
  const items = [...storedPeaks];
  let level = [...earlierLeaves, beefyMmrLeafHash(leaf)].map(fromHex);
  while (level.length > 1) {
    const sibling = level.at(-2);
    if (sibling !== undefined) items.push(toHash256(sibling));
    level = Array.from({ length: level.length / 2 }, (_, at) => {
      const [left, right] = [level[2 * at], level[2 * at + 1]];
      if (left === undefined || right === undefined) throw new BeefyError("invalid_mmr_proof");
      return hashPair(left, right);
    });
  }
  const [top] = level;
  if (top === undefined) throw new BeefyError("invalid_mmr_proof");
  const root = toHash256(bagPeaks([...storedPeaks.map(fromHex), top]));
  if (root !== findMmrRoot(justification.commitment)) throw new BeefyError("invalid_mmr_proof");
  return items;
}

function proveHeads(heads: readonly ParachainHead[], paraIds: readonly number[]): ParachainProof {
  const indexes = heads.flatMap(({ paraId }, index) => paraIds.includes(paraId) ? [index] : []);
  if (indexes.length !== paraIds.length) throw new BeefyError("undecodable_data");
  if (indexes.length === 0) return { heads: [], proof: [], leafCount: heads.length };
  const leaves = heads.map(({ paraId, head }) => headLeaf(paraId, head));
  return {
    heads: indexes.flatMap((index) => {
      const found = heads[index];
      return found === undefined ? [] : [{ index, paraId: found.paraId, header: found.head }];
    }),
    proof: merkleMultiProof(leaves, indexes),
    leafCount: heads.length,
  };
}
