/**
 * Requests and responses, the unit that relayers carry.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/router.rs.
 */
import { type AbiParameterToPrimitiveType, encodeAbiParameters, parseAbiParameters } from "viem";
import { fromHex, type Hash256, type Hex, keccak256, toHash256, toHex } from "../encoding/bytes.ts";
import { bytes, Enum, list, Option, Struct, u64 } from "../encoding/scale.ts";
import { type StateMachine, stateMachineCodec, stateMachineToBytes } from "./state_machine.ts";
import type { CodecType } from "scale-ts";

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

/** SCALE of {@link PostRequest}. */
export const postRequestCodec = Struct({
  source: stateMachineCodec,
  dest: stateMachineCodec,
  /** Counter of the source host, shared by posts and gets. u64. */
  nonce: u64,
  /** Sending module: 20-byte address, pallet id, 32-byte account or free bytes. */
  from: bytes,
  /** Receiving module; an EVM host requires exactly 20 bytes. */
  to: bytes,
  /** Absolute Unix time in seconds; 0 means never. u64. */
  timeoutTimestampSec: u64,
  body: bytes,
});

/** A message from a module of `source` to a module of `dest`. */
export type PostRequest = Readonly<CodecType<typeof postRequestCodec>>;

/** SCALE of {@link GetRequest}; the ABI has another field order (see commitment.ts). */
export const getRequestCodec = Struct({
  source: stateMachineCodec,
  dest: stateMachineCodec,
  nonce: u64,
  from: bytes,
  /** EVM: 20 bytes (account) or 52 bytes (address and unhashed slot); Substrate: raw storage keys. */
  keys: list(bytes),
  /** Block of `dest` to read at. u64. */
  height: u64,
  context: bytes,
  timeoutTimestampSec: u64,
});

/** Request for values of the state of `dest` at block `height`. */
export type GetRequest = Readonly<CodecType<typeof getRequestCodec>>;

/** SCALE of {@link StorageValue}. */
const storageValueCodec = Struct({ key: bytes, value: Option(bytes) });

/** One answered key of a {@link GetResponse}. */
export type StorageValue = Readonly<CodecType<typeof storageValueCodec>>;

/** SCALE of {@link GetResponse}. */
export const getResponseCodec = Struct({
  get: getRequestCodec,
  /** Ascending by key bytes, without duplicates. */
  values: list(storageValueCodec),
});

/** The hub's answer to a {@link GetRequest}; its destination is `get.source`. */
export type GetResponse = Readonly<CodecType<typeof getResponseCodec>>;

/** A request of either kind, as the hub stores it. */
export const requestCodec = Enum({ Post: postRequestCodec, Get: getRequestCodec });

/** SCALE of {@link Leaf}. */
export const leafCodec = Enum({ Request: requestCodec, GetResponse: getResponseCodec });

/** Content of the hub's MMR and offchain store: requests it routes and responses it created. */
export type Leaf = Readonly<CodecType<typeof leafCodec>>;

/** Solidity structs of messages: what commitments hash, and what handlers take. Their fields are not in SCALE's order. */
export const messageStructs = [
  "struct PostRequest { bytes source; bytes dest; uint64 nonce; bytes from; bytes to; uint64 timeoutTimestamp; bytes body; }",
  "struct GetRequest { bytes source; bytes dest; uint64 nonce; bytes from; uint64 timeoutTimestamp; bytes[] keys; uint64 height; bytes context; }",
  "struct StorageValue { bytes key; bytes value; }",
  "struct GetResponse { GetRequest request; StorageValue[] values; }",
] as const;

const messageAbi = parseAbiParameters([
  "PostRequest post, GetRequest get, GetResponse response",
  ...messageStructs,
]);
const [, getAbi, responseAbi] = messageAbi;

/** Message in Solidity's form, as viem takes it. */
type AbiValue<Index extends 0 | 1 | 2> = AbiParameterToPrimitiveType<typeof messageAbi[Index]>;

function nameHex(stateMachine: StateMachine): Hex {
  return toHex(stateMachineToBytes(stateMachine));
}

/** The Solidity form of a post request. */
export function postToAbi(request: PostRequest): AbiValue<0> {
  return {
    source: nameHex(request.source),
    dest: nameHex(request.dest),
    nonce: request.nonce,
    from: toHex(request.from),
    to: toHex(request.to),
    timeoutTimestamp: request.timeoutTimestampSec,
    body: toHex(request.body),
  };
}

