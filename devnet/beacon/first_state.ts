/** The state from which the simulated beacon chain starts: as if it had run for years, with made up history. */
import type { Node } from "@chainsafe/persistent-merkle-tree";
import { sha256 } from "@noble/hashes/sha2.js";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { type ChainRules, forkOf, lookaheadAt, queuesAt, upgradeToGloas } from "./state_transition.ts";
import { type BeaconStateField, evenVector, fields, stateOfFields, zeroVector } from "./state_tree.ts";

/** Sepolia's genesis (eth-clients/sepolia: metadata/genesis.ssz). The slots of the simulated chain are not in step. */
export const genesisTimeSec = 1_655_733_600;

const gweiOfValidator = 32_000_000_000;
const farFuture = Infinity;

/** Bytes that differ for every name and number. */
function madeUp(name: string, number: number): Uint8Array {
  return sha256(new TextEncoder().encode(`${name} ${number}`));
}

/** A block root that stands for all blocks before the first one. */
const olderBlock = madeUp("block", 0);

/** @param slot of the first block, which has still to be applied; the first of an epoch. */
export function firstState(rules: ChainRules, slot: number, publicKeys: readonly Uint8Array[]): Node {
  const epoch = slot / rules.slotsPerEpoch;
  const nodes: Record<BeaconStateField, Node> = {
    ...identityFields(rules, slot),
    ...validatorFields(publicKeys),
    ...finalityFields(epoch),
    ...committeeFields(rules, Math.floor(epoch / rules.epochsPerPeriod)),
    ...withdrawalFields(),
    ...queueFields(epoch),
    historicalSummaries: summaries(rules, epoch),
    proposerLookahead: fields.proposerLookahead.value_toTree(lookaheadAt(epoch)),
  };
  const state = stateOfFields(nodes, epoch < rules.fuluEpoch ? 37 : 38);
  return rules.gloasEpoch >= 0 && epoch >= rules.gloasEpoch ? upgradeToGloas(rules, state, epoch) : state;
}

function identityFields(rules: ChainRules, slot: number): Pick<
  Record<BeaconStateField, Node>,
  | "genesisTime"
  | "genesisValidatorsRoot"
  | "slot"
  | "fork"
  | "latestBlockHeader"
  | "blockRoots"
  | "stateRoots"
  | "historicalRoots"
  | "eth1Data"
  | "eth1DataVotes"
  | "eth1DepositIndex"
  | "randaoMixes"
> {
  return {
    genesisTime: fields.genesisTime.value_toTree(genesisTimeSec),
    genesisValidatorsRoot: fields.genesisValidatorsRoot.value_toTree(
      fromHex(rules.network.genesisValidatorsRoot),
    ),
    slot: fields.slot.value_toTree(slot),
    fork: fields.fork.value_toTree(forkOf(rules.network, slot / rules.slotsPerEpoch)),
    latestBlockHeader: fields.latestBlockHeader.value_toTree(fields.latestBlockHeader.defaultValue()),
    blockRoots: evenVector(olderBlock, 13),
    stateRoots: evenVector(madeUp("state", 0), 13),
    historicalRoots: fields.historicalRoots.value_toTree([0, 1, 2].map((at) => madeUp("root", at))),
    eth1Data: fields.eth1Data.value_toTree({
      depositRoot: madeUp("deposits", 0),
      depositCount: 1000n,
      blockHash: madeUp("eth1", 0),
    }),
    eth1DataVotes: fields.eth1DataVotes.value_toTree([]),
    eth1DepositIndex: fields.eth1DepositIndex.value_toTree(1000),
    randaoMixes: evenVector(madeUp("mix", 0), 16),
  };
}

function validatorFields(publicKeys: readonly Uint8Array[]): Pick<
  Record<BeaconStateField, Node>,
  | "validators"
  | "balances"
  | "slashings"
  | "previousEpochParticipation"
  | "currentEpochParticipation"
  | "inactivityScores"
