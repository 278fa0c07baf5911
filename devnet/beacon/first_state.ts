/** The state from which the simulated beacon chain starts: as if it had run for years, with made up history. */
import type { Node } from "@chainsafe/persistent-merkle-tree";
import { sha256 } from "@noble/hashes/sha2.js";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { type ChainRules, forkOf, queuesAt, upgradeToGloas } from "./state_transition.ts";
import { evenVector, fields, stateOfFields, treesOf, zeroVector } from "./state_tree.ts";

/** Sepolia's genesis (eth-clients/sepolia: metadata/genesis.ssz). The slots of the simulated chain are not in step. */
export const genesisTimeSec = 1_655_733_600;

const gweiOfValidator = 32_000_000_000;
const farFuture = Infinity;

/** Bytes that differ for every name and number. */
function madeUp(name: string, number: number): Uint8Array {
  return sha256(new TextEncoder().encode(`${name} ${number}`));
}

/** A block root that stands for all blocks before the first one, which the node never serves. */
const olderBlock = madeUp("block", 0);

/** @param slot of the first block, which has still to be applied; the first of an epoch. */
export function firstState(rules: ChainRules, slot: number, publicKeys: readonly Uint8Array[]): Node {
  const epoch = slot / rules.slotsPerEpoch;
  const period = Math.floor(epoch / rules.epochsPerPeriod);
  const justificationBits = fields.justificationBits.defaultValue();
  justificationBits.set(0, true);
  justificationBits.set(1, true);
  const flags = publicKeys.map(() => 7);
  const nodes = {
    ...treesOf({
      genesisTime: genesisTimeSec,
      genesisValidatorsRoot: fromHex(rules.network.genesisValidatorsRoot),
      slot,
      fork: forkOf(rules.network, epoch),
      latestBlockHeader: fields.latestBlockHeader.defaultValue(),
      historicalRoots: [0, 1, 2].map((at) => madeUp("root", at)),
      eth1Data: {
        depositRoot: madeUp("deposits", 0),
        depositCount: 1000n,
        blockHash: madeUp("eth1", 0),
      },
      eth1DataVotes: [],
      eth1DepositIndex: 1000,
      validators: publicKeys.map((pubkey, index) => ({
        pubkey,
        withdrawalCredentials: madeUp("credentials", index),
        effectiveBalance: gweiOfValidator,
        slashed: false,
        activationEligibilityEpoch: 0,
        activationEpoch: 0,
        exitEpoch: farFuture,
        withdrawableEpoch: farFuture,
      })),
      balances: publicKeys.map((_, index) => gweiOfValidator + index),
      previousEpochParticipation: flags,
      currentEpochParticipation: flags,
      inactivityScores: publicKeys.map(() => 0),
      justificationBits,
      previousJustifiedCheckpoint: { epoch: epoch - 2, root: olderBlock },
      currentJustifiedCheckpoint: { epoch: epoch - 1, root: olderBlock },
      finalizedCheckpoint: { epoch: epoch - 2, root: olderBlock },
      currentSyncCommittee: rules.committee(period),
      nextSyncCommittee: rules.committee(period + 1),
      latestExecutionPayloadHeader: fields.latestExecutionPayloadHeader.defaultValue(),
      nextWithdrawalIndex: 1_234_567,
      nextWithdrawalValidatorIndex: 321,
      historicalSummaries: summaries(rules, epoch),
      depositRequestsStartIndex: 2n ** 64n - 1n,
      ...queuesAt(epoch),
      consolidationBalanceToConsume: 64_000_000_000n,
      earliestConsolidationEpoch: epoch + 6,
      pendingDeposits: [],
      pendingPartialWithdrawals: [
        { validatorIndex: 7, amount: 1_000_000_000n, withdrawableEpoch: epoch + 300 },
      ],
      pendingConsolidations: [],
      proposerLookahead: Array.from({ length: 64 }, (_, at) => (epoch + at) % 512),
    }),
    blockRoots: evenVector(olderBlock, 13),
    stateRoots: evenVector(madeUp("state", 0), 13),
    randaoMixes: evenVector(madeUp("mix", 0), 16),
    slashings: zeroVector(11),
  };
  const state = stateOfFields(nodes);
  return rules.gloasEpoch >= 0 && epoch >= rules.gloasEpoch ? upgradeToGloas(rules, state, epoch) : state;
}

/** One for each period since Capella. */
function summaries(
  rules: ChainRules,
  epoch: number,
): { readonly blockSummaryRoot: Uint8Array; readonly stateSummaryRoot: Uint8Array }[] {
  const capella = rules.network.forks.find((fork) => fork.name === "capella");
  const count = Math.floor((epoch - Number(capella?.epoch ?? 0n)) / rules.epochsPerPeriod);
  return Array.from({ length: count }, (_, at) => ({
    blockSummaryRoot: madeUp("blocks", at),
    stateSummaryRoot: madeUp("states", at),
  }));
}
