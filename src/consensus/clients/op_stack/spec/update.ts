/**
 * Update of the hub's OP stack client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-optimism/src/lib.rs (OptimismUpdate), modules/ismp/clients/optimism/src/lib.rs
 * (OptimismDisputeGameProof, OptimismPayloadProof).
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type Address, addressCodec } from "../../../../core/evm/address.ts";
import { type EvmBlockHeader, evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";
import { bytes, type Codec, Enum, hash256, Struct, u32, u64 } from "../../../../core/encoding/scale.ts";
import { type ProofNodes, proofNodesCodec } from "../../../rollup/spec/l1_storage.ts";

/** A claim made by a dispute game, with its proof in the L1 state. */
export interface DisputeGameProof {
  /** The block that the claim is about. */
  readonly header: EvmBlockHeader;
  /** Storage root of the chain's message passer at that block. */
  readonly withdrawalStorageRoot: Hash256;
  /** Of output roots; zero. */
  readonly version: Hash256;
  /** Account of the factory in the L1 state. */
  readonly disputeFactoryProof: ProofNodes;
  /** Slot of the game in the factory. */
  readonly disputeGameProof: ProofNodes;
  /** Slot of the implementation in the factory. */
  readonly gameImplProof: ProofNodes;
  /** Account of the challenge word in the L1 state: the game, or the registry that blacklists games. */
  readonly proxyAccountProof: ProofNodes;
  /** Slot of the challenge word; like its account empty for kinds without challenges. */
  readonly challengeProof: ProofNodes;
  /** The game. */
  readonly proxy: Address;
  /** Extra data of the game: the block number as one word and more, or a super root. */
  readonly extraData: Uint8Array;
  readonly gameType: number;
  /** L1 time of the creation in Unix seconds. */
  readonly timestampSec: bigint;
}

/** An output root of the `L2OutputOracle` of chains without dispute games, with its proof in the L1 state. */
export interface OutputOracleProof {
  readonly stateRoot: Hash256;
  readonly withdrawalStorageRoot: Hash256;
  readonly l2BlockHash: Hash256;
  /** Of output roots; zero. */
  readonly version: Hash256;
  /** Account of the oracle in the L1 state. */
  readonly l2OracleProof: ProofNodes;
  /** Slot of the output root. */
  readonly outputRootProof: ProofNodes;
  /** Slot of time and block number. */
  readonly multiProof: ProofNodes;
  readonly outputRootIndex: bigint;
  readonly blockNumber: bigint;
  /** Unix time in seconds of the output on the L1: the hub uses it as that of the block. */
  readonly timestampSec: bigint;
}

/** Either kind of claim. */
export type OpStackProof =
  | { readonly tag: "OpL2Oracle"; readonly value: OutputOracleProof }
  | { readonly tag: "OpFaultProofGames"; readonly value: DisputeGameProof };

/** One step of the client: a claim, and the L1 height in whose state it is proved. */
export interface OpStackUpdate {
  readonly l1Height: bigint;
  readonly proof: OpStackProof;
}

const outputOracleProofCodec: Codec<OutputOracleProof> = Struct({
  stateRoot: hash256,
  withdrawalStorageRoot: hash256,
  l2BlockHash: hash256,
  version: hash256,
  l2OracleProof: proofNodesCodec,
  outputRootProof: proofNodesCodec,
  multiProof: proofNodesCodec,
  outputRootIndex: u64,
  blockNumber: u64,
  timestampSec: u64,
});

const disputeGameProofCodec: Codec<DisputeGameProof> = Struct({
  header: evmBlockHeaderCodec,
  withdrawalStorageRoot: hash256,
  version: hash256,
  disputeFactoryProof: proofNodesCodec,
  disputeGameProof: proofNodesCodec,
  gameImplProof: proofNodesCodec,
  proxyAccountProof: proofNodesCodec,
  challengeProof: proofNodesCodec,
  proxy: addressCodec,
  extraData: bytes,
  gameType: u32,
  timestampSec: u64,
});

/** SCALE of {@link OpStackUpdate} (`OptimismUpdate`): the consensus proof of a message, without an envelope. */
export const opStackUpdateCodec: Codec<OpStackUpdate> = Struct({
  l1Height: u64,
  proof: Enum({ OpL2Oracle: outputOracleProofCodec, OpFaultProofGames: disputeGameProofCodec }),
});
