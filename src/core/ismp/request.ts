/**
 * SCALE of requests, responses and the leaves of the hub's MMR.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/router.rs.
 */
import { bytes, type Codec, Enum, list, Option, Struct, u64 } from "../encoding/scale.ts";
import type { GetRequest, GetResponse, PostRequest, StorageValue } from "./message.ts";
import { stateMachineCodec } from "./state_machine.ts";

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
