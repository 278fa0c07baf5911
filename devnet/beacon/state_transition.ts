/**
 * What time and blocks do to a beacon state, as far as the REST routes show it: history, finality, committees, forks,
 * the payload header and withdrawals. Every epoch that has a block is taken to be attested by all validators.
 * Source: ethereum/consensus-specs: specs/{phase0,altair,capella,electra,fulu,gloas}/beacon-chain.md.
 */
import { getNodeAtDepth, type Node, setNodeAtDepth } from "@chainsafe/persistent-merkle-tree";
import { type gloas, type phase0, ssz } from "@lodestar/types";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import {
  type BeaconNetwork,
  forkAtEpoch,
} from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  fieldNode,
  fields,
  fillRange,
  gloasFields,
  leafOf,
  valueOf,
  withField,
  withValues,
} from "./state_tree.ts";
import type { CommitteeKeys } from "./validator_keys.ts";

/** Slots of which the state keeps roots, 2^13, and which are summed up together. */
export const ringSlots = 8192;
const ringDepth = 13;
const mixes = 65_536;
const mixDepth = 16;

/** What the transition needs to know about the chain. */
export interface ChainRules {
  readonly network: BeaconNetwork;
  readonly slotsPerEpoch: number;
  readonly epochsPerPeriod: number;
  readonly gloasEpoch: number;
  committee(period: number): CommitteeKeys;
}

/** The parts of a block that its state remembers. */
export interface BlockEffects {
  readonly header: phase0.BeaconBlockHeader;
  /** The payload of the block; from Gloas on the bid for it. */
  readonly execution: PayloadEffects | gloas.ExecutionPayloadBid;
}

/** The part of a payload that the state remembers before Gloas. */
export interface PayloadEffects {
  readonly latestExecutionPayloadHeader: Parameters<typeof ssz.fulu.ExecutionPayloadHeader.value_toTree>[0];
  readonly nextWithdrawalIndex: number;
  readonly nextWithdrawalValidatorIndex: number;
}

/** Slot of a state. */
export function slotOf(state: Node): number {
  return valueOf(state, "slot");
}

/**
 * The state of a block after empty slots. Their state roots in the ring are that of the block's state: only a replay
 * of the chain could tell.
 */
export function processSlots(rules: ChainRules, blockState: Node, target: number): Node {
  let slot = slotOf(blockState);
  if (target <= slot) return blockState;
  const header = valueOf(blockState, "latestBlockHeader");
  const headerNode = fields.latestBlockHeader.value_toTree({ ...header, stateRoot: blockState.root });
  const [blockLeaf, stateLeaf] = [leafOf(headerNode.root), leafOf(blockState.root)];
  let state = withField(blockState, "latestBlockHeader", headerNode);
  while (slot < target) {
    const epochEnd = (Math.floor(slot / rules.slotsPerEpoch) + 1) * rules.slotsPerEpoch;
    const next = Math.min(target, epochEnd);
    state = fillRing(state, "blockRoots", slot, next, blockLeaf);
    state = fillRing(state, "stateRoots", slot, next, stateLeaf);
    slot = next;
    if (slot === epochEnd) state = enterEpoch(rules, state, slot / rules.slotsPerEpoch, header.slot);
  }
  return withValues(state, { slot });
}

function fillRing(
  state: Node,
  name: "blockRoots" | "stateRoots",
  from: number,
  to: number,
  leaf: Node,
): Node {
  const first = from % ringSlots;
  const ring = fillRange(fieldNode(state, name), ringDepth, first, first + to - from, leaf);
  return withField(state, name, ring);
}

function enterEpoch(rules: ChainRules, before: Node, epoch: number, lastBlockSlot: number): Node {
  let state = before;
  if (lastBlockSlot >= (epoch - 1) * rules.slotsPerEpoch) state = justify(rules, state, epoch - 1);
  state = withValues(state, queuesAt(epoch));
  if (epoch * rules.slotsPerEpoch % ringSlots === 0) state = appendSummary(state);
  if (epoch % rules.epochsPerPeriod === 0) {
    state = rotateCommittees(rules, state, epoch / rules.epochsPerPeriod);
  }
  return epoch === rules.gloasEpoch ? upgradeToGloas(rules, state, epoch) : state;
}

/** Justifies an epoch that has just ended; the one before it, when that is justified too, is final. */
function justify(rules: ChainRules, state: Node, epoch: number): Node {
  const before = valueOf(state, "currentJustifiedCheckpoint");
  const root = getNodeAtDepth(
    fieldNode(state, "blockRoots"),
    ringDepth,
    epoch * rules.slotsPerEpoch % ringSlots,
  ).root;
  return withValues(state, {
    previousJustifiedCheckpoint: before,
    currentJustifiedCheckpoint: { epoch, root },
    ...before.epoch === epoch - 1 && { finalizedCheckpoint: before },
  });
}

