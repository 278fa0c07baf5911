/**
 * The branch `[89, 45, 23, 10, 4, 3]` of the execution payload header in an Electra or Fulu state, built from data that
 * nodes serve without the whole state. Every method ends with the same check against the state's root. Numbers in names
 * and comments are generalized indices; fields of the state: ethereum/consensus-specs: specs/electra/beacon-chain.md
 * (BeaconState).
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { electraStateIndices } from "./beacon_network.ts";
import { DerivationError } from "./derivation_error.ts";
import { branchRoot, sha256Pair } from "./merkle.ts";
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

/** Descriptor of {@link branchOfStateProof} for the proof route of Lodestar. */
export const STATE_PROOF_FORMAT = "0x28f8";

/** Nodes that the descriptor selects, in their order. */
const STATE_PROOF_ORDER = [4, 10, 88, 89, 45, 23, 3] as const;

const DEPTH = 6;

function checked(place: PayloadPlace, branch: readonly Hash256[]): Hash256[] {
  const root = branchRoot(place.payloadRoot, branch, electraStateIndices.executionPayloadHeader);
  if (root !== place.stateRoot) throw new DerivationError("state_root");
  return [...branch];
}

/**
 * From the leaves of `/eth/v0/beacon/proof/state/{id}?format=0x28f8` (ChainSafe/lodestar: packages/api, proof routes;
 * the format is the compact descriptor of chainsafe/ssz: persistent-merkle-tree, compactMulti).
 * @throws {DerivationError} `branch_length`, `state_root`
 */
export function branchOfStateProof(place: PayloadPlace, leaves: readonly Hash256[]): Hash256[] {
  if (leaves.length !== STATE_PROOF_ORDER.length) throw new DerivationError("branch_length");
  const [n4, n10, n88, n89, n45, n23, n3] = leaves;
  if (
    n4 === undefined || n10 === undefined || n89 === undefined || n45 === undefined || n23 === undefined ||
    n3 === undefined
  ) throw new DerivationError("branch_length");
  if (n88 !== place.payloadRoot) throw new DerivationError("state_root");
  return checked(place, [n89, n45, n23, n10, n4, n3]);
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
