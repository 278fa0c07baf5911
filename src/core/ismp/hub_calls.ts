/**
 * Calls of the hub's pallets that relayers and the devnet use, and the unsigned extrinsic around them.
 * Pallet indexes differ between runtimes and come from metadata; call indexes are those of HEAD.
 * Source: polytope-labs/hyperbridge: modules/pallets/*; parachain/runtimes/{nexus,gargantua}/src/lib.rs.
 */
import { compact } from "scale-ts";
import { concatBytes, type Hash256, toHash256 } from "../encoding/bytes.ts";
import { keccak256 } from "../encoding/hash.ts";
import {
  bool,
  bytes,
  type Codec,
  decodeStrict,
  Enum,
  list,
  orderedEntries,
  ScaleError,
  Struct,
  u128,
  u32,
} from "../encoding/scale.ts";
import {
  type OutboundConsensusDeliveryClaim,
  outboundConsensusDeliveryClaimCodec,
  type OutboundRequestDeliveryClaim,
  outboundRequestDeliveryClaimCodec,
  type WithdrawalInputData,
  withdrawalInputDataCodec,
  type WithdrawalProof,
  withdrawalProofCodec,
} from "./fees.ts";
import { hostAddressCodec, type HostParam, hostParamCodec } from "./host_params.ts";
import {
  type CreateConsensusState,
  createConsensusStateCodec,
  type GetRequestsWithProof,
  getRequestsWithProofCodec,
  type IsmpMessage,
  ismpMessagesCodec,
  type UpdateConsensusState,
  updateConsensusStateCodec,
} from "./ismp_message.ts";
import {
  compareStateMachineIds,
  type StateMachine,
  stateMachineCodec,
  type StateMachineHeight,
  stateMachineHeightCodec,
  type StateMachineId,
  stateMachineIdCodec,
  stateMachineMap,
} from "./state_machine.ts";

/** Index of each pallet in a runtime, from its metadata. */
export interface HubCallPallets {
  readonly Ismp: number;
  readonly IsmpParachain: number;
  readonly Relayer: number;
  readonly HostExecutive: number;
  readonly CallDecompressor: number;
  readonly StateCoprocessor: number;
  readonly Fishermen: number;
  readonly Bandwidth: number;
  readonly BeefyConsensusProofs: number;
}

/** Call with the names of the metadata: pallet, then call, then its arguments. */
export type HubCall =
  | { readonly tag: "Ismp"; readonly value: IsmpCall }
  | { readonly tag: "IsmpParachain"; readonly value: IsmpParachainCall }
  | { readonly tag: "Relayer"; readonly value: RelayerCall }
  | { readonly tag: "HostExecutive"; readonly value: HostExecutiveCall }
  | { readonly tag: "CallDecompressor"; readonly value: CallDecompressorCall }
  | { readonly tag: "StateCoprocessor"; readonly value: StateCoprocessorCall }
  | { readonly tag: "Fishermen"; readonly value: FishermenCall }
  | { readonly tag: "Bandwidth"; readonly value: BandwidthCall }
  | { readonly tag: "BeefyConsensusProofs"; readonly value: BeefyConsensusProofsCall };

interface Call<Name extends string, Args> {
  readonly tag: Name;
  readonly value: Args;
}

/** Calls of `Ismp`. */
export type IsmpCall =
  | Call<"handle_unsigned", { readonly messages: readonly IsmpMessage[] }>
  | Call<"create_consensus_client", { readonly message: CreateConsensusState }>
  | Call<"update_consensus_state", { readonly message: UpdateConsensusState }>
  | Call<
    "update_commitment_caps",
    { readonly commitmentCaps: readonly (readonly [StateMachineId, number])[] }
  >;

/** Calls of `IsmpParachain`. */
export type IsmpParachainCall = Call<
  "add_parachain",
  { readonly paraIds: readonly { readonly id: number }[] }
>;

/** Calls of `Relayer`. */
export type RelayerCall =
  | Call<"accumulate_fees", { readonly withdrawalProof: WithdrawalProof }>
  | Call<"withdraw_fees", { readonly withdrawalData: WithdrawalInputData }>
  | Call<"set_minimum_withdrawal", { readonly stateMachine: StateMachine; readonly amount: bigint }>
  | Call<"claim_outbound_consensus_delivery_reward", { readonly claim: OutboundConsensusDeliveryClaim }>
  | Call<"claim_outbound_request_delivery_reward", { readonly claim: OutboundRequestDeliveryClaim }>;

/** Calls of `HostExecutive`. */
export type HostExecutiveCall =
  | Call<"set_host_params", { readonly params: ReadonlyMap<StateMachine, HostParam> }>
  | Call<"update_evm_hosts", { readonly params: ReadonlyMap<StateMachine, Uint8Array> }>;

