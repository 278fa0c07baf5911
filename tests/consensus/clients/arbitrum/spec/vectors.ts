/**
 * Reads the Arbitrum vectors into the types of the client.
 */
import {
  type ArbitrumConsensusState,
  type ArbitrumUpdate,
  type AssertionProof,
  type AssertionState,
  type GlobalState,
  machineStatuses,
  type NodeProof,
} from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import type { ArbitrumHubView } from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { parseBlockHeader } from "../../../../../src/core/evm/block_header.ts";
import type { RollupClientState } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import { l1Id, readVector, rollupId } from "../../../rollup/spec/vectors.ts";
import type { VectorNode } from "../../../vector_node.ts";

/** Two complete updates against one L1 state. */
export const synthetic: VectorNode = readVector("arbitrum-head-layout-synthetic");

/** A real assertion of Arbitrum Sepolia, without the proof of its parent. */
export const realAssertion: VectorNode = readVector("arbitrum-assertions").at(
  "vectors.bold_arbitrum_sepolia",
);

/** A real node of an Orbit chain, with the proof of its confirm data. */
export const realNode: VectorNode = readVector("arbitrum-assertions").at("vectors.orbit_nodes_slot_check");

/** The data of a real event of Arbitrum One. */
export const realEvent: VectorNode = readVector("arbitrum-assertion-event");

function globalStateOf(node: VectorNode): GlobalState {
  return {
    blockHash: node.hash("bytes32_vals.0"),
    sendRoot: node.hash("bytes32_vals.1"),
    inboxPosition: node.integer("u64_vals.0"),
    positionInMessage: node.integer("u64_vals.1"),
  };
}

function statusOf(node: VectorNode): AssertionState["machineStatus"] {
  const status = machineStatuses[Number(node.integer("machine_status"))];
  if (status === undefined) throw new Error("No status");
  return status;
}

/** The flat state of the event vector. */
export function flatStateOf(node: VectorNode): AssertionState {
  return {
    globalState: {
      blockHash: node.hash("block_hash"),
      sendRoot: node.hash("send_root"),
      inboxPosition: node.integer("inbox_position"),
      positionInMessage: node.integer("position_in_message"),
    },
    machineStatus: statusOf(node),
    endHistoryRoot: node.hash("end_history_root"),
  };
}

const header = parseBlockHeader(realAssertion.at("arbitrum_header").json);
const afterState: AssertionState = {
  globalState: globalStateOf(realAssertion.at("after_state.global_state")),
  machineStatus: statusOf(realAssertion.at("after_state")),
  endHistoryRoot: realAssertion.hash("after_state.end_history_root"),
};

/** An update with an assertion. */
export interface BoldUpdate extends ArbitrumUpdate {
  readonly proof: { readonly tag: "ArbitrumBold"; readonly value: AssertionProof };
}

/** An update with a node. */
export interface OrbitUpdate extends ArbitrumUpdate {
  readonly proof: { readonly tag: "ArbitrumOrbit"; readonly value: NodeProof };
}

/** The real assertion as an update, with nothing to prove the parent. */
export const realUpdate: BoldUpdate = {
  l1Height: realAssertion.integer("l1_height"),
  proof: {
    tag: "ArbitrumBold",
    value: {
      header,
      afterState,
      previousAssertionHash: realAssertion.hash("previous_assertion_hash"),
      sequencerBatchAcc: realAssertion.hash("sequencer_batch_acc"),
      storageProof: realAssertion.nodes("storage_proof"),
      contractProof: realAssertion.nodes("contract_proof"),
      challengeProof: [],
    },
  },
};

export const boldUpdate: BoldUpdate = {
  l1Height: synthetic.integer("l1_height"),
  proof: {
    tag: "ArbitrumBold",
    value: {
      ...realUpdate.proof.value,
      previousAssertionHash: synthetic.hash("bold.previous_assertion_hash"),
      storageProof: synthetic.nodes("bold.storage_proof"),
      contractProof: synthetic.nodes("bold.contract_proof"),
      challengeProof: synthetic.nodes("bold.challenge_proof"),
    },
  },
};

export const orbitUpdate: OrbitUpdate = {
  l1Height: synthetic.integer("l1_height"),
  proof: {
    tag: "ArbitrumOrbit",
    value: {
      header,
      globalState: afterState.globalState,
      machineStatus: statusOf(synthetic.at("orbit")),
      inboxMaxCount: synthetic.integer("orbit.inbox_max_count"),
      nodeNumber: synthetic.integer("orbit.node_number"),
      storageProof: synthetic.nodes("orbit.storage_proof"),
      contractProof: synthetic.nodes("orbit.contract_proof"),
    },
  },
};

/** A hub that knows everything about the synthetic updates. */
export const hubView: ArbitrumHubView = {
  l1StateRoot: synthetic.hash("l1_state_root"),
  rollupCore: synthetic.address("rollup_core"),
  blacklistedClaims: new Set(),
};

export const trusted = arbitrumState({
  finalizedHeight: 1n,
  stateMachineId: rollupId,
  l1StateMachineId: l1Id,
});

/** A state of a client of a rollup with BoLD. */
export function arbitrumState(at: RollupClientState): ArbitrumConsensusState {
  return { ...at, consensusType: "ArbitrumBold" };
}
