/**
 * Consensus state of an Arbitrum chain on the hub, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-arbitrum/src/lib.rs (ConsensusState).
 */
import { type StateMachineId, stateMachineIdCodec } from "../../../../core/ismp/state_machine.ts";
import { type Codec, Struct, u64, unitEnum } from "../../../../core/encoding/scale.ts";
import type { RollupClientState } from "../../../rollup/spec/rollup_client.ts";

const consensusTypes = ["ArbitrumOrbit", "ArbitrumBold"] as const;

/**
 * Generation of the rollup contract, which decides the logs to search for. The hub accepts either kind of proof
 * regardless.
 */
export type ArbitrumConsensusType = typeof consensusTypes[number];

/** Consensus state of an Arbitrum client. */
export interface ArbitrumConsensusState extends RollupClientState {
  readonly consensusType: ArbitrumConsensusType;
}

/** SCALE of {@link ArbitrumConsensusState}. */
export const arbitrumConsensusStateCodec: Codec<ArbitrumConsensusState> = Struct({
  finalizedHeight: u64,
  stateMachineId: stateMachineIdCodec,
  l1StateMachineId: stateMachineIdCodec,
  consensusType: unitEnum(consensusTypes),
});

/** Initial state of a chain's client, at the chain's newest block. */
export function initialArbitrumState(
  options: {
    readonly height: bigint;
    readonly stateMachineId: StateMachineId;
    readonly l1StateMachineId: StateMachineId;
  },
): ArbitrumConsensusState {
  return {
    finalizedHeight: options.height,
    stateMachineId: options.stateMachineId,
    l1StateMachineId: options.l1StateMachineId,
    consensusType: "ArbitrumBold",
  };
}
