/**
 * Reads the OP stack vectors into the types of the client.
 */
import type {
  DisputeGameKind,
  DisputeGameProof,
  GameTypeConfig,
  OpStackConsensusState,
  OpStackUpdate,
} from "../../../../../src/consensus/clients/op_stack/spec/update.ts";
import type { OpStackHubView } from "../../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { parseBlockHeader } from "../../../../../src/core/evm/block_header.ts";
import type { RollupClientState } from "../../../../../src/consensus/rollup/spec/rollup_client.ts";
import { readVector } from "../../../rollup/spec/vectors.ts";
import type { VectorNode } from "../../../vector_node.ts";

/** The synthetic vector: two complete updates against one L1 state. */
export const synthetic: VectorNode = readVector("opstack-head-layout-synthetic");

/** Real games of Base and Base Sepolia. */
export const realGames: readonly VectorNode[] = readVector("opstack-dispute-games").list("vectors");

/** A state of a client that trusts dispute games. */
export function opStackState(at: RollupClientState): OpStackConsensusState {
  return { ...at, consensusType: "OpFaultProofGames", gameTypeConfigs: undefined };
}

function kindOf(text: string): DisputeGameKind {
  if (text === "FaultDisputeGame" || text === "AggregateVerifier" || text === "OPSuccinct") {
    return { tag: text, value: undefined };
  }
  throw new Error(`No kind ${text}`);
}

function proofOf(node: VectorNode): DisputeGameProof {
  return {
    header: parseBlockHeader(node.at("header").json),
    withdrawalStorageRoot: node.hash("withdrawal_storage_root"),
    version: node.hash("version"),
    disputeFactoryProof: node.nodes("dispute_factory_proof"),
    disputeGameProof: node.nodes("dispute_game_proof"),
    gameImplProof: node.nodes("game_impl_proof"),
    proxyAccountProof: node.nodes("proxy_account_proof"),
    challengeProof: node.nodes("challenge_proof"),
    proxy: node.address("proxy"),
    extraData: node.bytes("extra_data"),
    gameType: Number(node.integer("game_type")),
    timestampSec: node.integer("timestamp"),
  };
}

/** An update with a dispute game. */
export interface GameUpdate extends OpStackUpdate {
  readonly proof: { readonly tag: "OpFaultProofGames"; readonly value: DisputeGameProof };
}

function updateOf(name: string): GameUpdate {
  return {
    l1Height: synthetic.integer("l1_height"),
    proof: { tag: "OpFaultProofGames", value: proofOf(synthetic.at(`${name}.proof`)) },
  };
}

export const faultGame = updateOf("fault_dispute_game");
export const aggregateGame = updateOf("aggregate_verifier_game");

export const gameTypes: readonly GameTypeConfig[] = synthetic.list("game_type_configs").map((config) => ({
  gameType: Number(config.integer("game_type")),
  expectedImplementation: config.address("expected_impl"),
  kind: kindOf(config.text("kind")),
}));

/** A hub that knows everything about the synthetic updates. */
export const hubView: OpStackHubView = {
  l1StateRoot: synthetic.hash("l1_state_root"),
  disputeGames: { factory: synthetic.address("dispute_game_factory"), gameTypes },
  outputOracle: undefined,
  blacklistedGames: new Set(),
};
