/**
 * The fields of a beacon state from Electra on: the place of each in the SSZ bytes, and the structure of its root.
 * Source: ethereum/consensus-specs: specs/{phase0,altair,bellatrix,capella,electra,fulu,gloas}/beacon-chain.md
 * (BeaconState), presets/mainnet; the gnosis preset differs in the slots of an epoch (gnosischain/specs:
 * consensus/preset).
 */
import {
  ByteVectorType,
  ContainerType,
  ProgressiveContainerType,
  ProgressiveListCompositeType,
  type Type,
  VectorCompositeType,
} from "@chainsafe/ssz";
import { SYNC_COMMITTEE_SIZE } from "./beacon_network.ts";
import { checkpointType, committeeType, headerType, payloadType, root, uint64 } from "./ssz_roots.ts";
import { KEY_BYTES } from "./state_proof.ts";

/**
 * Encoding of a field in the state. `sizes` are the bytes of its numbers and roots one after the other, which repeat in
 * fields with many of the same.
 */
export type StateField =
  /** In place; short enough to be read whole. */
  | {
    readonly kind: "value";
    readonly bytes: number;
    readonly sizes: readonly number[];
    readonly root: (bytes: Uint8Array) => Uint8Array;
  }
  /** In place; items of `itemBytes` side by side, chunks of a tree of `depth`. */
  | { readonly kind: "vector"; readonly bytes: number; readonly itemBytes: number; readonly depth: number }
  /** Behind an offset; items of `itemBytes` side by side, at most `limit`; without a limit progressive. */
  | { readonly kind: "list"; readonly itemBytes: number; readonly limit: number | undefined }
  /** Behind an offset; containers with fields of these sizes, at most `limit`; without a limit progressive. */
  | { readonly kind: "records"; readonly sizes: readonly number[]; readonly limit: number | undefined }
  /**
   * Behind an offset; short enough to be read whole. `sizes` of a container with one part of variable size have
   * `"rest"` in its place, where the bytes have an offset.
   */
  | {
    readonly kind: "whole";
    readonly maxBytes: number;
    readonly sizes: readonly (number | "rest")[];
    readonly root: (bytes: Uint8Array) => Uint8Array;
  };

/** Indices of fields that are of use beyond their roots. */
export const STATE_FIELD = {
  slot: 2,
  firstList: 7,
  finalizedCheckpoint: 20,
  currentSyncCommittee: 22,
  nextSyncCommittee: 23,
  /** The payload header; in Gloas the hash of the last execution block. */
  execution: 24,
} as const;

const version = new ByteVectorType(4);

const forkType = new ContainerType({ previousVersion: version, currentVersion: version, epoch: uint64 });
const eth1Data = new ContainerType({ depositRoot: root, depositCount: uint64, blockHash: root });

const pendingPayment = new ContainerType({
  weight: uint64,
  withdrawal: new ContainerType({
    feeRecipient: new ByteVectorType(20),
    amount: uint64,
    builderIndex: uint64,
  }),
  proposerIndex: uint64,
});
const payloadBid = new ProgressiveContainerType({
  parentBlockHash: root,
  parentBlockRoot: root,
  blockHash: root,
  prevRandao: root,
  feeRecipient: new ByteVectorType(20),
  gasLimit: uint64,
  builderIndex: uint64,
  slot: uint64,
  value: uint64,
  executionPayment: uint64,
  blobKzgCommitments: new ProgressiveListCompositeType(new ByteVectorType(48)),
  executionRequestsRoot: root,
}, Array.from({ length: 12 }, () => true));

function rootBy<T>(type: Type<T>): (bytes: Uint8Array) => Uint8Array {
  return (bytes) => type.hashTreeRoot(type.deserialize(bytes));
}

function value<T>(type: Type<T>, sizes: readonly number[], items = 1): StateField {
  const bytes = items * sizes.reduce((sum, size) => sum + size, 0);
  return { kind: "value", bytes, sizes, root: rootBy(type) };
}

/** A value of up to 32 bytes that is its own leaf. */
function leaf(bytes: number): StateField {
  return {
    kind: "value",
    bytes,
    sizes: [bytes],
    root: (data) => {
      const padded = new Uint8Array(32);
      padded.set(data);
      return padded;
    },
  };
}

function vector(items: number, itemBytes: number): StateField {
  const bytes = items * itemBytes;
  return { kind: "vector", bytes, itemBytes, depth: Math.ceil(Math.log2(bytes / 32)) };
}

function list(itemBytes: number, limit: number | undefined): StateField {
  return { kind: "list", itemBytes, limit };
}

const committee = value(committeeType, [KEY_BYTES], SYNC_COMMITTEE_SIZE + 1);

/** Registry limits of lists that have an item for every validator. */
const VALIDATORS = 2 ** 40;
/** Limit of the list of historical roots and of that of summaries. */
const HISTORICAL_ROOTS = 2 ** 24;
/** Maximum size of a payload header: 584 bytes in place and 32 of extra data. */
const MAX_HEADER_BYTES = 616;
/** Maximum size of a bid: 224 bytes in place, and commitments of 48. */
const MAX_BID_BYTES = 2 ** 18;
const VALIDATOR_SIZES = [48, 32, 8, 1, 8, 8, 8, 8];
const PENDING_DEPOSIT_SIZES = [48, 32, 8, 96, 8];
const PAYLOAD_HEADER_SIZES = [32, 20, 32, 32, 256, 32, 8, 8, 8, 8, "rest", 32, 32, 32, 32, 8, 8] as const;
const BID_SIZES = [32, 32, 32, 32, 20, 8, 8, 8, 8, 8, "rest", 32] as const;
/** Members of a committee that attests the arrival of payloads. */
const PTC_SIZE = 512;

