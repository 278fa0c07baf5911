/**
 * Claims about an Arbitrum chain on the L1: logs of its rollup contract. Source: OffchainLabs/nitro-contracts:
 * src/rollup/IRollupCore.sol of both generations.
 */
import { parseAbiParameters } from "viem";
import { type Hash256, type Hex, toHash256 } from "../../../../core/encoding/bytes.ts";
import type { Address } from "../../../../core/evm/address.ts";
import type { RawLog } from "../../../../core/evm/host_events.ts";
import { readEvent, RollupDataError } from "../../../rollup/spec/rollup_client.ts";
import type { AssertionParts, NodeClaim } from "./claim_hashes.ts";
import { type AssertionState, type GlobalState, type MachineStatus, machineStatuses } from "./update.ts";

/** topic0 of `AssertionCreated` (BoLD). */
export const ASSERTION_CREATED: Hex = "0x901c3aee23cf4478825462caaab375c606ab83516060388344f0650340753630";

/** topic0 of `NodeCreated` (before BoLD). */
export const NODE_CREATED: Hex = "0x4f4caa9e67fb994e349dd35d1ad0ce23053d4323f83ce11dc817b5435031d096";

/** An assertion made by a staked validator. Its fields hash to its name if the node is honest. */
export interface AssertionCreated extends AssertionParts {
  readonly assertionHash: Hash256;
}

/** A rollup node made by a staked validator. */
export interface NodeCreated extends NodeClaim {
  readonly nodeNumber: bigint;
}

const structs = [
  "struct GlobalState { bytes32[2] bytes32Vals; uint64[2] u64Vals; }",
  "struct AssertionState { GlobalState globalState; uint8 machineStatus; bytes32 endHistoryRoot; }",
  "struct ConfigData { bytes32 wasmModuleRoot; uint256 requiredStake; address challengeManager; uint64 confirmPeriodBlocks; uint64 nextInboxPosition; }",
  "struct BeforeStateData { bytes32 prevPrevAssertionHash; bytes32 sequencerBatchAcc; ConfigData configData; }",
  "struct AssertionInputs { BeforeStateData beforeStateData; AssertionState beforeState; AssertionState afterState; }",
  "struct ExecutionState { GlobalState globalState; uint8 machineStatus; }",
  "struct NodeAssertion { ExecutionState beforeState; ExecutionState afterState; uint64 numBlocks; }",
] as const;

const assertionCreated = {
  topic0: ASSERTION_CREATED,
  parameters: parseAbiParameters([
    "bytes32 assertionHash, bytes32 parentAssertionHash, AssertionInputs assertion, bytes32 afterInboxBatchAcc, uint256 inboxMaxCount, bytes32 wasmModuleRoot, uint256 requiredStake, address challengeManager, uint64 confirmPeriodBlocks",
    ...structs,
  ]),
  indexedCount: 2,
} as const;

const nodeCreated = {
  topic0: NODE_CREATED,
  parameters: parseAbiParameters([
    "uint64 nodeNum, bytes32 parentNodeHash, bytes32 nodeHash, bytes32 executionHash, NodeAssertion assertion, bytes32 afterInboxBatchAcc, bytes32 wasmModuleRoot, uint256 inboxMaxCount",
    ...structs,
  ]),
  indexedCount: 3,
} as const;

/**
 * Decodes a log of a rollup with BoLD; undefined for other logs. @throws {RollupDataError} `malformed_event`
 */
export function decodeAssertionCreated(log: RawLog, rollupCore: Address): AssertionCreated | undefined {
  const values = readEvent(log, rollupCore, assertionCreated);
  if (values === undefined) return undefined;
  const [name, parent, assertion, sequencerBatchAcc] = values;
  return {
    assertionHash: toHash256(name),
    previousAssertionHash: toHash256(parent),
    afterState: assertionStateOf(assertion.afterState),
    sequencerBatchAcc: toHash256(sequencerBatchAcc),
  };
}

/**
 * Decodes a log of a rollup that predates BoLD; undefined for other logs. @throws {RollupDataError} `malformed_event`
 */
export function decodeNodeCreated(log: RawLog, rollupCore: Address): NodeCreated | undefined {
  const values = readEvent(log, rollupCore, nodeCreated);
  if (values === undefined) return undefined;
  const [nodeNumber, _parent, _hash, _executionHash, assertion, _acc, _wasm, inboxMaxCount] = values;
  return {
    nodeNumber,
    globalState: globalStateOf(assertion.afterState.globalState),
    machineStatus: machineStatusOf(assertion.afterState.machineStatus),
    inboxMaxCount,
  };
}

interface AbiGlobalState {
  readonly bytes32Vals: readonly [Hex, Hex];
  readonly u64Vals: readonly [bigint, bigint];
}

function globalStateOf({ bytes32Vals, u64Vals }: AbiGlobalState): GlobalState {
  return {
    blockHash: toHash256(bytes32Vals[0]),
    sendRoot: toHash256(bytes32Vals[1]),
    inboxPosition: u64Vals[0],
    positionInMessage: u64Vals[1],
  };
}

function machineStatusOf(number: number): MachineStatus {
  const status = machineStatuses[number];
  if (status === undefined) throw new RollupDataError("malformed_event");
  return status;
}

function assertionStateOf(
  state: {
    readonly globalState: AbiGlobalState;
    readonly machineStatus: number;
    readonly endHistoryRoot: Hex;
  },
): AssertionState {
  return {
    globalState: globalStateOf(state.globalState),
    machineStatus: machineStatusOf(state.machineStatus),
    endHistoryRoot: toHash256(state.endHistoryRoot),
  };
}
