/**
 * Pallet events of the hub as `System.Events` stores them, for the pallets that relayers watch. A live chain's events
 * are decoded with its metadata; this is the shape at HEAD, for test hubs and offline reading. Source:
 * polytope-labs/hyperbridge: modules/pallets/{ismp,relayer,beefy-consensus-proofs}/src/lib.rs.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import {
  bytes,
  type Codec,
  Enum,
  hash256,
  list,
  Option,
  Struct,
  u128,
  u256,
  u32,
  u64,
  unit,
} from "../encoding/scale.ts";
import {
  messageHandledCodec,
  stateCommitmentVetoedCodec,
  stateMachineUpdatedCodec,
  timeoutHandledCodec,
} from "./event.ts";
import type { MessageHandled, StateCommitmentVetoed, StateMachineUpdated, TimeoutHandled } from "./event.ts";
import {
  type ConsensusClientId,
  consensusClientIdCodec,
  type StateMachine,
  stateMachineCodec,
} from "./state_machine.ts";

interface Variant<Name extends string, Value> {
  readonly tag: Name;
  readonly value: Value;
}

/** A request was dispatched on or routed through the hub. */
export interface RequestDispatched {
  readonly destChain: StateMachine;
  readonly sourceChain: StateMachine;
  readonly requestNonce: bigint;
  readonly commitment: Hash256;
}

/** A response was created by the hub; `reqCommitment` names the request. */
export interface ResponseDispatched extends RequestDispatched {
  readonly reqCommitment: Hash256;
}

/** Events of `Ismp`. Handled and timeout events have one unnamed field. */
export type IsmpPalletEvent =
  | Variant<"StateMachineUpdated", StateMachineUpdated>
  | Variant<"StateCommitmentVetoed", StateCommitmentVetoed>
  | Variant<
    "ConsensusClientCreated" | "ConsensusClientFrozen",
    { readonly consensusClientId: ConsensusClientId }
  >
  | Variant<"Response", ResponseDispatched>
  | Variant<"Request", RequestDispatched>
  | Variant<"Errors", { readonly errors: readonly { readonly message: Uint8Array }[] }>
  | Variant<"PostRequestHandled" | "GetRequestHandled", MessageHandled>
  | Variant<"PostRequestTimeoutHandled" | "GetRequestTimeoutHandled", TimeoutHandled>
  | Variant<"RelayerFeeWithdrawn", { readonly amount: bigint; readonly account: Hash256 }>;

/** Fees were credited on the hub. */
export interface FeesAccumulated {
  readonly address: Uint8Array;
  readonly stateMachine: StateMachine;
  readonly amount: bigint;
}

/** Fees were paid out. */
export interface FeesWithdrawn extends FeesAccumulated {
  readonly beneficiaryAddress: Uint8Array;
}

/** Events of `Relayer`. */
export type RelayerPalletEvent =
  | Variant<"AccumulateFees", FeesAccumulated>
  | Variant<"Withdraw", FeesWithdrawn>;

/** The hub accepted a consensus proof about itself. */
export interface ProofAccepted {
  readonly submitter: Hash256;
  readonly height: bigint;
  readonly newSetId: bigint | undefined;
  readonly rewarded: bigint;
}

/** Events of `BeefyConsensusProofs`. */
export type BeefyProofsPalletEvent = Variant<"ProofAccepted", ProofAccepted>;

/** Event of one of the watched pallets. */
export type HubEvent =
  | Variant<"Ismp", IsmpPalletEvent>
  | Variant<"Relayer", RelayerPalletEvent>
  | Variant<"BeefyConsensusProofs", BeefyProofsPalletEvent>;

/** Phase of a block in which an event happened. */
export type EventPhase =
  | Variant<"ApplyExtrinsic", number>
  | Variant<"Finalization" | "Initialization", undefined>;

/** Element of `System.Events`. */
export interface HubEventRecord {
  readonly phase: EventPhase;
  readonly event: HubEvent;
  readonly topics: readonly Hash256[];
}

/** Index of each pallet in a runtime, from its metadata. */
export interface HubEventPallets {
  readonly Ismp: number;
  readonly Relayer: number;
  readonly BeefyConsensusProofs: number;
}

const requestDispatched = {
  destChain: stateMachineCodec,
  sourceChain: stateMachineCodec,
  requestNonce: u64,
  commitment: hash256,
};

const clientId = Struct({ consensusClientId: consensusClientIdCodec });

/** SCALE of {@link IsmpPalletEvent}. */
export const ismpPalletEventCodec: Codec<IsmpPalletEvent> = Enum({
  StateMachineUpdated: stateMachineUpdatedCodec,
  StateCommitmentVetoed: stateCommitmentVetoedCodec,
  ConsensusClientCreated: clientId,
  ConsensusClientFrozen: clientId,
  Response: Struct({ ...requestDispatched, reqCommitment: hash256 }),
  Request: Struct(requestDispatched),
  Errors: Struct({ errors: list(Struct({ message: bytes })) }),
  PostRequestHandled: messageHandledCodec,
  GetRequestHandled: messageHandledCodec,
  PostRequestTimeoutHandled: timeoutHandledCodec,
  GetRequestTimeoutHandled: timeoutHandledCodec,
  RelayerFeeWithdrawn: Struct({ amount: u128, account: hash256 }),
});

/** SCALE of {@link RelayerPalletEvent}. */
export const relayerPalletEventCodec: Codec<RelayerPalletEvent> = Enum({
  AccumulateFees: Struct({ address: bytes, stateMachine: stateMachineCodec, amount: u256 }),
  Withdraw: Struct({
    address: bytes,
    beneficiaryAddress: bytes,
    stateMachine: stateMachineCodec,
    amount: u256,
  }),
});

/** SCALE of the fields of {@link ProofAccepted}. */
export const proofAcceptedCodec: Codec<ProofAccepted> = Struct({
  submitter: hash256,
  height: u64,
  newSetId: Option(u64),
  rewarded: u128,
});

/** SCALE of {@link BeefyProofsPalletEvent}. */
export const beefyProofsPalletEventCodec: Codec<BeefyProofsPalletEvent> = Enum({
  ProofAccepted: proofAcceptedCodec,
});

/** SCALE of {@link EventPhase}. */
export const eventPhaseCodec: Codec<EventPhase> = Enum({
  ApplyExtrinsic: u32,
  Finalization: unit,
  Initialization: unit,
});

/** SCALE of the value of `System.Events`, as far as it holds only events of these pallets. */
export function hubEventRecordsCodec(pallets: HubEventPallets): Codec<readonly HubEventRecord[]> {
  const event: Codec<HubEvent> = Enum({
    Ismp: ismpPalletEventCodec,
    Relayer: relayerPalletEventCodec,
    BeefyConsensusProofs: beefyProofsPalletEventCodec,
  }, [pallets.Ismp, pallets.Relayer, pallets.BeefyConsensusProofs]);
  return list(Struct({ phase: eventPhaseCodec, event, topics: list(hash256) }));
}