> {
  const flags = publicKeys.map(() => 7);
  return {
    validators: fields.validators.value_toTree(publicKeys.map((pubkey, index) => ({
      pubkey,
      withdrawalCredentials: madeUp("credentials", index),
      effectiveBalance: gweiOfValidator,
      slashed: false,
      activationEligibilityEpoch: 0,
      activationEpoch: 0,
      exitEpoch: farFuture,
      withdrawableEpoch: farFuture,
    }))),
    balances: fields.balances.value_toTree(publicKeys.map((_, index) => gweiOfValidator + index)),
    slashings: zeroVector(11),
    previousEpochParticipation: fields.previousEpochParticipation.value_toTree(flags),
    currentEpochParticipation: fields.currentEpochParticipation.value_toTree(flags),
    inactivityScores: fields.inactivityScores.value_toTree(publicKeys.map(() => 0)),
  };
}

/** The epoch before is justified by a block of before the first one, which the node never serves. */
function finalityFields(epoch: number): Pick<
  Record<BeaconStateField, Node>,
  "justificationBits" | "previousJustifiedCheckpoint" | "currentJustifiedCheckpoint" | "finalizedCheckpoint"
> {
  const bits = fields.justificationBits.defaultValue();
  bits.set(0, true);
  bits.set(1, true);
  const checkpoint = (behind: number): Node =>
    fields.finalizedCheckpoint.value_toTree({ epoch: epoch - behind, root: olderBlock });
  return {
    justificationBits: fields.justificationBits.value_toTree(bits),
    previousJustifiedCheckpoint: checkpoint(2),
    currentJustifiedCheckpoint: checkpoint(1),
    finalizedCheckpoint: checkpoint(2),
  };
}

function committeeFields(
  rules: ChainRules,
  period: number,
): Pick<Record<BeaconStateField, Node>, "currentSyncCommittee" | "nextSyncCommittee"> {
  return {
    currentSyncCommittee: fields.currentSyncCommittee.value_toTree(rules.committee(period)),
    nextSyncCommittee: fields.nextSyncCommittee.value_toTree(rules.committee(period + 1)),
  };
}

function withdrawalFields(): Pick<
  Record<BeaconStateField, Node>,
  "latestExecutionPayloadHeader" | "nextWithdrawalIndex" | "nextWithdrawalValidatorIndex"
> {
  const payload = fields.latestExecutionPayloadHeader;
  return {
    latestExecutionPayloadHeader: payload.value_toTree(payload.defaultValue()),
    nextWithdrawalIndex: fields.nextWithdrawalIndex.value_toTree(1_234_567),
    nextWithdrawalValidatorIndex: fields.nextWithdrawalValidatorIndex.value_toTree(321),
  };
}

function queueFields(epoch: number): Pick<
  Record<BeaconStateField, Node>,
  | "depositRequestsStartIndex"
  | "depositBalanceToConsume"
  | "exitBalanceToConsume"
  | "earliestExitEpoch"
  | "consolidationBalanceToConsume"
  | "earliestConsolidationEpoch"
  | "pendingDeposits"
  | "pendingPartialWithdrawals"
  | "pendingConsolidations"
> {
  const amounts = queuesAt(epoch);
  return {
    depositRequestsStartIndex: fields.depositRequestsStartIndex.value_toTree(2n ** 64n - 1n),
    depositBalanceToConsume: fields.depositBalanceToConsume.value_toTree(amounts.depositBalanceToConsume),
    exitBalanceToConsume: fields.exitBalanceToConsume.value_toTree(amounts.exitBalanceToConsume),
    earliestExitEpoch: fields.earliestExitEpoch.value_toTree(amounts.earliestExitEpoch),
    consolidationBalanceToConsume: fields.consolidationBalanceToConsume.value_toTree(64_000_000_000n),
    earliestConsolidationEpoch: fields.earliestConsolidationEpoch.value_toTree(epoch + 6),
    pendingDeposits: fields.pendingDeposits.value_toTree([]),
    pendingPartialWithdrawals: fields.pendingPartialWithdrawals.value_toTree([
      { validatorIndex: 7, amount: 1_000_000_000n, withdrawableEpoch: epoch + 300 },
    ]),
    pendingConsolidations: fields.pendingConsolidations.value_toTree([]),
  };
}

/** One for each period since Capella. */
function summaries(rules: ChainRules, epoch: number): Node {
  const capella = rules.network.forks.find((fork) => fork.name === "capella");
  const count = Math.floor((epoch - Number(capella?.epoch ?? 0n)) / rules.epochsPerPeriod);
  return fields.historicalSummaries.value_toTree(
    Array.from({ length: count }, (_, at) => ({
      blockSummaryRoot: madeUp("blocks", at),
      stateSummaryRoot: madeUp("states", at),
    })),
  );
}
