/**
 * The execution block in a finalized state: its proof in the compact form of Lodestar's proof route, and its branch built
 * from data that nodes serve without the whole state. Before Gloas that is `[89, 45, 23, 10, 4, 3]` of the payload header,
 * then the branch of the block's hash. Every method ends with a check against the state's root. Numbers in names and
 * comments are generalized indices. Source: chainsafe/ssz: persistent-merkle-tree, src/proof/compactMulti.ts;
 * ethereum/consensus-specs: specs/{electra,gloas}/beacon-chain.md (BeaconState).
 */
import {
  electraStateIndices,
  gloasStateIndices,
  type StateIndices,
  SYNC_COMMITTEE_SIZE,
} from "./beacon_network.ts";
import {
  branchOfNodes,
  branchRoot,
  committeeType,
  depthOf,
  helperIndices,
  sha256Pair,
  uint64OfRoot,
  uint64Root,
} from "./ssz_roots.ts";
import { DerivationError } from "./sync_committee_error.ts";
import type { LegacyPayloadProof, SyncCommittee } from "./update.ts";
import { PAYLOAD_INDICES } from "./verify_update.ts";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../../../../core/encoding/bytes.ts";
import {
  computeDescriptor,
  createNodeFromProof,
  getNode,
  type Node,
  ProofType,
} from "@chainsafe/persistent-merkle-tree";

/** Parameter `format` of the route for a proof of these nodes (generalized indices). */
export function stateProofFormat(indices: readonly number[]): Hex {
  return toHex(computeDescriptor(indices.map(BigInt)));
}

/** Nodes of a state that a proof authenticates. */
export class ProvedState {
  readonly #tree: Node;

  /**
   * @param indices that were requested. @param leaves in the order of the proof. @throws {DerivationError}
   * `branch_length` for another number of leaves, `state_root` when they lead to another root.
   */
  constructor(stateRoot: Hash256, indices: readonly number[], leaves: readonly Hash256[]) {
    try {
      const descriptor = computeDescriptor(indices.map(BigInt));
      this.#tree = createNodeFromProof({
        type: ProofType.compactMulti,
        leaves: leaves.map(fromHex),
        descriptor,
      });
    } catch (cause) {
      throw new DerivationError("branch_length", { cause });
    }
    if (toHash256(this.#tree.root) !== stateRoot) throw new DerivationError("state_root");
  }

  /** A node that the proof holds or leads to. */
  node(index: number): Hash256 {
    return toHash256(getNode(this.#tree, BigInt(index)).root);
  }

  /** Branch of a node, bottom up. */
  branch(index: number): Hash256[] {
    return branchOfNodes(index, (sibling) => this.node(sibling));
  }
}

/** Generalized index in the state of a node of the payload header, before Gloas. */
function inState(index: number): number {
  const depth = Math.floor(Math.log2(index));
  return electraStateIndices.execution * 2 ** depth + (index - 2 ** depth);
}

/** Nodes to request for the hub's proof of the execution block in a state. */
export function executionNodes({ execution }: StateIndices): readonly number[] {
  return execution === gloasStateIndices.execution
    ? [execution]
    : Object.values(PAYLOAD_INDICES).map(inState);
}

/** An execution block by its hash, with the branch of the hash in a state of Gloas. */
export interface ProvedHash {
  readonly blockHash: Hash256;
  readonly executionPayloadBranch: readonly Hash256[];
}

/**
 * Builds the hub's proof of the execution block, in Gloas without the header, from a proof of {@link executionNodes}.
 * @throws {DerivationError} `not_an_epoch` when number or time is no number.
 */
export function executionProofOf(
  state: ProvedState,
  { execution }: StateIndices,
): LegacyPayloadProof | ProvedHash {
  const executionPayloadBranch = state.branch(execution);
  if (execution === gloasStateIndices.execution) {
    return { blockHash: state.node(execution), executionPayloadBranch };
  }
  const number = (index: number): bigint => {
    const value = uint64OfRoot(state.node(inState(index)));
    if (value === undefined) throw new DerivationError("not_an_epoch");
    return value;
  };
  return {
    stateRoot: state.node(inState(PAYLOAD_INDICES.stateRoot)),
    blockNumber: number(PAYLOAD_INDICES.blockNumber),
    multiProof: helperIndices(Object.values(PAYLOAD_INDICES)).map((index) => state.node(inState(index))),
    executionPayloadBranch,
    timestampSec: number(PAYLOAD_INDICES.timestamp),
  };
}

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
  const branch = [n89, n45, n23, n10, n4, n3];
  if (branchRoot(place.payloadRoot, branch, electraStateIndices.execution) !== place.stateRoot) {
    throw new DerivationError("state_root");
  }
  return branch;
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

/** Bytes of a BLS public key. */
export const KEY_BYTES = 48;
/** Bytes of a sync committee: 512 keys and their sum. */
const COMMITTEE_BYTES: number = KEY_BYTES * (SYNC_COMMITTEE_SIZE + 1);

/** A sync committee from its SSZ bytes. @throws {DerivationError} `state_bytes` when there are not 513 keys. */
export function readCommittee(bytes: Uint8Array): SyncCommittee {
  if (bytes.length !== COMMITTEE_BYTES) throw new DerivationError("state_bytes");
  return committeeType.deserialize(bytes);
}

/** Bytes to read of a state: all up to and with `earliest_exit_epoch`. */
export const STATE_PREFIX_BYTES = 2_736_685;

const OFFSET = {
  slot: 40,
  nextSyncCommittee: 2_712_005,
  nextWithdrawalIndex: 2_736_633,
  nextWithdrawalValidatorIndex: 2_736_641,
  depositRequestsStartIndex: 2_736_653,
  depositBalanceToConsume: 2_736_661,
  exitBalanceToConsume: 2_736_669,
  earliestExitEpoch: 2_736_677,
} as const;

function viewOf(prefix: Uint8Array, slot: bigint): DataView {
  if (prefix.length < STATE_PREFIX_BYTES) throw new DerivationError("state_prefix");
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  if (view.getBigUint64(OFFSET.slot, true) !== slot) throw new DerivationError("state_prefix");
  return view;
}

/**
 * Fields next to the payload header, from the first {@link STATE_PREFIX_BYTES} of the state of `slot`. A state of an
 * older fork or another preset has other offsets: the branch made of these fields then fails its check. @throws
 * {DerivationError} `state_prefix`: too few bytes, or a state of another slot.
 */
export function readNeighbourFields(prefix: Uint8Array, slot: bigint): NeighbourFields {
  const view = viewOf(prefix, slot);
  const uint64 = (offset: number): bigint => view.getBigUint64(offset, true);
  return {
    nextWithdrawalIndex: uint64(OFFSET.nextWithdrawalIndex),
    nextWithdrawalValidatorIndex: uint64(OFFSET.nextWithdrawalValidatorIndex),
    depositRequestsStartIndex: uint64(OFFSET.depositRequestsStartIndex),
    depositBalanceToConsumeGwei: uint64(OFFSET.depositBalanceToConsume),
    exitBalanceToConsumeGwei: uint64(OFFSET.exitBalanceToConsume),
    earliestExitEpoch: uint64(OFFSET.earliestExitEpoch),
  };
}

/**
 * The committee of the period after that of the state. It still has to be verified against the state's root. @throws
 * {DerivationError} `state_prefix`
 */
export function readNextCommittee(prefix: Uint8Array, slot: bigint): SyncCommittee {
  viewOf(prefix, slot);
  return readCommittee(prefix.subarray(OFFSET.nextSyncCommittee, OFFSET.nextSyncCommittee + COMMITTEE_BYTES));
}
