/**
 * Calldata of HandlerV2, which relayers send to an EVM chain: encoding and decoding. Source:
 * polytope-labs/hyperbridge: evm/src/core/HandlerV2.sol; @polytope-labs/solidity-merkle-trees 1.1.0 (leaf order).
 */
import { decodeFunctionData, encodeFunctionData } from "viem";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../encoding/bytes.ts";
import {
  type GetRequest,
  type GetRequestAbiValue,
  type GetResponse,
  type GetResponseAbiValue,
  getToAbi,
  type PostRequest,
  type PostRequestAbiValue,
  postToAbi,
  responseToAbi,
} from "../ismp/message.ts";
import type { MmrProof } from "../ismp/proof.ts";
import { type StateMachine, stateMachineFromBytes, toParaId } from "../ismp/state_machine.ts";
import { type Address, toAddress } from "./address.ts";
import { handlerV2Abi } from "./host_abi.ts";

/** Hub height in the contracts' form: bare para id and block number. */
export interface HubHeight {
  readonly stateMachineId: bigint;
  readonly height: bigint;
}

/** MMR proof in calldata form. */
export interface HandlerProof {
  readonly height: HubHeight;
  readonly multiproof: readonly Hash256[];
  readonly leafCount: bigint;
}

/** A post request and the index of its leaf in the hub's MMR. */
export interface PostLeaf {
  readonly request: PostRequest;
  readonly index: bigint;
}

/** A response and the index of its leaf in the hub's MMR. */
export interface ResponseLeaf {
  readonly response: GetResponse;
  readonly index: bigint;
}

/** A call of HandlerV2, by the name of the function. */
export type HandlerCall =
  | {
    readonly tag: "handleConsensus";
    readonly value: { readonly host: Address; readonly proof: Uint8Array };
  }
  | {
    readonly tag: "handlePostRequests";
    readonly value: {
      readonly host: Address;
      readonly proof: HandlerProof;
      /** Strictly ascending by index. */
      readonly requests: readonly PostLeaf[];
    };
  }
  | {
    readonly tag: "handleGetResponses";
    readonly value: {
      readonly host: Address;
      readonly proof: HandlerProof;
      /** Strictly ascending by index. */
      readonly responses: readonly ResponseLeaf[];
    };
  }
  | {
    readonly tag: "handlePostRequestTimeouts";
    readonly value: {
      readonly host: Address;
      readonly timeouts: readonly PostRequest[];
      readonly height: HubHeight;
      /** Nodes of the hub's ISMP child trie. */
      readonly proof: readonly Uint8Array[];
    };
  }
  | {
    readonly tag: "handleGetRequestTimeouts";
    readonly value: {
      readonly host: Address;
      readonly timeouts: readonly GetRequest[];
      readonly height: HubHeight;
      readonly proof: readonly Uint8Array[];
    };
  }
  | { readonly tag: "batchCall"; readonly value: { readonly calls: readonly HandlerCall[] } };

/** Reason why a call cannot be built or read. */
export type HandlerCallErrorCode =
  /** The proof has another number of leaves than there are messages. */
  | "leaf_count_mismatch"
  /** Two messages have the same leaf. */
  | "duplicate_leaf"
  /** The leaf index is not below the leaf count. */
  | "leaf_out_of_range"
  /** The calldata is not that of a HandlerV2 function. */
  | "undecodable";

/** A handler call that cannot be built from a proof, or calldata that is none. */
export class HandlerCallError extends Error {
  override readonly name = "HandlerCallError";
  constructor(readonly code: HandlerCallErrorCode, options?: ErrorOptions) {
    super(`Handler call: ${code}`, options);
  }
}

/** Host, and hub height at which messages are proved. */
export interface ProvedAt {
  readonly host: Address;
  /** The hub; only parachains of Polkadot and Kusama can be expressed. */
  readonly hub: StateMachine;
  readonly hubHeight: bigint;
}

