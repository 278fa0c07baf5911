/**
 * Calldata of HandlerV2, which relayers send to an EVM chain. Source: polytope-labs/hyperbridge:
 * evm/src/core/HandlerV2.sol; @polytope-labs/solidity-merkle-trees 1.1.0 (leaf order).
 */
import { decodeFunctionData, encodeFunctionData } from "viem";
import { type Hex, toHex } from "../encoding/bytes.ts";
import { CodedError, readOrUndefined } from "../encoding/coded_error.ts";
import { type GetResponse, type PostRequest, postToAbi, responseToAbi } from "../ismp/message.ts";
import type { MmrProof } from "../ismp/proof.ts";
import { type StateMachine, toParaId } from "../ismp/state_machine.ts";
import type { Address } from "./address.ts";
import { handlerV2Abi as abi } from "./host_abi.ts";

/** How the leaves of a proof do not fit the messages, or the mountain range. */
type HandlerCallErrorCode = "leaf_count_mismatch" | "duplicate_leaf" | "leaf_out_of_range";

/** A handler call that cannot be built from a proof. */
export class HandlerCallError extends CodedError<HandlerCallErrorCode> {
  override readonly name = "HandlerCallError";
}

/** Host, and hub height at which messages are proved. */
export interface ProvedAt {
  readonly host: Address;
  /** The hub; only parachains of Polkadot and Kusama can be expressed. */
  readonly hub: StateMachine;
  readonly hubHeight: bigint;
}

/** What the handler takes of a proof of the hub's mountain range. */
type ProvedLeaves = Pick<MmrProof, "leafCount" | "items"> & {
  readonly leafIndicesAndPos: readonly { readonly leafIndex: bigint }[];
};

/**
 * Pairs messages with the leaves of a proof and sorts them as the contract requires. The hub returns
 * `leafIndicesAndPos` in the order of the requested messages.
 */
function sortedLeaves<T>(
  messages: readonly T[],
  proof: ProvedLeaves,
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

/** The proof in the contracts' form. @throws {IdentifierError} `no_para_id`. */
function proofToAbi({ hub, hubHeight }: ProvedAt, { items, leafCount }: ProvedLeaves): {
  readonly height: { readonly stateMachineId: bigint; readonly height: bigint };
  readonly multiproof: readonly Hex[];
  readonly leafCount: bigint;
} {
  return {
    height: { stateMachineId: BigInt(toParaId(hub)), height: hubHeight },
    multiproof: items,
    leafCount,
  };
}

/** Delivers post requests, in the order of the proof request. @throws {HandlerCallError} */
export function postRequestsCall(at: ProvedAt, posts: readonly PostRequest[], mmr: ProvedLeaves): Hex {
  const requests = sortedLeaves(posts, mmr)
    .map(({ message, index }) => ({ request: postToAbi(message), index }));
  const args = [at.host, { proof: proofToAbi(at, mmr), requests }] as const;
  return encodeFunctionData({ abi, functionName: "handlePostRequests", args });
}

/** Delivers responses to get requests of this chain, in the order of the proof request. @throws {HandlerCallError} */
export function getResponsesCall(at: ProvedAt, gets: readonly GetResponse[], mmr: ProvedLeaves): Hex {
  const responses = sortedLeaves(gets, mmr)
    .map(({ message, index }) => ({ response: responseToAbi(message), index }));
  const args = [at.host, { proof: proofToAbi(at, mmr), responses }] as const;
  return encodeFunctionData({ abi, functionName: "handleGetResponses", args });
}

/** Updates the hub's light client. The proof keeps its first byte, which selects the verifier. */
export function consensusCall(host: Address, proof: Uint8Array): Hex {
  return encodeFunctionData({ abi, functionName: "handleConsensus", args: [host, toHex(proof)] });
}

/** Several calls in one transaction: executed in order, the first failure reverts all. */
export function batchCall(calls: readonly Hex[]): Hex {
  return encodeFunctionData({ abi, functionName: "batchCall", args: [calls] });
}

/**
 * Names of the handler's functions that a transaction calls, those in a batch one by one; none for calldata of anything
 * else, such as a cancellation.
 */
export function namesOfCalls(data: Hex): readonly string[] {
  const call = readOrUndefined(() => decodeFunctionData({ abi, data }));
  if (call === undefined) return [];
  return call.functionName === "batchCall" ? call.args[0].flatMap(namesOfCalls) : [call.functionName];
}
