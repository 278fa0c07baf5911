/**
 * Update of the hub's BSC client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/consensus/bsc/verifier/src/primitives.rs (BscClientUpdate).
 */
import { mapError } from "../../../spec/client_error.ts";
import { BscError, type BscNetwork, epochOfBlock, ExtraDataError, parseExtraData } from "./extra_data.ts";
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
import {
  type EvmBlockHeader,
  evmBlockHeaderCodec,
  hashBlockHeader,
} from "../../../../core/evm/block_header.ts";
import { storagePrefix } from "../../../../core/ismp/storage_keys.ts";
import { type CodecType, enhanceCodec } from "scale-ts";

/** Maximum number of headers of an ancestry; the hub's limit. */
export const MAX_ANCESTRY = 1000;

function bounded(headers: readonly EvmBlockHeader[]): readonly EvmBlockHeader[] {
  if (headers.length > MAX_ANCESTRY) throw new ScaleError("invalid", `BoundedVec<${MAX_ANCESTRY}>`);
  return headers;
}

/** SCALE of {@link BscUpdate}: about 1 KB per header. */
export const bscUpdateCodec = Struct({
  /** Header that becomes final: the hub stores its state. */
  sourceHeader: evmBlockHeaderCodec,
  /** Child of the source. */
  targetHeader: evmBlockHeaderCodec,
  /** Header that carries the votes for source and target; the rest of it is ignored. */
  attestedHeader: evmBlockHeaderCodec,
  /**
   * From the first block of the source's epoch up to the source's parent, to prove the validators announced there;
   * empty when the source is that block or no set is due.
   */
  epochHeaderAncestry: enhanceCodec(list(evmBlockHeaderCodec), bounded, bounded),
});

/** One step of the light client. */
export type BscUpdate = Readonly<CodecType<typeof bscUpdateCodec>>;

/** Vote keys of a set, compressed points of 48 bytes, by ascending address of their validators. */
export type VoteKeys = readonly Uint8Array[];

function checkedKey(key: Uint8Array): Uint8Array {
  if (key.length !== 48) throw new ScaleError("invalid", "ByteVector<48>");
  return key;
}

const voteKeys: Codec<VoteKeys> = list(enhanceCodec(bytes, checkedKey, checkedKey));

const stagedCodec = Struct({
  validators: voteKeys,
  /** First attested block that enacts the set; only blocks of the same epoch do. */
  rotationBlock: u64,
});

/** A set that the client knows and whose votes it does not accept yet. */
export type StagedValidators = Readonly<CodecType<typeof stagedCodec>>;

/** SCALE of {@link BscConsensusState}: 55 bytes and 49 for each key. */
export const bscConsensusStateCodec = Struct({
  currentValidators: voteKeys,
  nextValidators: Option(stagedCodec),
  finalizedHeight: u64,
  finalizedHash: hash256,
  /** Epoch whose first block announced the current validators. */
  currentEpoch: u64,
  /** Commitments are stored for `EVM-<chainId>`. */
  chainId: u32,
});

/** Consensus state of a BSC client. */
export type BscConsensusState = Readonly<CodecType<typeof bscConsensusStateCodec>>;

/**
 * Reads the vote keys that the first header of an epoch announces. @throws {BscError} `epoch_extra_data`,
 * `validators_missing`
 */
export function announcedVoteKeys(network: BscNetwork, header: EvmBlockHeader): VoteKeys {
  const { announcement } = mapError(
    ExtraDataError,
    () => parseExtraData(network, header),
    (cause) => new BscError("epoch_extra_data", { cause }),
  );
  const validators = announcement?.validators ?? [];
  if (validators.length === 0) throw new BscError("validators_missing");
  return validators.map(({ voteKey }) => voteKey);
}

/**
 * Initial state that trusts the first header of the newest epoch. When the set changed in this epoch it is right only
 * from the chain's own rotation on: create it late in an epoch. @throws {BscError}
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