/** Hub height in the contracts' form. @throws {IdentifierError} `no_para_id`. */
export function toHubHeight(at: Pick<ProvedAt, "hub" | "hubHeight">): HubHeight {
  return { stateMachineId: BigInt(toParaId(at.hub)), height: at.hubHeight };
}

/**
 * Pairs messages with the leaves of a proof and sorts them as the contract requires. The hub returns
 * `leafIndicesAndPos` in the order of the requested messages.
 */
function sortedLeaves<T>(
  messages: readonly T[],
  proof: MmrProof,
): readonly { readonly message: T; readonly index: bigint }[] {
  if (messages.length !== proof.leafIndicesAndPos.length) throw new HandlerCallError("leaf_count_mismatch");
  const leaves = messages.map((message, order) => ({
    message,
    index: proof.leafIndicesAndPos[order]?.leafIndex ?? -1n,
  })).sort((a, b) => a.index < b.index ? -1 : a.index > b.index ? 1 : 0);
  leaves.forEach(({ index }, order) => {
    if (index < 0n || index >= proof.leafCount) throw new HandlerCallError("leaf_out_of_range");
    if (leaves[order + 1]?.index === index) throw new HandlerCallError("duplicate_leaf");
  });
  return leaves;
}

function handlerProof(at: ProvedAt, proof: MmrProof): HandlerProof {
  return { height: toHubHeight(at), multiproof: proof.items, leafCount: proof.leafCount };
}

/**
 * Delivery of post requests. `requests` are in the order of the proof request.
 * @throws {HandlerCallError}
 */
export function postRequestsCall(
  at: ProvedAt,
  requests: readonly PostRequest[],
  proof: MmrProof,
): HandlerCall {
  const leaves = sortedLeaves(requests, proof);
  return {
    tag: "handlePostRequests",
    value: {
      host: at.host,
      proof: handlerProof(at, proof),
      requests: leaves.map(({ message, index }) => ({ request: message, index })),
    },
  };
}

/**
 * Delivery of responses to get requests of this chain.
 * @throws {HandlerCallError}
 */
export function getResponsesCall(
  at: ProvedAt,
  responses: readonly GetResponse[],
  proof: MmrProof,
): HandlerCall {
  const leaves = sortedLeaves(responses, proof);
  return {
    tag: "handleGetResponses",
    value: {
      host: at.host,
      proof: handlerProof(at, proof),
      responses: leaves.map(({ message, index }) => ({ response: message, index })),
    },
  };
}

/** Update of the hub's light client. The proof keeps its first byte, which selects the verifier. */
export function consensusCall(host: Address, proof: Uint8Array): HandlerCall {
  return { tag: "handleConsensus", value: { host, proof } };
}

/** Several calls in one transaction: executed in order, the first failure reverts all. */
export function batchCall(calls: readonly HandlerCall[]): HandlerCall {
  return { tag: "batchCall", value: { calls } };
}

const abi = handlerV2Abi;

/** Calldata of a call. */
export function encodeHandlerCall(call: HandlerCall): Hex {
  const functionName = call.tag;
  switch (functionName) {
    case "handleConsensus":
      return encodeFunctionData({ abi, functionName, args: [call.value.host, toHex(call.value.proof)] });
    case "handlePostRequests": {
      const { host, proof, requests } = call.value;
      const leaves = requests.map(({ request, index }) => ({ request: postToAbi(request), index }));
      return encodeFunctionData({ abi, functionName, args: [host, { proof, requests: leaves }] });
    }
    case "handleGetResponses": {
      const { host, proof, responses } = call.value;
      const leaves = responses.map(({ response, index }) => ({ response: responseToAbi(response), index }));
      return encodeFunctionData({ abi, functionName, args: [host, { proof, responses: leaves }] });
    }
    case "handlePostRequestTimeouts": {
      const { host, height, timeouts, proof } = call.value;
      const message = { timeouts: timeouts.map(postToAbi), height, proof: proof.map(toHex) };
      return encodeFunctionData({ abi, functionName, args: [host, message] });
    }
    case "handleGetRequestTimeouts": {
      const { host, height, timeouts, proof } = call.value;
      const message = { timeouts: timeouts.map(getToAbi), height, proof: proof.map(toHex) };
      return encodeFunctionData({ abi, functionName, args: [host, message] });
    }
    case "batchCall":
      return encodeFunctionData({ abi, functionName, args: [call.value.calls.map(encodeHandlerCall)] });
  }
}

