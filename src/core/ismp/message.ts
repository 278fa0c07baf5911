/**
 * Requests and responses, the unit that relayers carry.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/router.rs.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import { type StateMachine, stateMachineCodec } from "./state_machine.ts";
import { bytes, type Codec, Enum, list, Option, Struct, u64 } from "../encoding/scale.ts";

/** A message from a module of `source` to a module of `dest`. */
export interface PostRequest {
  readonly source: StateMachine;
  readonly dest: StateMachine;
  /** Counter of the source host, shared by posts and gets. u64. */
  readonly nonce: bigint;
  /** Sending module: 20-byte address, pallet id, 32-byte account or free bytes. */
  readonly from: Uint8Array;
  /** Receiving module; an EVM host requires exactly 20 bytes. */
  readonly to: Uint8Array;
  /** Absolute Unix time in seconds; 0 means never. u64. */
  readonly timeoutTimestampSec: bigint;
  readonly body: Uint8Array;
}

/** Request for values of the state of `dest` at block `height`. */
export interface GetRequest {
  readonly source: StateMachine;
  readonly dest: StateMachine;
  readonly nonce: bigint;
  readonly from: Uint8Array;
  /** EVM: 20 bytes (account) or 52 bytes (address and unhashed slot); Substrate: raw storage keys. */
  readonly keys: readonly Uint8Array[];
  /** Block of `dest` to read at. u64. */
  readonly height: bigint;
  readonly context: Uint8Array;
  readonly timeoutTimestampSec: bigint;
}

/** One answered key of a {@link GetResponse}. */
export interface StorageValue {
  readonly key: Uint8Array;
  readonly value: Uint8Array | undefined;
}

/** The hub's answer to a {@link GetRequest}; its destination is `get.source`. */
export interface GetResponse {
  readonly get: GetRequest;
  /** Ascending by key bytes, without duplicates. */
  readonly values: readonly StorageValue[];
}

/** A request or response with the commitment that identifies it, as the programs process it. */
export type Message =
  | { readonly kind: "post"; readonly commitment: Hash256; readonly request: PostRequest }
  | { readonly kind: "get"; readonly commitment: Hash256; readonly request: GetRequest }
  | {
    readonly kind: "getResponse";
    /** Commitment of the response (the leaf of the hub's MMR). */
    readonly commitment: Hash256;
    /** Commitment of the request it answers (the key of receipts). */
    readonly requestCommitment: Hash256;
    readonly response: GetResponse;
  };

/** A request of either kind, as the hub stores it. */
export type Request =
  | { readonly tag: "Post"; readonly value: PostRequest }
  | { readonly tag: "Get"; readonly value: GetRequest };

/** Content of the hub's MMR and offchain store: requests it routes and responses it created. */
export type Leaf =
  | { readonly tag: "Request"; readonly value: Request }
  | { readonly tag: "GetResponse"; readonly value: GetResponse };

/** SCALE of {@link PostRequest}. */
export const postRequestCodec: Codec<PostRequest> = Struct({
  source: stateMachineCodec,
  dest: stateMachineCodec,
  nonce: u64,
  from: bytes,
  to: bytes,
  timeoutTimestampSec: u64,
  body: bytes,
});

/** SCALE of {@link GetRequest}; the ABI has another field order (see commitment.ts). */
export const getRequestCodec: Codec<GetRequest> = Struct({
  source: stateMachineCodec,
  dest: stateMachineCodec,
  nonce: u64,
  from: bytes,
  keys: list(bytes),
  height: u64,
  context: bytes,
  timeoutTimestampSec: u64,
});

/** SCALE of {@link StorageValue}. */
const storageValueCodec: Codec<StorageValue> = Struct({ key: bytes, value: Option(bytes) });

/** SCALE of {@link GetResponse}. */
export const getResponseCodec: Codec<GetResponse> = Struct({
  get: getRequestCodec,
  values: list(storageValueCodec),
});

/** SCALE of {@link Request}. */
export const requestCodec: Codec<Request> = Enum({ Post: postRequestCodec, Get: getRequestCodec });

/** SCALE of {@link Leaf}. */
export const leafCodec: Codec<Leaf> = Enum({ Request: requestCodec, GetResponse: getResponseCodec });
