import { deepStrictEqual as equal, throws } from "node:assert/strict";
import type { Hash256 } from "../../../../../src/core/encoding/bytes.ts";
import { type DerivationErrorCode } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import {
  committeeRoot,
  uint64Root,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import {
  branchOfFields,
  stateProofFormat,
} from "../../../../../src/consensus/clients/sync_committee/spec/state_proof.ts";
import { flipHash, parsePayloadHeader, readSynthetic } from "./vectors.ts";

const { node, trusted, first, second } = readSynthetic();

/** Roots of these fields. */
function rootsOf(fields: Readonly<Record<string, bigint>>): (name: string) => Hash256 {
  return (name) => uint64Root(fields[name] ?? 0n);
}

// Both states of the vector hold the committees of period 1100, though the second is of 1101.
const samples = [
  { state: node.at("finalized_state_1"), update: first },
  { state: node.at("finalized_state_2"), update: second },
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
    const known = { rootOf: rootsOf(fields), summariesRoot };
    equal(branchOfFields(place, known, bootstrap), expected);
    for (const branch of changedBranches(bootstrap.branch)) {
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
