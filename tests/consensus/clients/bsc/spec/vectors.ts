/**
 * Reads the BSC vectors into the types of the client.
 */
import { findBscNetwork } from "../../../../../src/consensus/clients/bsc/spec/extra_data.ts";
import type { BscConsensusState, BscUpdate } from "../../../../../src/consensus/clients/bsc/spec/update.ts";
import {
  type BscHubView,
  decodeBscState,
} from "../../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { type EvmBlockHeader, parseBlockHeader } from "../../../../../src/core/evm/block_header.ts";
import { toConsensusStateId } from "../../../../../src/core/ismp/state_machine.ts";
import { readVector, type VectorNode } from "../../../vector_node.ts";

const vectors: readonly VectorNode[] = readVector("bsc-headers-and-updates").list("vectors");

export function vector(name: string): VectorNode {
  const found = vectors.find((node) => node.text("name") === name);
  if (found === undefined) throw new Error(`No vector ${name}`);
  return found;
}

function networkOf(chainId: number): NonNullable<ReturnType<typeof findBscNetwork>> {
  const network = findBscNetwork(chainId);
  if (network === undefined) throw new Error(`No network ${chainId}`);
  return network;
}

export const mainnet = networkOf(56);
export const chapel = networkOf(97);

export const hub: BscHubView = {
  network: chapel,
  epochLength: 1000n,
  consensusStateId: toConsensusStateId("BSC0"),
};

export function headerOf(node: VectorNode): EvmBlockHeader {
  return parseBlockHeader(node.json);
}

export function updateOf(node: VectorNode): BscUpdate {
  return {
    sourceHeader: headerOf(node.at("source_header")),
    targetHeader: headerOf(node.at("target_header")),
    attestedHeader: headerOf(node.at("attested_header")),
    epochHeaderAncestry: node.list("epoch_header_ancestry").map(headerOf),
  };
}

/** A vector with real headers of Chapel. */
export interface RealUpdate {
  readonly node: VectorNode;
  readonly update: BscUpdate;
  readonly trusted: BscConsensusState;
}

function realUpdate(name: string): RealUpdate {
  const node = vector(name);
  const finalizedHeight = node.integer("trusted_validator_set_epoch_block");
  return {
    node,
    update: updateOf(node.at("update")),
    trusted: {
      currentValidators: node.list("signing_validator_set").map((validator) => validator.bytes("bls")),
      nextValidators: undefined,
      finalizedHeight,
      finalizedHash: `0x${"11".repeat(32)}`,
      currentEpoch: finalizedHeight / 1000n,
      chainId: 97,
    },
  };
}

export const distantTarget = realUpdate("testnet_85576000_ancestor_attestation_for_epoch_rotation_block");
export const allVoted = realUpdate("testnet_86268000_epoch_rotation_block");
export const twoThirdsVoted = realUpdate("supermajority_not_reached");
export const realUpdates: readonly RealUpdate[] = [distantTarget, allVoted, twoThirdsVoted];

const rotation = vector("synthetic_rotation");
export const states: readonly Uint8Array[] = [0, 1, 2].map((at) => rotation.bytes(`state_${at}.scale`));

export function stateAt(index: number): BscConsensusState {
  return decodeBscState(states[index] ?? new Uint8Array(0));
}

export const stagingNode = rotation.at("sync_update");
export const enactmentNode = rotation.at("enactment_update");
export const staging: BscUpdate = updateOf(stagingNode);
export const enactment: BscUpdate = updateOf(enactmentNode);
export const stagingByEpochBlock: BscUpdate = updateOf(
  rotation.at("alternative_sync_update_with_epoch_block_as_source.headers"),
);

/** Every header of the vectors. */
export const allHeaders: readonly EvmBlockHeader[] = [
  headerOf(vector("header_hash").at("header")),
  ...[...realUpdates.map(({ update }) => update), staging, enactment, stagingByEpochBlock].flatMap((
    { sourceHeader, targetHeader, attestedHeader, epochHeaderAncestry },
  ) => [sourceHeader, targetHeader, attestedHeader, ...epochHeaderAncestry]),
];
