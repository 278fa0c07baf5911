/**
 * Branches of the execution block in a finalized state, built from data that nodes serve without the whole state: before
 * Gloas `[89, 45, 23, 10, 4, 3]` of the payload header, then that of the block's hash. Every method ends with the same
 * check against the state's root. Numbers in names and comments are generalized indices; fields of the state:
 * ethereum/consensus-specs: specs/{electra,gloas}/beacon-chain.md (BeaconState).
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { electraStateIndices, gloasStateIndices } from "./beacon_network.ts";
import { DerivationError } from "./derivation_error.ts";
import { branchRoot, depthOf, sha256Pair } from "./merkle.ts";
import { uint64Root } from "./ssz_roots.ts";

/** The state in question and the payload header in it. */
export interface PayloadPlace {
  readonly stateRoot: Hash256;
  /** Root of the payload header, node 88. */
  readonly payloadRoot: Hash256;
}

/** Fields of the state that stand near the payload header. Amounts in Gwei. */
export interface NeighbourFields {
  /** Node 89. */
  readonly nextWithdrawalIndex: bigint;
  /** Node 90. */
  readonly nextWithdrawalValidatorIndex: bigint;
  /** Nodes 92 to 95. */
  readonly depositRequestsStartIndex: bigint;
  readonly depositBalanceToConsumeGwei: bigint;
  readonly exitBalanceToConsumeGwei: bigint;
  readonly earliestExitEpoch: bigint;
}

const DEPTH = 6;

function checked(place: PayloadPlace, branch: readonly Hash256[]): Hash256[] {
  const root = branchRoot(place.payloadRoot, branch, electraStateIndices.execution);
  if (root !== place.stateRoot) throw new DerivationError("state_root");
  return [...branch];
}

/**
 * From the historical summaries with their branch `[90, 44, 23, 10, 4, 3]` (node 91), as Nimbus and Lodestar serve them.
 * @param nextWithdrawalIndex one more than the index of the last withdrawal in the finalized execution block.
 * @throws {DerivationError} `branch_length`, `state_root`
 */
export function branchOfSummariesProof(
  place: PayloadPlace,
  proof: { readonly summariesRoot: Hash256; readonly branch: readonly Hash256[] },
  nextWithdrawalIndex: bigint,
): Hash256[] {
  const [n90, n44, ...above] = proof.branch;
  if (n90 === undefined || n44 === undefined || proof.branch.length !== DEPTH) {
    throw new DerivationError("branch_length");
  }
  const n89 = uint64Root(nextWithdrawalIndex);
  if (sha256Pair(place.payloadRoot, n89) !== n44) throw new DerivationError("state_root");
  return checked(place, [n89, sha256Pair(n90, proof.summariesRoot), ...above]);
}

/**
 * From fields of the state, the root of its historical summaries, and a bootstrap for the upper nodes, whose branch of
 * the current committee (node 86) is `[87, 42, 20, 11, 4, 3]`.
 * @throws {DerivationError} `branch_length`, `state_root`
 */
export function branchOfFields(
  place: PayloadPlace,
  { fields, summariesRoot }: { readonly fields: NeighbourFields; readonly summariesRoot: Hash256 },
  bootstrap: { readonly committeeRoot: Hash256; readonly branch: readonly Hash256[] },
): Hash256[] {
  const [n87, n42, n20, n11, n4, n3] = bootstrap.branch;
  if (
    n87 === undefined || n42 === undefined || n20 === undefined || n11 === undefined || n4 === undefined ||
    n3 === undefined || bootstrap.branch.length !== DEPTH
  ) throw new DerivationError("branch_length");
  const n89 = uint64Root(fields.nextWithdrawalIndex);
  const n45 = sha256Pair(uint64Root(fields.nextWithdrawalValidatorIndex), summariesRoot);
  const n23 = sha256Pair(
    sha256Pair(uint64Root(fields.depositRequestsStartIndex), uint64Root(fields.depositBalanceToConsumeGwei)),
    sha256Pair(uint64Root(fields.exitBalanceToConsumeGwei), uint64Root(fields.earliestExitEpoch)),
  );
  if (sha256Pair(sha256Pair(sha256Pair(place.payloadRoot, n89), n45), n23) !== n11) {
    throw new DerivationError("state_root");
  }
  const n10 = sha256Pair(n20, sha256Pair(n42, sha256Pair(bootstrap.committeeRoot, n87)));
  return checked(place, [n89, n45, n23, n10, n4, n3]);
}

/** The committee of a state's own period, as a bootstrap of its block has it. */
export interface CurrentCommittee {
  readonly root: Hash256;
  /** Branch of node 2945. */
  readonly branch: readonly Hash256[];
}

/**
 * Branch of the block's hash (node 2947) in a state of Gloas, from the bootstrap of its block: the hash and the next
 * committee (node 2946) are the children of node 1473, beside the parent of the current committee.
 * @param nextRoots roots of committees of which one is the next.
 * @throws {DerivationError} `branch_length`, `committee_pair`, `state_root`
 */
export function branchOfBootstrap(
  place: { readonly stateRoot: Hash256; readonly blockHash: Hash256 },
  current: CurrentCommittee,
  nextRoots: readonly Hash256[],
): Hash256[] {
  const [n2944, n1473, ...above] = current.branch;
  const index = gloasStateIndices.execution;
  if (n2944 === undefined || n1473 === undefined || current.branch.length !== depthOf(index)) {
    throw new DerivationError("branch_length");
  }
  const n2946 = nextRoots.find((root) => sha256Pair(root, place.blockHash) === n1473);
  if (n2946 === undefined) throw new DerivationError("committee_pair");
  const branch = [n2946, sha256Pair(n2944, current.root), ...above];
  if (branchRoot(place.blockHash, branch, index) !== place.stateRoot) throw new DerivationError("state_root");
  return branch;
}
