/**
 * Reads the OP stack vectors into the types of the client.
 */
import {
  decodeGameRules,
  type DisputeGameProof,
  type GameTypeConfig,
  type OpStackConsensusState,
  type OpStackUpdate,
} from "../../../../../src/consensus/clients/op_stack/spec/update.ts";
import {
  decodeOpStackUpdate,
  type OpStackHubView,
} from "../../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import type { RollupClientState } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import { readVector, type VectorNode } from "../../../vector_node.ts";

/** The synthetic vector: two complete updates against one L1 state. */
export const synthetic: VectorNode = readVector("opstack-head-layout-synthetic");

/** Real games of Base and Base Sepolia. */
export const realGames: readonly VectorNode[] = readVector("opstack-dispute-games").list("vectors");

/** A state of a client that trusts dispute games. */
export function opStackState(at: RollupClientState): OpStackConsensusState {
  return { ...at, consensusType: "OpFaultProofGames", gameTypeConfigs: undefined };
}

/** An update with a dispute game. */
export interface GameUpdate extends OpStackUpdate {
  readonly proof: { readonly tag: "OpFaultProofGames"; readonly value: DisputeGameProof };
}

function updateOf(name: string): GameUpdate {
  const { l1Height, proof } = decodeOpStackUpdate(synthetic.bytes(`${name}.scale_optimism_update`));
  if (proof.tag !== "OpFaultProofGames") throw new Error(`No game: ${name}`);
  return { l1Height, proof };
}

export const faultGame = updateOf("fault_dispute_game");
export const aggregateGame = updateOf("aggregate_verifier_game");

export const gameTypes: readonly GameTypeConfig[] =
  decodeGameRules(synthetic.bytes("game_type_configs_scale")).gameTypes;

/** A hub that knows everything about the synthetic updates. */
export const hubView: OpStackHubView = {
  l1StateRoot: synthetic.hash("l1_state_root"),
  disputeGames: { factory: synthetic.address("dispute_game_factory"), gameTypes },
  outputOracle: undefined,
  blacklistedGames: new Set(),
};
