/**
 * Consensus state of BSC on the hub, with its SCALE form, and the client's initial state. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/bsc/src/lib.rs (ConsensusState),
 * modules/consensus/bsc/verifier/src/lib.rs (NextValidators), tesseract/consensus/bsc/src/host.rs (initial state).
 */
import { enhanceCodec } from "scale-ts";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../core/evm/block_header.ts";
import {
  bytes,
  type Codec,
  hash256,
  list,
  Option,
  ScaleError,
  Struct,
  u32,
  u64,
} from "../../../../core/encoding/scale.ts";
import { BscError } from "./bsc_error.ts";
import { type BscNetwork, epochOfBlock } from "./bsc_network.ts";
import { ExtraDataError, parseExtraData } from "./extra_data.ts";
import { storagePrefix } from "../../../../core/ismp/storage_keys.ts";

/** Vote keys of a set, compressed points of 48 bytes, by ascending address of their validators. */
export type VoteKeys = readonly Uint8Array[];

/** A set that the client knows and whose votes it does not accept yet. */
export interface StagedValidators {
  readonly validators: VoteKeys;
  /** First attested block that enacts the set; only blocks of the same epoch do. */
  readonly rotationBlock: bigint;
}

/** Consensus state of a BSC client. */
export interface BscConsensusState {
  readonly currentValidators: VoteKeys;
  readonly nextValidators: StagedValidators | undefined;
  readonly finalizedHeight: bigint;
  readonly finalizedHash: Hash256;
  /** Epoch whose first block announced the current validators. */
  readonly currentEpoch: bigint;
  /** Commitments are stored for `EVM-<chainId>`. */
  readonly chainId: number;
}

/** Seconds for which a BSC client may go without an update (67.5 days). */
export const BSC_UNBONDING_SEC = 5_832_000n;

/** Seconds for which commitments may be challenged. */
export const BSC_CHALLENGE_SEC = 300n;

function checkedKey(key: Uint8Array): Uint8Array {
  if (key.length !== 48) throw new ScaleError("invalid", "ByteVector<48>");
  return key;
}

const voteKeys: Codec<VoteKeys> = list(enhanceCodec(bytes, checkedKey, checkedKey));

/** SCALE of {@link BscConsensusState}: 55 bytes and 49 for each key. */
export const bscConsensusStateCodec: Codec<BscConsensusState> = Struct({
  currentValidators: voteKeys,
  nextValidators: Option(Struct({ validators: voteKeys, rotationBlock: u64 })),
  finalizedHeight: u64,
  finalizedHash: hash256,
  currentEpoch: u64,
  chainId: u32,
});

/**
 * Reads the vote keys that the first header of an epoch announces. @throws {BscError} `epoch_extra_data`,
 * `validators_missing`
 */
export function announcedVoteKeys(network: BscNetwork, header: EvmBlockHeader): VoteKeys {
  const validators = readEpochExtraData(network, header).announcement?.validators ?? [];
  if (validators.length === 0) throw new BscError("validators_missing");
  return validators.map(({ voteKey }) => voteKey);
}

function readEpochExtraData(network: BscNetwork, header: EvmBlockHeader): ReturnType<typeof parseExtraData> {
  try {
    return parseExtraData(network, header);
  } catch (cause) {
    if (cause instanceof ExtraDataError) throw new BscError("epoch_extra_data", { cause });
    throw cause;
  }
}

/**
 * Initial state that trusts the first header of the newest epoch. When the set changed in this epoch it is right only
 * from the chain's own rotation on (`firstBlockOfNewSet`): create it late in an epoch. @throws {BscError}
 * `epoch_extra_data`, `validators_missing`
 */
export function initialBscState(
  network: BscNetwork,
  epochHeader: EvmBlockHeader,
  epochLength: bigint,
): BscConsensusState {
  return {
    currentValidators: announcedVoteKeys(network, epochHeader),
    nextValidators: undefined,
    finalizedHeight: epochHeader.number,
    finalizedHash: hashBlockHeader(epochHeader),
    currentEpoch: epochOfBlock(epochHeader.number, epochLength),
    chainId: network.chainId,
  };
}

/**
 * Key of the number of blocks of an epoch on the hub. Absent: the hub refuses every update. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/bsc/src/pallet.rs.
 */
export function epochLengthKey(): Uint8Array {
  return storagePrefix("IsmpBsc", "EpochLength");
}

/** SCALE of the value of {@link epochLengthKey}. */
export const epochLengthCodec: Codec<bigint> = u64;