/**
 * Decodes the call in calldata. Empty values of responses read as absent.
 * @throws {HandlerCallError} `undecodable`.
 */
export function decodeHandlerCall(calldata: Hex): HandlerCall {
  try {
    return decodeCall(calldata);
  } catch (cause) {
    if (cause instanceof HandlerCallError) throw cause;
    throw new HandlerCallError("undecodable", { cause });
  }
}

function decodeCall(data: Hex): HandlerCall {
  const call = decodeFunctionData({ abi, data });
  switch (call.functionName) {
    case "handleConsensus": {
      const [host, proof] = call.args;
      return consensusCall(toAddress(host), fromHex(proof));
    }
    case "handlePostRequests": {
      const [host, { proof, requests }] = call.args;
      const leaves = requests.map(({ request, index }) => ({ request: postFromAbi(request), index }));
      return {
        tag: call.functionName,
        value: { host: toAddress(host), proof: proofFromAbi(proof), requests: leaves },
      };
    }
    case "handleGetResponses": {
      const [host, { proof, responses }] = call.args;
      const leaves = responses.map(({ response, index }) => ({ response: responseFromAbi(response), index }));
      return {
        tag: call.functionName,
        value: { host: toAddress(host), proof: proofFromAbi(proof), responses: leaves },
      };
    }
    case "handlePostRequestTimeouts": {
      const [host, { timeouts, height, proof }] = call.args;
      const value = { host: toAddress(host), height, proof: proof.map(fromHex) };
      return { tag: call.functionName, value: { ...value, timeouts: timeouts.map(postFromAbi) } };
    }
    case "handleGetRequestTimeouts": {
      const [host, { timeouts, height, proof }] = call.args;
      const value = { host: toAddress(host), height, proof: proof.map(fromHex) };
      return { tag: call.functionName, value: { ...value, timeouts: timeouts.map(getFromAbi) } };
    }
    case "batchCall":
      return batchCall(call.args[0].map(decodeCall));
    case "supportsInterface":
      throw new HandlerCallError("undecodable");
  }
}

function proofFromAbi(
  proof: { readonly height: HubHeight; readonly multiproof: readonly Hex[]; readonly leafCount: bigint },
): HandlerProof {
  return { ...proof, multiproof: proof.multiproof.map((item) => toHash256(item)) };
}

/** A post request from its Solidity form. @throws {IdentifierError} */
function postFromAbi(value: PostRequestAbiValue): PostRequest {
  return {
    source: stateMachineFromBytes(fromHex(value.source)),
    dest: stateMachineFromBytes(fromHex(value.dest)),
    nonce: value.nonce,
    from: fromHex(value.from),
    to: fromHex(value.to),
    timeoutTimestampSec: value.timeoutTimestamp,
    body: fromHex(value.body),
  };
}

/** A get request from its Solidity form. @throws {IdentifierError} */
function getFromAbi(value: GetRequestAbiValue): GetRequest {
  return {
    source: stateMachineFromBytes(fromHex(value.source)),
    dest: stateMachineFromBytes(fromHex(value.dest)),
    nonce: value.nonce,
    from: fromHex(value.from),
    keys: value.keys.map(fromHex),
    height: value.height,
    context: fromHex(value.context),
    timeoutTimestampSec: value.timeoutTimestamp,
  };
}

/** A response from its Solidity form; empty values read as absent. @throws {IdentifierError} */
function responseFromAbi(value: GetResponseAbiValue): GetResponse {
  return {
    get: getFromAbi(value.request),
    values: value.values.map((item) => ({
      key: fromHex(item.key),
      value: item.value === "0x" ? undefined : fromHex(item.value),
    })),
  };
}
