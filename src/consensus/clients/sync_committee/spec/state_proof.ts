/**
 * The execution block in a finalized state: its proof in the compact form of Lodestar's proof route, and its branch built
 * from data that nodes serve without the whole state. Before Gloas that is `[89, 45, 23, 10, 4, 3]` of the payload header,
 * then the branch of the block's hash. Every method ends with a check against the state's root. Numbers in names and
 * comments are generalized indices. Source: chainsafe/ssz: persistent-merkle-tree, src/proof/compactMulti.ts;
 * ethereum/consensus-specs: specs/{electra,gloas}/beacon-chain.md (BeaconState).
 */
import { electraStateIndices, gloasStateIndices } from "./beacon_network.ts";
import { branchRoot, depthOf, sha256Pair } from "./ssz_roots.ts";
import { mapError } from "../../../spec/client_error.ts";
import { DerivationError } from "./sync_committee_error.ts";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../../../../core/encoding/bytes.ts";
import {
  computeDescriptor,
  createNodeFromProof,
  getNode,
  LeafNode,
  type Node,
  ProofType,
  subtreeFillToContents,
} from "@chainsafe/persistent-merkle-tree";

/** Parameter `format` of the route for a proof of these nodes (generalized indices). */
export function stateProofFormat(indices: readonly number[]): Hex {
  return toHex(computeDescriptor(indices.map(BigInt)));
}

/** Nodes of a state by their generalized indices. */
export class StateTree {
  readonly #top: Node;

  constructor(top: Node) {
    this.#top = top;
  }

  /** A node of the tree: the root is 1. */
  node(index: number): Hash256 {
    return toHash256(getNode(this.#top, BigInt(index)).root);
  }

  /** Branch of a node, bottom up. */
  branch(index: number): Hash256[] {
    return index === 1 ? [] : [this.node(index ^ 1), ...this.branch(Math.floor(index / 2))];
  }
}

/**
 * Nodes of a state that a proof authenticates. @param indices that were requested. @param leaves in the order of the
 * proof. @throws {DerivationError} `branch_length` for another number of leaves, `state_root` when they lead to another
 * root.
 */
export function treeOfProof(
  stateRoot: Hash256,
  indices: readonly number[],
  leaves: readonly Hash256[],
): StateTree {
  const tree = mapError(Error, () => {
    const descriptor = computeDescriptor(indices.map(BigInt));
    const type = ProofType.compactMulti;
    return new StateTree(createNodeFromProof({ type, leaves: leaves.map(fromHex), descriptor }));
  }, (cause) => new DerivationError("branch_length", { cause }));
  if (tree.node(1) !== stateRoot) throw new DerivationError("state_root");
  return tree;
}

/** An execution block by its hash, with the branch of the hash in a state of Gloas. */
export interface ProvedHash {
  readonly blockHash: Hash256;
  readonly executionPayloadBranch: readonly Hash256[];
}

/** The state in question and the payload header in it. */
export interface PayloadPlace {
  readonly stateRoot: Hash256;
  /** Root of the payload header, node 88. */
  readonly payloadRoot: Hash256;
}

/** Names of the fields of nodes 88 to 95, the payload header and those beside it. */
const NEIGHBOURS = [
  "latestExecutionPayloadHeader",
  "nextWithdrawalIndex",
  "nextWithdrawalValidatorIndex",
  "historicalSummaries",
  "depositRequestsStartIndex",
  "depositBalanceToConsume",
  "exitBalanceToConsume",
  "earliestExitEpoch",
];

/**
 * Branch of the payload header from the beginning of the state, the root of its historical summaries, and a bootstrap
 * for the upper nodes, whose branch of the current committee (node 86) is `[87, 42, 20, 11, 4, 3]`.
 * @throws {DerivationError} `branch_length`, `state_root`
 */
export function branchOfFields(
  place: PayloadPlace,
  { rootOf, summariesRoot }: { readonly rootOf: (field: string) => Hash256; readonly summariesRoot: Hash256 },
  bootstrap: CurrentCommittee,
): Hash256[] {
  const [n87, n42, n20, n11, ...above] = bootstrap.branch;
  if (
    n87 === undefined || n42 === undefined || n20 === undefined || n11 === undefined ||
    bootstrap.branch.length !== depthOf(electraStateIndices.currentSyncCommittee)
  ) throw new DerivationError("branch_length");
  const known: Readonly<Record<string, Hash256>> = {
    latestExecutionPayloadHeader: place.payloadRoot,
    historicalSummaries: summariesRoot,
  };
  const leaves = NEIGHBOURS.map((name) => LeafNode.fromRoot(fromHex(known[name] ?? rootOf(name))));
  const neighbours = new StateTree(subtreeFillToContents(leaves, 3));
  const n10 = sha256Pair(n20, sha256Pair(n42, sha256Pair(bootstrap.root, n87)));
  const branch = [...neighbours.branch(8), n10, ...above];
  const isProved = neighbours.node(1) === n11 &&
    branchRoot(place.payloadRoot, branch, electraStateIndices.execution) === place.stateRoot;
  if (!isProved) throw new DerivationError("state_root");
  return branch;
}

/** The committee of a state's own period, as a bootstrap of its block has it. */
export interface CurrentCommittee {
  readonly root: Hash256;
  /** Its branch: of node 86, in Gloas of node 2945. */
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
