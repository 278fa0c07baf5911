/**
 * Reads the Arbitrum vectors into the types of the client.
 */
import {
  type ArbitrumConsensusState,
  type ArbitrumProof,
  type ArbitrumUpdate,
  type AssertionState,
  machineStatuses,
} from "../../../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  type ArbitrumHubView,
  decodeArbitrumUpdate,
} from "../../../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import type { RollupClientState } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import { l1Id, rollupId } from "../../../rollup/spec/vectors.ts";
import { readVector, type VectorNode } from "../../../vector_node.ts";

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

/** The flat state of the event vector. */
export function flatStateOf(node: VectorNode): AssertionState {
  const machineStatus = machineStatuses[Number(node.integer("machine_status"))];
  if (machineStatus === undefined) throw new Error("No status");
  return {
    globalState: {
      blockHash: node.hash("block_hash"),
      sendRoot: node.hash("send_root"),
      inboxPosition: node.integer("inbox_position"),
      positionInMessage: node.integer("position_in_message"),
    },
    machineStatus,
    endHistoryRoot: node.hash("end_history_root"),
  };
}

type ProofOf<Tag extends ArbitrumProof["tag"]> = Extract<ArbitrumProof, { readonly tag: Tag }>;

/** An update with a claim of this kind. */
interface ClaimUpdate<Tag extends ArbitrumProof["tag"]> extends ArbitrumUpdate {
  readonly proof: ProofOf<Tag>;
}

function updateOf<Tag extends ArbitrumProof["tag"]>(tag: Tag, bytes: Uint8Array): ClaimUpdate<Tag> {
  const { l1Height, proof } = decodeArbitrumUpdate(bytes);
  if (proof.tag !== tag) throw new Error(`No ${tag}`);
  return { l1Height, proof: proof as ProofOf<Tag> };
}

/** The real assertion as an update, with nothing to prove the parent. */
export const realUpdate: ClaimUpdate<"ArbitrumBold"> = updateOf(
  "ArbitrumBold",
  realAssertion.bytes("scale_arbitrum_update_with_empty_challenge_proof"),
);
export const boldUpdate: ClaimUpdate<"ArbitrumBold"> = updateOf(
  "ArbitrumBold",
  synthetic.bytes("bold.scale_arbitrum_update"),
);
export const orbitUpdate: ClaimUpdate<"ArbitrumOrbit"> = updateOf(
  "ArbitrumOrbit",
  synthetic.bytes("orbit.scale_arbitrum_update"),
);

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
