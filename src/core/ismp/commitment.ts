/**
 * Commitments: identifiers of a request or response on every chain, and the leaf hashes of the hub's MMR. keccak256
 * of Solidity's `abi.encode` of the struct as one tuple, on every chain. Source: polytope-labs/hyperbridge:
 * sdk/packages/core/contracts/libraries/Message.sol, modules/ismp/core/src/router.rs.
 */
import { encodeAbiParameters } from "viem/utils";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../encoding/bytes.ts";
import { keccak256 } from "../encoding/hash.ts";
import type { GetRequest, GetResponse, Leaf, Message, PostRequest } from "./message.ts";
import { type StateMachine, stateMachineToBytes } from "./state_machine.ts";

/** Components of the Solidity struct `GetRequest`, in ABI order (not the SCALE order). */
const getRequestAbi = [
  { name: "source", type: "bytes" },
  { name: "dest", type: "bytes" },
  { name: "nonce", type: "uint64" },
  { name: "from", type: "bytes" },
  { name: "timeoutTimestamp", type: "uint64" },
  { name: "keys", type: "bytes[]" },
  { name: "height", type: "uint64" },
  { name: "context", type: "bytes" },
] as const;

/** Components of the Solidity struct `GetResponse`, in ABI order. */
const getResponseAbi = [
  { name: "request", type: "tuple", components: getRequestAbi },
  {
    name: "values",
    type: "tuple[]",
    components: [{ name: "key", type: "bytes" }, { name: "value", type: "bytes" }],
  },
] as const;

/** Argument of viem for the Solidity struct `PostRequest`. */
export interface PostRequestAbiValue {
  readonly source: Hex;
  readonly dest: Hex;
  readonly nonce: bigint;
  readonly from: Hex;
  readonly to: Hex;
  readonly timeoutTimestamp: bigint;
  readonly body: Hex;
}

/** Argument of viem for {@link getRequestAbi}. */
export interface GetRequestAbiValue {
  readonly source: Hex;
  readonly dest: Hex;
  readonly nonce: bigint;
  readonly from: Hex;
  readonly timeoutTimestamp: bigint;
  readonly keys: readonly Hex[];
  readonly height: bigint;
  readonly context: Hex;
}

/** Argument of viem for {@link getResponseAbi}. */
export interface GetResponseAbiValue {
  readonly request: GetRequestAbiValue;
  readonly values: readonly { readonly key: Hex; readonly value: Hex }[];
}

function nameHex(stateMachine: StateMachine): Hex {
  return toHex(stateMachineToBytes(stateMachine));
}

/** The Solidity form of a post request. */
export function postToAbi(request: PostRequest): PostRequestAbiValue {
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
export function getToAbi(request: GetRequest): GetRequestAbiValue {
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
export function responseToAbi(response: GetResponse): GetResponseAbiValue {
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
  return fromHex(encodeAbiParameters([{ type: "tuple", components: getRequestAbi }], [getToAbi(request)]));
}

/** Preimage of {@link commitmentOfResponse}. */
export function abiEncodeResponse(response: GetResponse): Uint8Array {
  return fromHex(
    encodeAbiParameters([{ type: "tuple", components: getResponseAbi }], [responseToAbi(response)]),
  );
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
