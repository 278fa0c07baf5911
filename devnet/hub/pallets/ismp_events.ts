/**
 * Events of the hub's pallet `Ismp`: as `System.Events` stores them, and as the runtime's API gives them. Source:
 * polytope-labs/hyperbridge: modules/pallets/ismp/src/lib.rs, modules/ismp/core/src/events.rs.
 */
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import {
  bytes,
  type Codec,
  Enum,
  hash256,
  list,
  Struct,
  u128,
  u64,
} from "../../../src/core/encoding/scale.ts";
import {
  type IsmpEvent,
  type MessageHandled,
  messageHandledCodec,
  type StateCommitmentVetoed,
  stateCommitmentVetoedCodec,
  type StateMachineUpdated,
  stateMachineUpdatedCodec,
  type TimeoutHandled,
  timeoutHandledCodec,
} from "../../../src/core/ismp/event.ts";
import { getRequestCodec, getResponseCodec, postRequestCodec } from "../../../src/core/ismp/message.ts";
import {
  type ConsensusClientId,
  consensusClientIdCodec,
  type StateMachine,
  stateMachineCodec,
} from "../../../src/core/ismp/state_machine.ts";

/** SCALE of {@link IsmpEvent}, element of the answer of `IsmpRuntimeApi_block_events`. */
export const ismpEventCodec: Codec<IsmpEvent> = Enum({
  StateMachineUpdated: stateMachineUpdatedCodec,
  StateCommitmentVetoed: stateCommitmentVetoedCodec,
  PostRequest: postRequestCodec,
  GetResponse: getResponseCodec,
  GetRequest: getRequestCodec,
  PostRequestHandled: messageHandledCodec,
  PostRequestTimeoutHandled: timeoutHandledCodec,
  GetRequestHandled: messageHandledCodec,
  GetRequestTimeoutHandled: timeoutHandledCodec,
});

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