/** Calls of `CallDecompressor`; `encodedCallSize` is the exact size of the inner call in bytes. */
export type CallDecompressorCall = Call<
  "decompress_call",
  { readonly compressed: Uint8Array; readonly encodedCallSize: number }
>;

/** Calls of `StateCoprocessor`. */
export type StateCoprocessorCall = Call<"handle_unsigned", { readonly message: GetRequestsWithProof }>;

/** Calls of `Fishermen`. */
export type FishermenCall = Call<"veto_state_commitment", { readonly height: StateMachineHeight }>;

/** Calls of `Bandwidth`. */
export type BandwidthCall = Call<
  "set_allowlist",
  { readonly source: StateMachine; readonly app: Uint8Array; readonly on: boolean }
>;

/** Calls of `BeefyConsensusProofs`. */
export type BeefyConsensusProofsCall = Call<"submit_proof", { readonly proof: Uint8Array }>;

const ismpCallCodec = Enum({
  handle_unsigned: Struct({ messages: ismpMessagesCodec }),
  create_consensus_client: Struct({ message: createConsensusStateCodec }),
  update_consensus_state: Struct({ message: updateConsensusStateCodec }),
  update_commitment_caps: Struct({
    commitmentCaps: orderedEntries(stateMachineIdCodec, u32, compareStateMachineIds),
  }),
}, [0, 2, 3, 5]);

const ismpParachainCallCodec = Enum({
  add_parachain: Struct({ paraIds: list(Struct({ id: u32 })) }),
}, [1]);

const relayerCallCodec = Enum({
  accumulate_fees: Struct({ withdrawalProof: withdrawalProofCodec }),
  withdraw_fees: Struct({ withdrawalData: withdrawalInputDataCodec }),
  set_minimum_withdrawal: Struct({ stateMachine: stateMachineCodec, amount: u128 }),
  claim_outbound_consensus_delivery_reward: Struct({ claim: outboundConsensusDeliveryClaimCodec }),
  claim_outbound_request_delivery_reward: Struct({ claim: outboundRequestDeliveryClaimCodec }),
}, [0, 1, 2, 3, 5]);

const hostExecutiveCallCodec = Enum({
  set_host_params: Struct({ params: stateMachineMap(hostParamCodec) }),
  update_evm_hosts: Struct({ params: stateMachineMap(hostAddressCodec) }),
}, [0, 2]);

/** SCALE of {@link HubCall} for a runtime with these pallet indexes. */
export function hubCallCodec(pallets: HubCallPallets): Codec<HubCall> {
  return Enum({
    Ismp: ismpCallCodec,
    IsmpParachain: ismpParachainCallCodec,
    Relayer: relayerCallCodec,
    HostExecutive: hostExecutiveCallCodec,
    CallDecompressor: Enum({ decompress_call: Struct({ compressed: bytes, encodedCallSize: u32 }) }),
    StateCoprocessor: Enum({ handle_unsigned: Struct({ message: getRequestsWithProofCodec }) }),
    Fishermen: Enum({ veto_state_commitment: Struct({ height: stateMachineHeightCodec }) }),
    Bandwidth: Enum(
      { set_allowlist: Struct({ source: stateMachineCodec, app: bytes, on: bool }) },
      [1],
    ),
    BeefyConsensusProofs: Enum({ submit_proof: Struct({ proof: bytes }) }, [1]),
  }, [
    pallets.Ismp,
    pallets.IsmpParachain,
    pallets.Relayer,
    pallets.HostExecutive,
    pallets.CallDecompressor,
    pallets.StateCoprocessor,
    pallets.Fishermen,
    pallets.Bandwidth,
    pallets.BeefyConsensusProofs,
  ]);
}

/** First byte of an unsigned extrinsic of format 4; the hub accepts no format 5 before its next runtimes. */
const bareVersion = 0x04;

/** Unsigned extrinsic of an encoded call: compact length, version byte, call. */
export function encodeBareExtrinsic(call: Uint8Array): Uint8Array {
  return concatBytes(compact.enc(call.length + 1), Uint8Array.of(bareVersion), call);
}

/**
 * The encoded call inside an unsigned extrinsic.
 * @throws {ScaleError} `invalid` when the extrinsic is signed or of another format.
 */
export function decodeBareExtrinsic(extrinsic: Uint8Array): Uint8Array {
  const body = decodeStrict(bytes, extrinsic, "Extrinsic");
  if (body[0] !== bareVersion) throw new ScaleError("invalid", "Extrinsic");
  return body.slice(1);
}

/** Extrinsic hash on the hub: keccak256 of all its bytes, length included. */
export function hubExtrinsicHash(extrinsic: Uint8Array): Hash256 {
  return toHash256(keccak256(extrinsic));
}
