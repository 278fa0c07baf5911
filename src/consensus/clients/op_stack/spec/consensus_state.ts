/**
 * Consensus state of an OP stack chain on the hub, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-optimism/src/lib.rs (ConsensusState), modules/ismp/clients/optimism/src/lib.rs
 * (GameTypeConfig, DisputeGameImpl).
 */
import { type Address, addressCodec } from "../../../../core/evm/address.ts";
import { stateMachineIdCodec } from "../../../../core/ismp/state_machine.ts";
import {
  type Codec,
  Enum,
  list,
  nothing,
  Option,
  Struct,
  u32,
  u64,
} from "../../../../core/encoding/scale.ts";
import { consensusTypeCodec, type RollupClientState } from "../../../rollup/spec/rollup_client.ts";

/** Contract of a game, which decides what it claims and where a challenge appears. */
export type DisputeGameKind =
  | {
    readonly tag: "OPSuccinct" | "FaultDisputeGame" | "AggregateVerifier" | "SuperFaultDisputeGame";
    readonly value?: undefined;
  }
  | {
    readonly tag: "SuperPermissionedDisputeGame";
    /** Contract of the L1 that blacklists games. */
    readonly value: { readonly anchorStateRegistry: Address };
  };

/** The hub's rules for a type of games. */
export interface GameTypeConfig {
  readonly gameType: number;
  /** Contract that the factory must clone for games of this type. */
  readonly expectedImplementation: Address;
  readonly kind: DisputeGameKind;
}

/** Consensus state of an OP stack client. */
export interface OpStackConsensusState extends RollupClientState {
  /** Way in which outputs are proposed on the L1. The hub accepts either kind of proof regardless. */
  readonly consensusType: "OpL2Oracle" | "OpFaultProofGames" | "unknown" | undefined;
  /** For information; the rules that count are in the pallet's own storage. */
  readonly gameTypeConfigs: readonly GameTypeConfig[] | undefined;
}

const kindCodec: Codec<DisputeGameKind> = Enum({
  OPSuccinct: nothing,
  FaultDisputeGame: nothing,
  AggregateVerifier: nothing,
  SuperFaultDisputeGame: nothing,
  SuperPermissionedDisputeGame: Struct({ anchorStateRegistry: addressCodec }),
}) as Codec<DisputeGameKind>;

/** SCALE of {@link GameTypeConfig}: 25 bytes, 45 with a registry. */
export const gameTypeConfigCodec: Codec<GameTypeConfig> = Struct({
  gameType: u32,
  expectedImplementation: addressCodec,
  kind: kindCodec,
});

const leadingFields = {
  finalizedHeight: u64,
  stateMachineId: stateMachineIdCodec,
  l1StateMachineId: stateMachineIdCodec,
  consensusType: Option(consensusTypeCodec(["OpL2Oracle", "OpFaultProofGames"])),
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