/** Deposits and exits under way in an epoch, Gwei, which stand near the payload header: other numbers in each epoch. */
export function queuesAt(epoch: number): {
  depositBalanceToConsume: bigint;
  exitBalanceToConsume: bigint;
  earliestExitEpoch: number;
} {
  return {
    depositBalanceToConsume: BigInt(epoch % 1000) * 1_000_000_000n,
    exitBalanceToConsume: BigInt(epoch % 77) * 32_000_000_000n,
    earliestExitEpoch: epoch + 5,
  };
}

function appendSummary(state: Node): Node {
  const type = fields.historicalSummaries;
  const list = type.getViewDU(fieldNode(state, "historicalSummaries"));
  list.push(ssz.capella.HistoricalSummary.toViewDU({
    blockSummaryRoot: fieldNode(state, "blockRoots").root,
    stateSummaryRoot: fieldNode(state, "stateRoots").root,
  }));
  list.commit();
  return withField(state, "historicalSummaries", list.node);
}

function rotateCommittees(rules: ChainRules, state: Node, period: number): Node {
  const rotated = withField(state, "currentSyncCommittee", fieldNode(state, "nextSyncCommittee"));
  return withValues(rotated, { nextSyncCommittee: rules.committee(period + 1) });
}

/** The fork at an epoch with the one before it, as states hold it. */
export function forkOf(network: BeaconNetwork, epoch: number): phase0.Fork {
  const current = forkAtEpoch(network, BigInt(epoch));
  const previous = forkAtEpoch(network, current.epoch === 0n ? 0n : current.epoch - 1n);
  return {
    previousVersion: fromHex(previous.version),
    currentVersion: fromHex(current.version),
    epoch: Number(current.epoch),
  };
}

/** The Fulu state in the containers of Gloas, with some content in the fields that are new. */
export function upgradeToGloas(rules: ChainRules, state: Node, epoch: number): Node {
  const { latestExecutionPayloadHeader, ...kept } = ssz.fulu.BeaconState.getViewDU(state).toValue();
  const { blockHash, gasLimit } = latestExecutionPayloadHeader;
  const value = ssz.gloas.BeaconState.defaultValue();
  value.executionPayloadAvailability.uint8Array.fill(0xff);
  return ssz.gloas.BeaconState.value_toTree({
    ...value,
    ...kept,
    fork: forkOf(rules.network, epoch),
    latestBlockHash: blockHash,
    builders: [{
      ...ssz.gloas.Builder.defaultValue(),
      version: 3,
      balance: 64_000_000_000,
      depositEpoch: epoch,
    }],
    builderPendingWithdrawals: [{ feeRecipient: new Uint8Array(20).fill(0x55), amount: 7, builderIndex: 0 }],
    latestExecutionPayloadBid: {
      ...value.latestExecutionPayloadBid,
      blockHash,
      gasLimit: BigInt(gasLimit),
      blobKzgCommitments: [new Uint8Array(48).fill(0xc0), new Uint8Array(48).fill(0xc1)],
    },
    payloadExpectedWithdrawals: [
      { index: 9, validatorIndex: 4, address: new Uint8Array(20).fill(0x66), amount: 1_000n },
    ],
    ptcWindow: value.ptcWindow.map((_, slot) => Array.from({ length: 512 }, (_, at) => slot * 7 + at)),
  });
}

/** The state after a block; `state` must be at the block's slot. */
export function applyBlock(rules: ChainRules, state: Node, { header, execution }: BlockEffects): Node {
  const epoch = Math.floor(header.slot / rules.slotsPerEpoch);
  const isBid = "parentBlockHash" in execution;
  const mix = leafOf((isBid ? execution : execution.latestExecutionPayloadHeader).prevRandao);
  const mixed = withField(
    withValues(state, { latestBlockHeader: header }),
    "randaoMixes",
    setNodeAtDepth(fieldNode(state, "randaoMixes"), mixDepth, epoch % mixes, mix),
  );
  return isBid ? withBid(mixed, execution) : withValues(mixed, execution);
}

/** The payload of the parent has arrived by then; that of the block itself has not. */
function withBid(state: Node, bid: gloas.ExecutionPayloadBid): Node {
  const parent = gloasFields.latestBlockHash.value_toTree(bid.parentBlockHash);
  const own = gloasFields.latestExecutionPayloadBid.value_toTree(bid);
  return withField(withField(state, "latestBlockHash", parent), "latestExecutionPayloadBid", own);
}
