import { deepStrictEqual as equal, throws } from "node:assert/strict";
import {
  type CompactMultiProof,
  computeDescriptor,
  createProof,
  LeafNode,
  type Node,
  ProofType,
  subtreeFillToContents,
} from "@chainsafe/persistent-merkle-tree";
import { fromHex, type Hash256, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import { type DerivationErrorCode } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import { treeOfProof } from "../../../../../src/consensus/clients/sync_committee/spec/state_proof.ts";
import { flipHash, parsePayloadHeader, readSynthetic } from "./vectors.ts";

const { node, first } = readSynthetic();
const NODES = [88];
const state = node.at("finalized_state_1");

/** The state of the vector, with the payload header in it as a tree of its own. */
function stateTree(): Node {
  const header = parsePayloadHeader(state.at("execution_payload_header").json);
  const fields = state.hashes("state_field_roots").map((root): Node => LeafNode.fromRoot(fromHex(root)));
  fields[24] = header.tree;
  return subtreeFillToContents(fields, 6);
}

function leavesFor(indices: readonly number[]): Hash256[] {
  const descriptor = computeDescriptor(indices.map(BigInt));
  const proof = createProof(stateTree(), { type: ProofType.compactMulti, descriptor });
  const isCompact = (value: typeof proof): value is CompactMultiProof =>
    value.type === ProofType.compactMulti;
  return isCompact(proof) ? proof.leaves.map((leaf) => toHash256(leaf)) : [];
}

const { stateRoot } = first.finalizedHeader;

function refuses(run: () => unknown, code: DerivationErrorCode): void {
  throws(run, { name: "DerivationError", code });
}

Deno.test("state proof: the branch of the payload header comes out of a proof", () => {
  const leaves = leavesFor(NODES);
  const proved = treeOfProof(stateRoot, NODES, leaves);
  equal(proved.branch(88), first.executionPayload.executionPayloadBranch);
  equal(proved.node(1), stateRoot);
  for (const at of leaves.keys()) {
    const changed = leaves.with(at, flipHash(leaves[at] ?? stateRoot));
    refuses(() => treeOfProof(stateRoot, NODES, changed), "state_root");
  }
  refuses(() => treeOfProof(stateRoot, NODES, leaves.slice(1)), "branch_length");
  refuses(() => treeOfProof(stateRoot, NODES, [...leaves, stateRoot]), "branch_length");
});
