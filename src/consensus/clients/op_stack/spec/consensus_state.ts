/**
 * Consensus state of an OP stack chain on the hub, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-optimism/src/lib.rs (ConsensusState), modules/ismp/clients/optimism/src/lib.rs
 * (GameTypeConfig, DisputeGameImpl).
 */
import { type Address, addressCodec } from "../../../../core/evm/address.ts";
import { type StateMachineId, stateMachineIdCodec } from "../../../../core/ismp/state_machine.ts";
import { type Codec, list, Option, Struct, u32, u64, unitEnum } from "../../../../core/encoding/scale.ts";
import type { RollupClientState } from "../../../rollup/spec/rollup_client.ts";

const gameKinds = ["OPSuccinct", "FaultDisputeGame", "AggregateVerifier"] as const;

/** Contract of a game, which decides how a challenge appears in its storage. */
export type DisputeGameKind = typeof gameKinds[number];

/** The hub's rules for a type of games. */
export interface GameTypeConfig {
  readonly gameType: number;
  /** Contract that the factory must clone for games of this type. */
  readonly expectedImplementation: Address;
  readonly kind: DisputeGameKind;
}

const consensusTypes = ["OpL2Oracle", "OpFaultProofGames"] as const;

/** Way in which outputs are proposed on the L1. The hub accepts either kind of proof regardless. */
export type OpStackConsensusType = typeof consensusTypes[number];

/** Consensus state of an OP stack client. */
export interface OpStackConsensusState extends RollupClientState {
  readonly consensusType: OpStackConsensusType | undefined;
  /** For information; the rules that count are in the pallet's own storage. */
  readonly gameTypeConfigs: readonly GameTypeConfig[] | undefined;
}

/** SCALE of {@link GameTypeConfig}, 25 bytes. */
export const gameTypeConfigCodec: Codec<GameTypeConfig> = Struct({
  gameType: u32,
  expectedImplementation: addressCodec,
  kind: unitEnum(gameKinds),
});

const leadingFields = {
  finalizedHeight: u64,
  stateMachineId: stateMachineIdCodec,
  l1StateMachineId: stateMachineIdCodec,
  consensusType: Option(unitEnum(consensusTypes)),
};

/** SCALE of {@link OpStackConsensusState}, as the hub writes it. */
export const opStackConsensusStateCodec: Codec<OpStackConsensusState> = Struct({
  ...leadingFields,
  gameTypeConfigs: Option(list(gameTypeConfigCodec)),
});

/** Fields that every generation of the state has. Does not read beyond them. */
export const opStackStatePrefixCodec: Codec<Omit<OpStackConsensusState, "gameTypeConfigs">> = Struct(
  leadingFields,
);

/** Initial state of a chain's client, at the chain's newest block. */
export function initialOpStackState(
  options: {
    readonly height: bigint;
    readonly stateMachineId: StateMachineId;
    readonly l1StateMachineId: StateMachineId;
  },
): OpStackConsensusState {
  return {
    finalizedHeight: options.height,
    stateMachineId: options.stateMachineId,
    l1StateMachineId: options.l1StateMachineId,
    consensusType: "OpFaultProofGames",
    gameTypeConfigs: undefined,
  };
}
