/**
 * Events of the hub's pallet `Ismp`: as `System.Events` stores them, and as the runtime's API gives them. Source:
 * polytope-labs/hyperbridge: modules/pallets/ismp/src/lib.rs, modules/ismp/core/src/events.rs.
 */
import type { CodecType } from "scale-ts";
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
  messageHandledCodec,
  stateCommitmentVetoedCodec,
  stateMachineUpdatedCodec,
  timeoutHandledCodec,
} from "../../../src/core/ismp/event.ts";
import { getRequestCodec, getResponseCodec, postRequestCodec } from "../../../src/core/ismp/message.ts";
import { consensusClientIdCodec, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";

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

/** A request that was dispatched on or routed through the hub. */
const requestDispatched = {
  destChain: stateMachineCodec,
  sourceChain: stateMachineCodec,
  requestNonce: u64,
  commitment: hash256,
};

const clientId = Struct({ consensusClientId: consensusClientIdCodec });

/** SCALE of {@link IsmpPalletEvent}. */
export const ismpPalletEventCodec = Enum({
  StateMachineUpdated: stateMachineUpdatedCodec,
  StateCommitmentVetoed: stateCommitmentVetoedCodec,
  ConsensusClientCreated: clientId,
  ConsensusClientFrozen: clientId,
  /** Created by the hub; `reqCommitment` names the request. */
  Response: Struct({ ...requestDispatched, reqCommitment: hash256 }),
  Request: Struct(requestDispatched),
  Errors: Struct({ errors: list(Struct({ message: bytes })) }),
  PostRequestHandled: messageHandledCodec,
  GetRequestHandled: messageHandledCodec,
  PostRequestTimeoutHandled: timeoutHandledCodec,
  GetRequestTimeoutHandled: timeoutHandledCodec,
  RelayerFeeWithdrawn: Struct({ amount: u128, account: hash256 }),
});

/** Events of `Ismp`. Handled and timeout events have one unnamed field. */
export type IsmpPalletEvent = CodecType<typeof ismpPalletEventCodec>;
