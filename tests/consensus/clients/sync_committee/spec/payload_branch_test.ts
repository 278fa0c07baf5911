import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { type Hash256 } from "../../../../../src/core/encoding/bytes.ts";
import { type DerivationErrorCode } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import {
  committeeRoot,
  sha256Pair,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import {
  branchOfFields,
  type NeighbourFields,
  readNeighbourFields,
  STATE_PREFIX_BYTES,
  stateProofFormat,
} from "../../../../../src/consensus/clients/sync_committee/spec/state_proof.ts";
import { flipHash, parsePayloadHeader, readSynthetic } from "./vectors.ts";

const { node, trusted, first, second } = readSynthetic();

const ZERO: Hash256 = `0x${"00".repeat(32)}`;

/** All nodes of a state by generalized index, from its field roots. */
function stateTree(fieldRoots: readonly Hash256[]): Hash256[] {
  const tree = Array<Hash256>(128).fill(ZERO);
  fieldRoots.forEach((root, index) => tree[64 + index] = root);
  for (let index = 63; index >= 1; index--) {
    tree[index] = sha256Pair(tree[2 * index] ?? ZERO, tree[2 * index + 1] ?? ZERO);
  }
  return tree;
}

// Both states of the vector hold the committees of period 1100, though the second is of 1101.
const samples = [
  { state: node.at("finalized_state_1"), update: first },
  { state: node.at("finalized_state_2"), update: second },
].map(({ state, update }) => {
  const pieces = state.at("light_pieces");
  const fields: NeighbourFields = {
    nextWithdrawalIndex: pieces.integer("next_withdrawal_index"),
    nextWithdrawalValidatorIndex: pieces.integer("next_withdrawal_validator_index"),
    depositRequestsStartIndex: pieces.integer("deposit_requests_start_index"),
    depositBalanceToConsumeGwei: pieces.integer("deposit_balance_to_consume"),
    exitBalanceToConsumeGwei: pieces.integer("exit_balance_to_consume"),
    earliestExitEpoch: pieces.integer("earliest_exit_epoch"),
  };
  return {
    tree: stateTree(state.hashes("state_field_roots")),
    place: {
      stateRoot: update.finalizedHeader.stateRoot,
      payloadRoot: parsePayloadHeader(state.at("execution_payload_header").json).root,
    },
    expected: update.executionPayload.executionPayloadBranch,
    fields,
    summariesRoot: pieces.hash("historical_summaries_root"),
    bootstrap: {
      committeeRoot: committeeRoot(trusted.currentSyncCommittee),
      branch: pieces.hashes("bootstrap_current_sync_committee_branch_gindex_86"),
    },
  };
});

function refuses(run: () => unknown, code: DerivationErrorCode): void {
  throws(run, { name: "DerivationError", code });
}

/** A changed copy for every node of a branch. */
function changedBranches(branch: readonly Hash256[]): Hash256[][] {
  return branch.map((hash, at) => branch.with(at, flipHash(hash)));
}

Deno.test("payload branch: the format of the state proof of one node is the descriptor that nodes were tried with", () => {
  equal(stateProofFormat([88]), "0x28f8");
});

Deno.test("payload branch: follows from fields of the state and a bootstrap", () => {
  for (const { place, expected, fields, summariesRoot, bootstrap } of samples) {
    equal(branchOfFields(place, { fields, summariesRoot }, bootstrap), expected);
    for (const branch of changedBranches(bootstrap.branch)) {
      refuses(() => branchOfFields(place, { fields, summariesRoot }, { ...bootstrap, branch }), "state_root");
    }
    for (const [name, value] of Object.entries(fields)) {
      const changed = { ...fields, [name]: BigInt(value) + 1n };
      refuses(() => branchOfFields(place, { fields: changed, summariesRoot }, bootstrap), "state_root");
    }
    const wrongPlace = { ...place, payloadRoot: flipHash(place.payloadRoot) };
    refuses(() => branchOfFields(wrongPlace, { fields, summariesRoot }, bootstrap), "state_root");
    const short = { ...bootstrap, branch: bootstrap.branch.slice(1) };
    refuses(() => branchOfFields(place, { fields, summariesRoot }, short), "branch_length");
  }
});

/** Sizes of the state's fields in its fixed part; 4 is the offset of a list (consensus-specs, mainnet preset). */
const fixedSizes: readonly (readonly [string, number])[] = [
  ["genesis_time", 8],
  ["genesis_validators_root", 32],
  ["slot", 8],
  ["fork", 16],
  ["latest_block_header", 112],
  ["block_roots", 8192 * 32],
  ["state_roots", 8192 * 32],
  ["historical_roots", 4],
  ["eth1_data", 72],
  ["eth1_data_votes", 4],
  ["eth1_deposit_index", 8],
  ["validators", 4],
  ["balances", 4],
  ["randao_mixes", 65536 * 32],
  ["slashings", 8192 * 8],
  ["previous_epoch_participation", 4],
  ["current_epoch_participation", 4],
  ["justification_bits", 1],
  ["previous_justified_checkpoint", 40],
  ["current_justified_checkpoint", 40],
  ["finalized_checkpoint", 40],
  ["inactivity_scores", 4],
  ["current_sync_committee", 513 * 48],
  ["next_sync_committee", 513 * 48],
  ["latest_execution_payload_header", 4],
  ["next_withdrawal_index", 8],
  ["next_withdrawal_validator_index", 8],
  ["historical_summaries", 4],
  ["deposit_requests_start_index", 8],
  ["deposit_balance_to_consume", 8],
  ["exit_balance_to_consume", 8],
  ["earliest_exit_epoch", 8],
];

function offsetOf(name: string): number {
  let offset = 0;
  for (const [field, size] of fixedSizes) {
    if (field === name) return offset;
    offset += size;
  }
  return offset;
}

function prefixOf(values: Readonly<Record<string, bigint>>): Uint8Array {
  const bytes = new Uint8Array(offsetOf("end"));
  const view = new DataView(bytes.buffer);
  for (const [name, value] of Object.entries(values)) view.setBigUint64(offsetOf(name), value, true);
  return bytes;
}

Deno.test("state prefix: neighbours of the payload header stand where the sizes of the fields put them", () => {
  const prefix = prefixOf({
    slot: 9015296n,
    next_withdrawal_index: 1n,
    next_withdrawal_validator_index: 2n,
    deposit_requests_start_index: (1n << 64n) - 1n,
    deposit_balance_to_consume: 4n,
    exit_balance_to_consume: 5n,
    earliest_exit_epoch: 6n,
  });
  equal(prefix.length, STATE_PREFIX_BYTES);
  equal(readNeighbourFields(prefix, 9015296n), {
    nextWithdrawalIndex: 1n,
    nextWithdrawalValidatorIndex: 2n,
    depositRequestsStartIndex: (1n << 64n) - 1n,
    depositBalanceToConsumeGwei: 4n,
    exitBalanceToConsumeGwei: 5n,
    earliestExitEpoch: 6n,
  });
  refuses(() => readNeighbourFields(prefix, 9015297n), "state_prefix");
  refuses(() => readNeighbourFields(prefix.subarray(1), 9015296n), "state_prefix");
});
