/**
 * Events of a host: one shape whether they come from a runtime API, a JSON-RPC answer or an EVM log.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/events.rs.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import { bytes, hash256, Struct, u64 } from "../encoding/scale.ts";
import type { GetRequest, GetResponse, Message, PostRequest } from "./message.ts";
import {
  type StateMachine,
  stateMachineCodec,
  stateMachineHeightCodec,
  type StateMachineId,
  stateMachineIdCodec,
} from "./state_machine.ts";
import type { CodecType } from "scale-ts";

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
export const stateMachineUpdatedCodec = Struct({
  stateMachineId: stateMachineIdCodec,
  latestHeight: u64,
});

/** A light client knows a new height. */
export type StateMachineUpdated = Readonly<CodecType<typeof stateMachineUpdatedCodec>>;

/** SCALE of {@link MessageHandled}. */
export const messageHandledCodec = Struct({
  commitment: hash256,
  /** Relayer that delivered it: 20-byte address or 32-byte key. */
  relayer: bytes,
});

/** A message was delivered. For gets the commitment is the request's. */
export type MessageHandled = Readonly<CodecType<typeof messageHandledCodec>>;

/** SCALE of {@link TimeoutHandled}. */
export const timeoutHandledCodec = Struct({
  commitment: hash256,
  source: stateMachineCodec,
  dest: stateMachineCodec,
});

/** A timeout was handled on the source. */
export type TimeoutHandled = Readonly<CodecType<typeof timeoutHandledCodec>>;

/** SCALE of {@link StateCommitmentVetoed}. */
export const stateCommitmentVetoedCodec = Struct({
  height: stateMachineHeightCodec,
  fisherman: bytes,
});

/** A fisherman removed a commitment inside its challenge period. */
export type StateCommitmentVetoed = Readonly<CodecType<typeof stateCommitmentVetoedCodec>>;

/** Event of a chain's ISMP host, as the programs use it. `M`: the kinds of messages that the host dispatches. */
export type HostEvent<M = Message> =
  | { readonly kind: "message"; readonly message: M }
  | {
    /** `relayer` delivered a message to this chain. `commitment` is that of the request. */
    readonly kind: "handled";
    readonly of: "post" | "get";
    readonly commitment: Hash256;
    readonly relayer: Uint8Array;
  }
  | {
    readonly kind: "timeoutHandled";
    readonly of: "post" | "get";
    readonly commitment: Hash256;
    /** Source chain of the request, if reported: Substrate chains do. */
    readonly source?: StateMachine;
  }
  | {
    /** The fee of a request was raised to `fee` units of the fee token. */
    readonly kind: "funded";
    readonly commitment: Hash256;
    readonly fee: bigint;
  }
  | {
    /** The chain accepted a newer height of `stateMachine`; the id is known on Substrate chains only. */
    readonly kind: "updated";
    readonly stateMachine: StateMachine;
    readonly id: StateMachineId | undefined;
    readonly height: bigint;
  }
  | { readonly kind: "vetoed"; readonly stateMachine: StateMachine; readonly height: bigint }
  | { readonly kind: "newEpoch"; readonly setId: bigint; readonly relayer: Uint8Array };
