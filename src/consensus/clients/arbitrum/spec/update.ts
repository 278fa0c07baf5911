/**
 * Update of the hub's Arbitrum client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-arbitrum/src/lib.rs (ArbitrumUpdate), modules/ismp/clients/arbitrum/src/lib.rs
 * (ArbitrumBoldProof, ArbitrumPayloadProof).
 */
import { proofNodesCodec } from "../../../rollup/spec/l1_storage.ts";
import { consensusTypeCodec, rollupKey, rollupStateFields } from "../../../rollup/spec/rollup_client.ts";
import { concatBytes, type Hash256 } from "../../../../core/encoding/bytes.ts";
import { Enum, hash256, Struct, u256, u64, unitEnum } from "../../../../core/encoding/scale.ts";
import { evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";
import type { StateMachineId } from "../../../../core/ismp/state_machine.ts";
import { blake2Concat } from "../../../../core/ismp/storage_keys.ts";
import type { CodecType } from "scale-ts";

/** Names of {@link MachineStatus} by their number in contracts and SCALE. */
export const machineStatuses = ["Running", "Finished", "Errored"] as const;

/** Final status of the machine that executed the chain. */
export type MachineStatus = typeof machineStatuses[number];

const globalStateCodec = Struct({
  blockHash: hash256,
  sendRoot: hash256,
  inboxPosition: u64,
  positionInMessage: u64,
});

/** Position of the chain after a claim. */
export type GlobalState = Readonly<CodecType<typeof globalStateCodec>>;

const machineStatusCodec = unitEnum(machineStatuses);

const nodeProofCodec = Struct({
  /** The block that the claim ends at. */
  header: evmBlockHeaderCodec,
  globalState: globalStateCodec,
  machineStatus: machineStatusCodec,
  inboxMaxCount: u256,
  nodeNumber: u64,
  /** Slot of the node's state hash in the rollup. */
  storageProof: proofNodesCodec,
  /** Account of the rollup in the L1 state. */
  contractProof: proofNodesCodec,
});

const assertionStateCodec = Struct({
  globalState: globalStateCodec,
  machineStatus: machineStatusCodec,
  endHistoryRoot: hash256,
});

/** Final state that an assertion claims (BoLD). */
export type AssertionState = Readonly<CodecType<typeof assertionStateCodec>>;

const assertionProofCodec = Struct({
  /** The block that the claim ends at. */
  header: evmBlockHeaderCodec,
  afterState: assertionStateCodec,
  previousAssertionHash: hash256,
  /** Accumulator of the inbox after the claim. */
  sequencerBatchAcc: hash256,
  /** Slot of the assertion in the rollup. */
  storageProof: proofNodesCodec,
  /** Account of the rollup in the L1 state. */
  contractProof: proofNodesCodec,
  /** Slot of the parent assertion in the rollup. */
  challengeProof: proofNodesCodec,
});

/** SCALE of {@link ArbitrumUpdate}: the consensus proof of a message, without an envelope. */
export const arbitrumUpdateCodec = Struct({
  /** Height of the L1 in whose state the claim is proved. */
  l1Height: u64,
  proof: Enum({ ArbitrumOrbit: nodeProofCodec, ArbitrumBold: assertionProofCodec }),
});

/** A claim of a rollup with BoLD, with its proof in the L1 state. */
export type AssertionProof = Readonly<CodecType<typeof assertionProofCodec>>;

/** A claim of a rollup that predates BoLD, with its proof in the L1 state. */
export type NodeProof = Readonly<CodecType<typeof nodeProofCodec>>;

/** One step of the client: a claim, and the L1 height in whose state it is proved. */
export type ArbitrumUpdate = Readonly<CodecType<typeof arbitrumUpdateCodec>>;

/** Either kind of claim. */
export type ArbitrumProof = ArbitrumUpdate["proof"];

/** SCALE of {@link ArbitrumConsensusState}. */
export const arbitrumConsensusStateCodec = Struct({
  ...rollupStateFields,
  /**
   * Generation of the rollup contract, which decides the logs to search for. The hub accepts either kind of proof
   * regardless.
   */
  consensusType: consensusTypeCodec(["ArbitrumOrbit", "ArbitrumBold"]),
});

/** Consensus state of an Arbitrum client. */
export type ArbitrumConsensusState = Readonly<CodecType<typeof arbitrumConsensusStateCodec>>;

/**
 * Key of the rollup contract's address (SCALE `H160`). Absent: the hub accepts every update and ignores it.
 * @param id under the chain's own client, as throughout this file.
 */
export function rollupCoreKey(id: StateMachineId): Uint8Array {
  return rollupKey("IsmpArbitrum", "StateMachinesRollupCoreAddresses", id);
}

/**
 * Key that exists when fishermen blacklisted a claim. @param claim assertion hash, or for nodes their claim hash.
 */
export function blacklistedClaimKey(id: StateMachineId, claim: Hash256): Uint8Array {
  return concatBytes(
    rollupKey("Fishermen", "BlacklistedArbitrumClaims", id),
    blake2Concat(hash256.enc(claim)),
  );
}
