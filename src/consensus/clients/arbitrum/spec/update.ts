/**
 * Update of the hub's Arbitrum client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-arbitrum/src/lib.rs (ArbitrumUpdate), modules/ismp/clients/arbitrum/src/lib.rs
 * (ArbitrumBoldProof, ArbitrumPayloadProof).
 */
import { type ProofNodes, proofNodesCodec } from "../../../rollup/spec/l1_storage.ts";
import { consensusTypeCodec, type RollupClientState, rollupKey } from "../../../rollup/spec/rollup_client.ts";
import { concatBytes, type Hash256 } from "../../../../core/encoding/bytes.ts";
import { type Codec, Enum, hash256, Struct, u256, u64, unitEnum } from "../../../../core/encoding/scale.ts";
import { type EvmBlockHeader, evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";
import { type StateMachineId, stateMachineIdCodec } from "../../../../core/ismp/state_machine.ts";
import { blake2Concat } from "../../../../core/ismp/storage_keys.ts";

/** Position of the chain after a claim. */
export interface GlobalState {
  readonly blockHash: Hash256;
  readonly sendRoot: Hash256;
  readonly inboxPosition: bigint;
  readonly positionInMessage: bigint;
}

/** Names of {@link MachineStatus} by their number in contracts and SCALE. */
export const machineStatuses = ["Running", "Finished", "Errored"] as const;

/** Final status of the machine that executed the chain. */
export type MachineStatus = typeof machineStatuses[number];

/** Final state that an assertion claims (BoLD). */
export interface AssertionState {
  readonly globalState: GlobalState;
  readonly machineStatus: MachineStatus;
  readonly endHistoryRoot: Hash256;
}

/** A claim of a rollup with BoLD, with its proof in the L1 state. */
export interface AssertionProof {
  /** The block that the claim ends at. */
  readonly header: EvmBlockHeader;
  readonly afterState: AssertionState;
  readonly previousAssertionHash: Hash256;
  /** Accumulator of the inbox after the claim. */
  readonly sequencerBatchAcc: Hash256;
  /** Slot of the assertion in the rollup. */
  readonly storageProof: ProofNodes;
  /** Account of the rollup in the L1 state. */
  readonly contractProof: ProofNodes;
  /** Slot of the parent assertion in the rollup. */
  readonly challengeProof: ProofNodes;
}

/** A claim of a rollup that predates BoLD, with its proof in the L1 state. */
export interface NodeProof {
  /** The block that the claim ends at. */
  readonly header: EvmBlockHeader;
  readonly globalState: GlobalState;
  readonly machineStatus: MachineStatus;
  readonly inboxMaxCount: bigint;
  readonly nodeNumber: bigint;
  /** Slot of the node's state hash in the rollup. */
  readonly storageProof: ProofNodes;
  /** Account of the rollup in the L1 state. */
  readonly contractProof: ProofNodes;
}

/** Either kind of claim. */
export type ArbitrumProof =
  | { readonly tag: "ArbitrumOrbit"; readonly value: NodeProof }
  | { readonly tag: "ArbitrumBold"; readonly value: AssertionProof };

/** One step of the client: a claim, and the L1 height in whose state it is proved. */
export interface ArbitrumUpdate {
  readonly l1Height: bigint;
  readonly proof: ArbitrumProof;
}

const globalStateCodec: Codec<GlobalState> = Struct({
  blockHash: hash256,
  sendRoot: hash256,
  inboxPosition: u64,
  positionInMessage: u64,
});

const machineStatusCodec = unitEnum(machineStatuses);

const nodeProofCodec: Codec<NodeProof> = Struct({
  header: evmBlockHeaderCodec,
  globalState: globalStateCodec,
  machineStatus: machineStatusCodec,
  inboxMaxCount: u256,
  nodeNumber: u64,
  storageProof: proofNodesCodec,
  contractProof: proofNodesCodec,
});

const assertionProofCodec: Codec<AssertionProof> = Struct({
  header: evmBlockHeaderCodec,
  afterState: Struct({
    globalState: globalStateCodec,
    machineStatus: machineStatusCodec,
    endHistoryRoot: hash256,
  }),
  previousAssertionHash: hash256,
  sequencerBatchAcc: hash256,
  storageProof: proofNodesCodec,
  contractProof: proofNodesCodec,
  challengeProof: proofNodesCodec,
});

/** SCALE of {@link ArbitrumUpdate}: the consensus proof of a message, without an envelope. */
export const arbitrumUpdateCodec: Codec<ArbitrumUpdate> = Struct({
  l1Height: u64,
  proof: Enum({ ArbitrumOrbit: nodeProofCodec, ArbitrumBold: assertionProofCodec }),
});

/** Consensus state of an Arbitrum client. */
export interface ArbitrumConsensusState extends RollupClientState {
  /**
   * Generation of the rollup contract, which decides the logs to search for. The hub accepts either kind of proof
   * regardless.
   */
  readonly consensusType: "ArbitrumOrbit" | "ArbitrumBold" | "unknown";
}

/** SCALE of {@link ArbitrumConsensusState}. */
export const arbitrumConsensusStateCodec: Codec<ArbitrumConsensusState> = Struct({
  finalizedHeight: u64,
  stateMachineId: stateMachineIdCodec,
  l1StateMachineId: stateMachineIdCodec,
  consensusType: consensusTypeCodec(["ArbitrumOrbit", "ArbitrumBold"]),
});

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
