/**
 * Consensus state of a beacon chain on the hub, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/sync-committee/src/types.rs, modules/consensus/sync-committee/primitives/src/types.rs
 * (VerifierState).
 */
import {
  type Codec,
  Enum,
  fixedBytes,
  list,
  Option,
  pair,
  Struct,
  u32,
  u64,
} from "../../../../core/encoding/scale.ts";
import { type StateMachine, stateMachineMap } from "../../../../core/ismp/state_machine.ts";
import {
  type BeaconBlockHeader,
  beaconBlockHeaderCodec,
  type SyncCommittee,
  syncCommitteeCodec,
} from "./update.ts";

/** State that the next update is verified against. */
export interface VerifierState {
  readonly finalizedHeader: BeaconBlockHeader;
  readonly latestFinalizedEpoch: bigint;
  /** Signs in `statePeriod`. */
  readonly currentSyncCommittee: SyncCommittee;
  /** Signs in the period after it. */
  readonly nextSyncCommittee: SyncCommittee;
  readonly statePeriod: bigint;
}

/** How a rollup settles; a leftover that the client copies and never reads. Addresses are 20 bytes. */
export type L2Consensus =
  | { readonly tag: "ArbitrumOrbit"; readonly value: Uint8Array }
  | { readonly tag: "OpL2Oracle"; readonly value: Uint8Array }
  /** Factory and respected game type. */
  | { readonly tag: "OpFaultProofs"; readonly value: readonly [Uint8Array, number] }
  /** Factory and respected game types. */
  | { readonly tag: "OpFaultProofGames"; readonly value: readonly [Uint8Array, readonly number[]] }
  | { readonly tag: "ArbitrumBold"; readonly value: Uint8Array };

/** Consensus state of a sync committee client. */
export interface BeaconConsensusState {
  /** Never set by the client itself: every update writes undefined. */
  readonly frozenHeight: bigint | undefined;
  readonly lightClientState: VerifierState;
  readonly l2Consensus: ReadonlyMap<StateMachine, L2Consensus>;
  /** Chain id of the execution chain: commitments are stored for `EVM-<chainId>`. */
  readonly chainId: number;
}

/** SCALE of {@link VerifierState}, 50 406 bytes. */
export const verifierStateCodec: Codec<VerifierState> = Struct({
  finalizedHeader: beaconBlockHeaderCodec,
  latestFinalizedEpoch: u64,
  currentSyncCommittee: syncCommitteeCodec,
  nextSyncCommittee: syncCommitteeCodec,
  statePeriod: u64,
});

const address = fixedBytes(20);

const l2ConsensusCodec: Codec<L2Consensus> = Enum({
  ArbitrumOrbit: address,
  OpL2Oracle: address,
  OpFaultProofs: pair(address, u32),
  OpFaultProofGames: pair(address, list(u32)),
  ArbitrumBold: address,
});

/** SCALE of {@link BeaconConsensusState}; 50 412 bytes with an empty map. */
export const beaconConsensusStateCodec: Codec<BeaconConsensusState> = Struct({
  frozenHeight: Option(u64),
  lightClientState: verifierStateCodec,
  l2Consensus: stateMachineMap(l2ConsensusCodec),
  chainId: u32,
});
