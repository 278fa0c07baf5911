/** Proofs out of beacon states: nodes and branches of trees, and the payload header's branch by each way to it. */
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
import {
  branchRoot,
  committeeRoot,
  depthOf,
  multiProofOf,
  multiProofRoot,
  uint64Root,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import {
  branchOfFields,
  stateProofFormat,
  StateTree,
  treeOfProof,
} from "../../../../../src/consensus/clients/sync_committee/spec/state_proof.ts";
import { flipHash, parsePayloadHeader, readSynthetic } from "./vectors.ts";

const { node: vector, trusted, first, second } = readSynthetic();

function refuses(run: () => unknown, code: DerivationErrorCode): void {
  throws(run, { name: "DerivationError", code });
}

const numbered = Array.from({ length: 32 }, (_, at) => LeafNode.fromRoot(new Uint8Array(32).fill(at)));
const node = subtreeFillToContents(numbered, 5);
const tree = new StateTree(node);

Deno.test("merkle: the payload header's three leaves are proved by nodes in descending order, nothing less or more", () => {
  const proved = [34, 38, 41];
  const nodes = multiProofOf(node, proved);
  equal(nodes, [40, 39, 35, 21, 18, 16, 11, 3].map((index) => tree.node(index)));
  const known = new Map(proved.map((index) => [index, tree.node(index)]));
  equal(multiProofRoot(known, nodes), toHash256(node.root));
  equal(multiProofRoot(known, nodes.slice(1)), undefined);
  equal(multiProofRoot(known, [...nodes, tree.node(3)]), undefined);
  for (const [index] of known) {
    equal(multiProofRoot(new Map(known).set(index, tree.node(3)), nodes) === tree.node(1), false);
  }
});

Deno.test("merkle: the branch of any node leads to the root, and that of another node does not", () => {
  equal([1, 2, 3, 25, 52, 63, 64, 84, 169].map(depthOf), [0, 1, 1, 4, 5, 5, 6, 6, 7]);
  for (let index = 2; index < 64; index++) {
    equal(branchRoot(tree.node(index), tree.branch(index), index), tree.node(1));
    equal(branchRoot(tree.node(index ^ 1), tree.branch(index), index) === tree.node(1), false);
  }
});

const NODES = [88];
const state = vector.at("finalized_state_1");

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

Deno.test("state proof: the branch of the payload header comes out of a proof", () => {
  const leaves = leavesFor(NODES);
  equal(stateProofFormat(NODES), "0x28f8", "the descriptor that nodes were tried with");
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

/** Roots of these fields. */
function rootsOf(fields: Readonly<Record<string, bigint>>): (name: string) => Hash256 {
  return (name) => uint64Root(fields[name] ?? 0n);
}

// Both states of the vector hold the committees of period 1100, though the second is of 1101.
const samples = [
  { state: vector.at("finalized_state_1"), update: first },
  { state: vector.at("finalized_state_2"), update: second },
].map(({ state, update }) => {
  const pieces = state.at("light_pieces");
  const fields: Readonly<Record<string, bigint>> = {
    nextWithdrawalIndex: pieces.integer("next_withdrawal_index"),
    nextWithdrawalValidatorIndex: pieces.integer("next_withdrawal_validator_index"),
    depositRequestsStartIndex: pieces.integer("deposit_requests_start_index"),
    depositBalanceToConsume: pieces.integer("deposit_balance_to_consume"),
    exitBalanceToConsume: pieces.integer("exit_balance_to_consume"),
    earliestExitEpoch: pieces.integer("earliest_exit_epoch"),
  };
  return {
    place: {
      stateRoot: update.finalizedHeader.stateRoot,
      payloadRoot: parsePayloadHeader(state.at("execution_payload_header").json).root,
    },
    expected: update.executionPayload.executionPayloadBranch,
    fields,
    summariesRoot: pieces.hash("historical_summaries_root"),
    bootstrap: {
      root: committeeRoot(trusted.currentSyncCommittee),
      branch: pieces.hashes("bootstrap_current_sync_committee_branch_gindex_86"),
    },
  };
});

Deno.test("payload branch: follows from fields of the state and a bootstrap", () => {
  for (const { place, expected, fields, summariesRoot, bootstrap } of samples) {
    const known = { rootOf: rootsOf(fields), summariesRoot };
    equal(branchOfFields(place, known, bootstrap), expected);
    for (const [at, hash] of bootstrap.branch.entries()) {
      const branch = bootstrap.branch.with(at, flipHash(hash));
      refuses(() => branchOfFields(place, known, { ...bootstrap, branch }), "state_root");
    }
    for (const [name, value] of Object.entries(fields)) {
      const rootOf = rootsOf({ ...fields, [name]: value + 1n });
      refuses(() => branchOfFields(place, { rootOf, summariesRoot }, bootstrap), "state_root");
    }
    const wrongPlace = { ...place, payloadRoot: flipHash(place.payloadRoot) };
    refuses(() => branchOfFields(wrongPlace, known, bootstrap), "state_root");
    const short = { ...bootstrap, branch: bootstrap.branch.slice(1) };
    refuses(() => branchOfFields(place, known, short), "branch_length");
  }
});
