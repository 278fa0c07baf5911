/**
 * Hashes of claims, and their storage slots in the rollup contract. Source: OffchainLabs/nitro-contracts:
 * src/rollup/{RollupLib,AssertionState,Assertion,RollupCore}.sol, src/state/GlobalState.sol; slots as in
 * polytope-labs/hyperbridge: modules/ismp/clients/arbitrum/src/lib.rs.
 */
import { encodePacked } from "viem";
import type { Hash256, Hex } from "../../../../core/encoding/bytes.ts";
import { concatBytes, fromHex, keccak256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { mapSlot, word } from "../../../../core/evm/host_storage.ts";
import { type AssertionState, type GlobalState, type MachineStatus, machineStatuses } from "./update.ts";

/** Slots of the rollup contract's variables. */
const rollupSlots = {
  /** `RollupCore._assertions`, by assertion hash (BoLD). */
  assertions: 117n,
  /** `RollupCore._nodes`, by number (before BoLD). */
  nodes: 118n,
} as const;

function hashOf(encoded: Hex): Hash256 {
  return toHash256(keccak256(fromHex(encoded)));
}

/** Number of a status in contracts. */
function statusNumber(status: MachineStatus): number {
  return machineStatuses.indexOf(status);
}

/** Hash of the end of an assertion: Keccak-256 of six ABI words. */
export function assertionStateHash(state: AssertionState): Hash256 {
  const { globalState } = state;
  const words = [
    globalState.blockHash,
    globalState.sendRoot,
    word(globalState.inboxPosition),
    word(globalState.positionInMessage),
    word(BigInt(statusNumber(state.machineStatus))),
    state.endHistoryRoot,
  ];
  return toHash256(keccak256(concatBytes(...words.map(fromHex))));
}

/** Fields that an assertion hash commits to. */
export interface AssertionParts {
  readonly previousAssertionHash: Hash256;
  readonly afterState: AssertionState;
  /** Accumulator of the inbox after the claim. */
  readonly sequencerBatchAcc: Hash256;
}

/** Name of an assertion in the rollup and in the hub's blacklist. */
export function assertionHash(parts: AssertionParts): Hash256 {
  const { previousAssertionHash, afterState, sequencerBatchAcc } = parts;
  const words = [previousAssertionHash, assertionStateHash(afterState), sequencerBatchAcc];
  return toHash256(keccak256(concatBytes(...words.map(fromHex))));
}

/** Slot of an assertion in the rollup. */
export function assertionSlot(hash: Hash256): Hash256 {
  return mapSlot(hash, word(rollupSlots.assertions));
}

/** Children of an assertion, in its first word in the rollup: L1 blocks of their creation, 0 for none. */
export interface AssertionWord {
  readonly firstChildBlock: bigint;
  /** Set when a sibling of the first child was created: one of the two is wrong. */
  readonly secondChildBlock: bigint;
}

/** Parses the first word of an assertion. */
export function parseAssertionWord(packed: Hash256): AssertionWord {
  const value = BigInt(packed);
  return {
    firstChildBlock: BigInt.asUintN(64, value),
    secondChildBlock: BigInt.asUintN(64, value >> 64n),
  };
}

/** Hash of a global state before BoLD. */
export function globalStateHash(state: GlobalState): Hash256 {
  return hashOf(encodePacked(
    ["string", "bytes32", "bytes32", "uint64", "uint64"],
    ["Global state:", state.blockHash, state.sendRoot, state.inboxPosition, state.positionInMessage],
  ));
}

/** Claim of a node (before BoLD). */
export interface NodeClaim {
  readonly globalState: GlobalState;
  readonly machineStatus: MachineStatus;
  readonly inboxMaxCount: bigint;
}

/** State hash of a node, as the rollup stores it. */
export function nodeStateHash(claim: NodeClaim): Hash256 {
  return hashOf(encodePacked(
    ["bytes32", "uint256", "uint8"],
    [globalStateHash(claim.globalState), claim.inboxMaxCount, statusNumber(claim.machineStatus)],
  ));
}

/** Name of a node in the hub's blacklist. */
export function nodeClaimHash(claim: NodeClaim & { readonly nodeNumber: bigint }): Hash256 {
  return hashOf(encodePacked(["bytes32", "uint64"], [nodeStateHash(claim), claim.nodeNumber]));
}

/** Slot of a node's state hash in the rollup: the first of the node's words. */
export function nodeSlot(nodeNumber: bigint): Hash256 {
  return mapSlot(word(nodeNumber), word(rollupSlots.nodes));
}
