/**
 * Construction of a proof by signatures from the data of a relay chain node. Source: docs/protocol/hub-consensus.md
 * section 5.4; polytope-labs/hyperbridge: modules/consensus/beefy/prover.
 */
import { recover } from "../../../../core/encoding/coded_error.ts";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import type { BeefyClientState } from "../../../../core/evm/beefy_client_state.ts";
import { calculateMmrRoot, MmrError } from "../../../../core/merkle/mmr.ts";
import {
  authorityLeaves,
  beefyLeafIndex,
  beefyThreshold,
  headLeaf,
  toContractSignature,
} from "./verify_proof.ts";
import type { BeefyJustification, BeefyMmrLeaf } from "../../../../core/beefy/commitment.ts";
import { BeefyError, beefyMmrLeafHash, findMmrRoot } from "../../../../core/beefy/commitment.ts";
import { merkleMultiProof, merkleRoot } from "./merkle_tree.ts";
import type { NaiveProof, ParachainProof } from "../../../../core/beefy/naive_proof.ts";

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
  /** Leaf of N. */
  readonly leaf: BeefyMmrLeaf;
  /** Path from the leaf to the signed root. */
  readonly mmrItems: readonly Hash256[];
  /** Heads at the parent of N, by ascending id: of all parachains, and of the hub. */
  readonly heads: readonly ParachainHead[];
  /** Parachains whose heads are proved. */
  readonly paraIds: readonly number[];
}

/**
 * Builds the proof, with no more votes than the set needs. May be interrupted between two keys of the set. @throws {BeefyError} `invalid_authorities_proof` when the
 * keys are not those of the set that the client trusts, `super_majority_required`, `unknown_authority_set`,
 * `invalid_mmr_proof` when peaks and leaves do not lead to the signed root, `head_missing`
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
  if (!isProven(facts, leafIndex + 1n)) throw new BeefyError("invalid_mmr_proof");
  return {
    relay: {
      commitment,
      votes,
      leaf,
      leafIndex,
      mmrProof: facts.mmrItems,
      authoritiesProof: merkleMultiProof(authorities, votes.map(({ index }) => index)),
    },
    parachain: proveHeads(facts.heads, facts.paraIds),
  };
}

/** True when the items lead from the leaf, the last of `leafCount`, to the signed root. */
function isProven({ justification, leaf, mmrItems }: NaiveProofInput, leafCount: bigint): boolean {
  const leaves = [{ index: leafCount - 1n, hash: beefyMmrLeafHash(leaf) }];
  const root = recover(MmrError, () => calculateMmrRoot(mmrItems, leaves, leafCount), () => undefined);
  return root !== undefined && root === findMmrRoot(justification.commitment);
}

function proveHeads(heads: readonly ParachainHead[], paraIds: readonly number[]): ParachainProof {
  const indexes = heads.flatMap(({ paraId }, index) => paraIds.includes(paraId) ? [index] : []);
  if (indexes.length !== paraIds.length) throw new BeefyError("head_missing");
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
