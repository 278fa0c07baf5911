/**
 * Events of a host: one shape whether they come from a runtime API, a JSON-RPC answer or an EVM log.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/events.rs.
 */
import { bytes, hash256, Struct, u64 } from "../encoding/scale.ts";
import type { GetRequest, GetResponse, PostRequest } from "./message.ts";
import { stateMachineCodec, stateMachineHeightCodec, stateMachineIdCodec } from "./state_machine.ts";
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
