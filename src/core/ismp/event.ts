/**
 * Events of a host: one shape whether they come from a runtime API, a JSON-RPC answer or an EVM log.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/events.rs.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import { bytes, type Codec, hash256, Struct, u64 } from "../encoding/scale.ts";
import type { GetRequest, GetResponse, PostRequest } from "./message.ts";
import {
  type StateMachine,
  stateMachineCodec,
  type StateMachineHeight,
  stateMachineHeightCodec,
  type StateMachineId,
  stateMachineIdCodec,
} from "./state_machine.ts";

/** A light client knows a new height. */
export interface StateMachineUpdated {
  readonly stateMachineId: StateMachineId;
  readonly latestHeight: bigint;
}

/** A fisherman removed a commitment inside its challenge period. */
export interface StateCommitmentVetoed {
  readonly height: StateMachineHeight;
  readonly fisherman: Uint8Array;
}

/** A message was delivered. For gets the commitment is the request's. */
export interface MessageHandled {
  readonly commitment: Hash256;
  /** Relayer that delivered it: 20-byte address or 32-byte key. */
  readonly relayer: Uint8Array;
}

/** A timeout was handled on the source. */
export interface TimeoutHandled {
  readonly commitment: Hash256;
  readonly source: StateMachine;
  readonly dest: StateMachine;
}

/** An event of an ISMP host; the tags are those of the JSON form. */
export type IsmpEvent =
  | { readonly tag: "StateMachineUpdated"; readonly value: StateMachineUpdated }
  | { readonly tag: "StateCommitmentVetoed"; readonly value: StateCommitmentVetoed }
  | { readonly tag: "PostRequest"; readonly value: PostRequest }
  | { readonly tag: "GetResponse"; readonly value: GetResponse }
  | { readonly tag: "GetRequest"; readonly value: GetRequest }
  | { readonly tag: "PostRequestHandled"; readonly value: MessageHandled }
  | { readonly tag: "PostRequestTimeoutHandled"; readonly value: TimeoutHandled }
  | { readonly tag: "GetRequestHandled"; readonly value: MessageHandled }
  | { readonly tag: "GetRequestTimeoutHandled"; readonly value: TimeoutHandled };

/** SCALE of {@link StateMachineUpdated}. */
export const stateMachineUpdatedCodec: Codec<StateMachineUpdated> = Struct({
  stateMachineId: stateMachineIdCodec,
  latestHeight: u64,
});

/** SCALE of {@link MessageHandled}. */
export const messageHandledCodec: Codec<MessageHandled> = Struct({ commitment: hash256, relayer: bytes });

/** SCALE of {@link TimeoutHandled}. */
export const timeoutHandledCodec: Codec<TimeoutHandled> = Struct({
  commitment: hash256,
  source: stateMachineCodec,
  dest: stateMachineCodec,
});

/** SCALE of {@link StateCommitmentVetoed}. */
export const stateCommitmentVetoedCodec: Codec<StateCommitmentVetoed> = Struct({
  height: stateMachineHeightCodec,
  fisherman: bytes,
});