const payloadHeader: StateField = {
  kind: "whole",
  maxBytes: MAX_HEADER_BYTES,
  sizes: PAYLOAD_HEADER_SIZES,
  root: rootBy(payloadType),
};

/** A field with its name in the specification, which is its key in JSON. */
export type NamedField = StateField & { readonly name: string };

/** The fields of a state in their order. */
export interface StateLayout {
  readonly fields: readonly NamedField[];
  /** True: the root is that of a progressive container. */
  readonly isProgressive: boolean;
}

/** Layout of a state of a fork, Electra's for all earlier ones. */
export function layoutOfState(fork: string, slotsPerEpoch: number): StateLayout {
  const isGloas = fork === "gloas";
  const unlessGloas = (limit: number): number | undefined => isGloas ? undefined : limit;
  const fields: Readonly<Record<string, StateField>> = {
    genesis_time: leaf(8),
    genesis_validators_root: leaf(32),
    slot: leaf(8),
    fork: value(forkType, [4, 4, 8]),
    latest_block_header: value(headerType, [8, 8, 32, 32, 32]),
    block_roots: vector(8192, 32),
    state_roots: vector(8192, 32),
    historical_roots: list(32, HISTORICAL_ROOTS),
    eth1_data: value(eth1Data, [32, 8, 32]),
    eth1_data_votes: { kind: "records", sizes: [32, 8, 32], limit: 64 * slotsPerEpoch },
    eth1_deposit_index: leaf(8),
    validators: { kind: "records", sizes: VALIDATOR_SIZES, limit: unlessGloas(VALIDATORS) },
    balances: list(8, unlessGloas(VALIDATORS)),
    randao_mixes: vector(65_536, 32),
    slashings: vector(8192, 8),
    previous_epoch_participation: list(1, unlessGloas(VALIDATORS)),
    current_epoch_participation: list(1, unlessGloas(VALIDATORS)),
    justification_bits: leaf(1),
    previous_justified_checkpoint: value(checkpointType, [8, 32]),
    current_justified_checkpoint: value(checkpointType, [8, 32]),
    finalized_checkpoint: value(checkpointType, [8, 32]),
    inactivity_scores: list(8, unlessGloas(VALIDATORS)),
    current_sync_committee: committee,
    next_sync_committee: committee,
    ...(isGloas ? { latest_block_hash: leaf(32) } : { latest_execution_payload_header: payloadHeader }),
    next_withdrawal_index: leaf(8),
    next_withdrawal_validator_index: leaf(8),
    historical_summaries: { kind: "records", sizes: [32, 32], limit: HISTORICAL_ROOTS },
    deposit_requests_start_index: leaf(8),
    deposit_balance_to_consume: leaf(8),
    exit_balance_to_consume: leaf(8),
    earliest_exit_epoch: leaf(8),
    consolidation_balance_to_consume: leaf(8),
    earliest_consolidation_epoch: leaf(8),
    pending_deposits: { kind: "records", sizes: PENDING_DEPOSIT_SIZES, limit: unlessGloas(2 ** 27) },
    pending_partial_withdrawals: { kind: "records", sizes: [8, 8, 8], limit: unlessGloas(2 ** 27) },
    pending_consolidations: { kind: "records", sizes: [8, 8], limit: unlessGloas(2 ** 18) },
    ...(isGloas || fork === "fulu" ? { proposer_lookahead: vector(2 * slotsPerEpoch, 8) } : {}),
    ...(isGloas ? gloasFields(slotsPerEpoch) : {}),
  };
  return {
    fields: Object.entries(fields).map(([name, field]) => ({ ...field, name })),
    isProgressive: isGloas,
  };
}

/** Fields that Gloas adds at the end. */
function gloasFields(slotsPerEpoch: number): Readonly<Record<string, StateField>> {
  const payments = 2 * slotsPerEpoch;
  return {
    builders: { kind: "records", sizes: [48, 1, 20, 8, 8, 8], limit: undefined },
    next_withdrawal_builder_index: leaf(8),
    execution_payload_availability: vector(1024, 1),
    builder_pending_payments: value(
      new VectorCompositeType(pendingPayment, payments),
      [8, 20, 8, 8, 8],
      payments,
    ),
    builder_pending_withdrawals: { kind: "records", sizes: [20, 8, 8], limit: undefined },
    latest_execution_payload_bid: {
      kind: "whole",
      maxBytes: MAX_BID_BYTES,
      sizes: BID_SIZES,
      root: rootBy(payloadBid),
    },
    payload_expected_withdrawals: { kind: "records", sizes: [8, 8, 20, 8], limit: undefined },
    // Vectors of bytes have the roots of those of numbers.
    ptc_window: value(
      new VectorCompositeType(new ByteVectorType(8 * PTC_SIZE), 3 * slotsPerEpoch),
      [8],
      3 * slotsPerEpoch * PTC_SIZE,
    ),
  };
}

/** Bytes of a field in the fixed part: those of an offset where the field stands behind one. */
export function fixedBytesOf(field: StateField): number {
  return field.kind === "value" || field.kind === "vector" ? field.bytes : 4;
}

/** Bytes of the fixed part of a state with these fields. */
export function fixedPartBytes(fields: readonly StateField[]): number {
  return fields.reduce((sum, field) => sum + fixedBytesOf(field), 0);
}