/** The Solidity form of a get request. */
function getToAbi(request: GetRequest): AbiValue<1> {
  return {
    source: nameHex(request.source),
    dest: nameHex(request.dest),
    nonce: request.nonce,
    from: toHex(request.from),
    timeoutTimestamp: request.timeoutTimestampSec,
    keys: request.keys.map(toHex),
    height: request.height,
    context: toHex(request.context),
  };
}

/** The Solidity form of a response; an absent value becomes empty bytes. */
export function responseToAbi(response: GetResponse): AbiValue<2> {
  return {
    request: getToAbi(response.get),
    values: response.values.map(({ key, value }) => ({
      key: toHex(key),
      value: value === undefined ? "0x" : toHex(value),
    })),
  };
}

/**
 * Preimage of {@link commitmentOfPost}; its length is what the hub's bandwidth gate charges. By hand: every message is
 * hashed each time it is read, and viem goes through hex, which takes 20 times as long.
 */
export function abiEncodePost(request: PostRequest): Uint8Array {
  const [source, dest] = [stateMachineToBytes(request.source), stateMachineToBytes(request.dest)];
  const fields = [
    source,
    dest,
    request.nonce,
    request.from,
    request.to,
    request.timeoutTimestampSec,
    request.body,
  ];
  const encoded = new Uint8Array(fields.reduce<number>(
    (size, field) => size + (typeof field === "bigint" ? WORD : 2 * WORD + paddedLength(field)),
    WORD,
  ));
  const view = new DataView(encoded.buffer);
  // The struct itself, then in its head numbers and the places of bytes, which count from its beginning.
  view.setUint32(WORD - 4, WORD);
  let head = WORD;
  let tail = fields.length * WORD;
  for (const field of fields) {
    if (typeof field === "bigint") {
      view.setBigUint64(head + WORD - 8, checkedU64(field));
    } else {
      view.setUint32(head + WORD - 4, tail);
      view.setUint32(WORD + tail + WORD - 4, field.length);
      encoded.set(field, WORD + tail + WORD);
      tail += WORD + paddedLength(field);
    }
    head += WORD;
  }
  return encoded;
}

/** Bytes of a word of the ABI. */
const WORD = 32;

function paddedLength(bytes: Uint8Array): number {
  return Math.ceil(bytes.length / WORD) * WORD;
}

function checkedU64(value: bigint): bigint {
  if (BigInt.asUintN(64, value) !== value) throw new RangeError(`Not a u64: ${value}`);
  return value;
}

/** Preimage of {@link commitmentOfGet}. */
export function abiEncodeGet(request: GetRequest): Uint8Array {
  return fromHex(encodeAbiParameters([getAbi], [getToAbi(request)]));
}

/** Preimage of {@link commitmentOfResponse}. */
export function abiEncodeResponse(response: GetResponse): Uint8Array {
  return fromHex(encodeAbiParameters([responseAbi], [responseToAbi(response)]));
}

/** Identifies a post request on source, hub and destination. */
export function commitmentOfPost(request: PostRequest): Hash256 {
  return toHash256(keccak256(abiEncodePost(request)));
}

/** Identifies a get request; the receipt of its response is stored under it. */
export function commitmentOfGet(request: GetRequest): Hash256 {
  return toHash256(keccak256(abiEncodeGet(request)));
}

/** Identifies a response in the hub's MMR and response commitments. */
export function commitmentOfResponse(response: GetResponse): Hash256 {
  return toHash256(keccak256(abiEncodeResponse(response)));
}

/** A post request with its commitment. */
export function postMessage(request: PostRequest): Extract<Message, { kind: "post" }> {
  return { kind: "post", commitment: commitmentOfPost(request), request };
}

/** A get request with its commitment. */
export function getMessage(request: GetRequest): Extract<Message, { kind: "get" }> {
  return { kind: "get", commitment: commitmentOfGet(request), request };
}

/** A response with its own commitment and that of its request. */
export function getResponseMessage(response: GetResponse): Extract<Message, { kind: "getResponse" }> {
  return {
    kind: "getResponse",
    commitment: commitmentOfResponse(response),
    requestCommitment: commitmentOfGet(response.get),
    response,
  };
}

/** The message that a leaf or an event payload stands for. */
export function toMessage(leaf: Leaf): Message {
  if (leaf.tag === "GetResponse") return getResponseMessage(leaf.value);
  return leaf.value.tag === "Post" ? postMessage(leaf.value.value) : getMessage(leaf.value.value);
}
