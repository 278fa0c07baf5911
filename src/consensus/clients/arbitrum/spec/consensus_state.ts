/**
 * Consensus state of an Arbitrum chain on the hub, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-arbitrum/src/lib.rs (ConsensusState).
 */
import { stateMachineIdCodec } from "../../../../core/ismp/state_machine.ts";
import { type Codec, Struct, u64 } from "../../../../core/encoding/scale.ts";
import { consensusTypeCodec, type RollupClientState } from "../../../rollup/spec/rollup_client.ts";

/** Consensus state of an Arbitrum client. */
export interface ArbitrumConsensusState extends RollupClientState {
  /**
   * Generation of the rollup contract, which decides the logs to search for. The hub accepts either kind of proof
   * regardless.
   */
  readonly consensusType: "ArbitrumOrbit" | "ArbitrumBold" | "unknown";
}

/** SCALE of {@link ArbitrumConsensusState}. */
export const arbitrumConsensusStateCodec: Codec<ArbitrumConsensusState> = Struct({
  finalizedHeight: u64,
  stateMachineId: stateMachineIdCodec,
  l1StateMachineId: stateMachineIdCodec,
  consensusType: consensusTypeCodec(["ArbitrumOrbit", "ArbitrumBold"]),
});
