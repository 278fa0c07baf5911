/**
 * Proofs of several nodes of a beacon state at once, in the compact form of Lodestar's proof route.
 * Source: chainsafe/ssz: persistent-merkle-tree, src/proof/compactMulti.ts.
 */
import {
  computeDescriptor,
  createNodeFromProof,
  getNode,
  type Node,
  ProofType,
} from "@chainsafe/persistent-merkle-tree";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../../../../core/encoding/bytes.ts";
import { electraStateIndices, gloasStateIndices, type StateIndices } from "./beacon_network.ts";
import { DerivationError } from "./derivation_error.ts";
import { branchOfNodes, helperIndices } from "./merkle.ts";
import { uint64OfRoot } from "./ssz_roots.ts";
import type { LegacyPayloadProof } from "./update.ts";
import { PAYLOAD_INDICES } from "./verify_update.ts";

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
