/**
 * The fields of a beacon state of Electra or Fulu: the place of each in the SSZ bytes, and the structure of its root.
 * Source: ethereum/consensus-specs: specs/{phase0,altair,bellatrix,capella,electra,fulu}/beacon-chain.md (BeaconState),
 * presets/mainnet; the gnosis preset differs in the slots of an epoch (gnosischain/specs: consensus/preset).
 */
import { ByteVectorType, ContainerType, type Type, UintBigintType } from "@chainsafe/ssz";
import { fromHex } from "../../../../core/encoding/bytes.ts";
import { committeeRoot, payloadHeaderRootOf } from "./ssz_roots.ts";
import { COMMITTEE_BYTES, KEY_BYTES, readCommittee, readSummaries } from "./state_fields.ts";
import { historicalSummariesRoot } from "./state_prefix.ts";

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
  /** Behind an offset; items of `itemBytes` side by side, at most `limit`. */
  | { readonly kind: "list"; readonly itemBytes: number; readonly limit: number }
  /** Behind an offset; containers with fields of these sizes, at most `limit`. */
  | { readonly kind: "records"; readonly sizes: readonly number[]; readonly limit: number }
  /** Behind an offset; short enough to be read whole. */
  | { readonly kind: "whole"; readonly maxBytes: number; readonly root: (bytes: Uint8Array) => Uint8Array };

/** Indices of fields that are of use beyond their roots. */
export const STATE_FIELD = {
  slot: 2,
  firstList: 7,
  finalizedCheckpoint: 20,
  currentSyncCommittee: 22,
  nextSyncCommittee: 23,
  payloadHeader: 24,
  historicalSummaries: 27,
} as const;

const uint64 = new UintBigintType(8);
const root = new ByteVectorType(32);
const version = new ByteVectorType(4);

const fork = new ContainerType({ previousVersion: version, currentVersion: version, epoch: uint64 });
const header = new ContainerType({
  slot: uint64,
  proposerIndex: uint64,
  parentRoot: root,
  stateRoot: root,
  bodyRoot: root,
});
const eth1Data = new ContainerType({ depositRoot: root, depositCount: uint64, blockHash: root });
/** SSZ of a checkpoint. */
export const checkpointType = new ContainerType({ epoch: uint64, root });

function value<T>(type: Type<T>, sizes: readonly number[]): StateField {
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  return { kind: "value", bytes, sizes, root: (data) => type.hashTreeRoot(type.deserialize(data)) };
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

function list(itemBytes: number, limit: number): StateField {
  return { kind: "list", itemBytes, limit };
}

const committee: StateField = {
  kind: "value",
  bytes: COMMITTEE_BYTES,
  sizes: [KEY_BYTES],
  root: (data) => fromHex(committeeRoot(readCommittee(data))),
};

/** Registry limits of lists that have an item for every validator. */
const VALIDATORS = 2 ** 40;
/** Limit of the list of historical roots and of that of summaries. */
const HISTORICAL_ROOTS = 2 ** 24;
/** Maximum size of the summaries: they grow by 64 bytes in 27 hours. */
const MAX_SUMMARY_BYTES = 2 ** 20;
/** Maximum size of a payload header: 584 bytes in place and 32 of extra data. */
const MAX_HEADER_BYTES = 616;
const VALIDATOR_SIZES = [48, 32, 8, 1, 8, 8, 8, 8];
const PENDING_DEPOSIT_SIZES = [48, 32, 8, 96, 8];

/** A field with its name in the specification, which is its key in JSON. */
export type NamedField = StateField & { readonly name: string };

/** The fields of a Fulu state in their order. Electra's is the same without the last. */
export function stateFields(slotsPerEpoch: number): readonly NamedField[] {
  const fields: Readonly<Record<string, StateField>> = {
    genesis_time: leaf(8),
    genesis_validators_root: leaf(32),
    slot: leaf(8),
    fork: value(fork, [4, 4, 8]),
    latest_block_header: value(header, [8, 8, 32, 32, 32]),
    block_roots: vector(8192, 32),
    state_roots: vector(8192, 32),
    historical_roots: list(32, HISTORICAL_ROOTS),
    eth1_data: value(eth1Data, [32, 8, 32]),
    eth1_data_votes: { kind: "records", sizes: [32, 8, 32], limit: 64 * slotsPerEpoch },
    eth1_deposit_index: leaf(8),
    validators: { kind: "records", sizes: VALIDATOR_SIZES, limit: VALIDATORS },
    balances: list(8, VALIDATORS),
    randao_mixes: vector(65_536, 32),
    slashings: vector(8192, 8),
    previous_epoch_participation: list(1, VALIDATORS),
    current_epoch_participation: list(1, VALIDATORS),
    justification_bits: leaf(1),
    previous_justified_checkpoint: value(checkpointType, [8, 32]),
    current_justified_checkpoint: value(checkpointType, [8, 32]),
    finalized_checkpoint: value(checkpointType, [8, 32]),
    inactivity_scores: list(8, VALIDATORS),
    current_sync_committee: committee,
    next_sync_committee: committee,
    latest_execution_payload_header: {
      kind: "whole",
      maxBytes: MAX_HEADER_BYTES,
      root: payloadHeaderRootOf,
    },
    next_withdrawal_index: leaf(8),
    next_withdrawal_validator_index: leaf(8),
    historical_summaries: {
      kind: "whole",
      maxBytes: MAX_SUMMARY_BYTES,
      root: (data) => fromHex(historicalSummariesRoot(readSummaries(data))),
    },
    deposit_requests_start_index: leaf(8),
    deposit_balance_to_consume: leaf(8),
    exit_balance_to_consume: leaf(8),
    earliest_exit_epoch: leaf(8),
    consolidation_balance_to_consume: leaf(8),
    earliest_consolidation_epoch: leaf(8),
    pending_deposits: { kind: "records", sizes: PENDING_DEPOSIT_SIZES, limit: 2 ** 27 },
    pending_partial_withdrawals: { kind: "records", sizes: [8, 8, 8], limit: 2 ** 27 },
    pending_consolidations: { kind: "records", sizes: [8, 8], limit: 2 ** 18 },
    proposer_lookahead: vector(2 * slotsPerEpoch, 8),
  };
  return Object.entries(fields).map(([name, field]) => ({ ...field, name }));
}

/** Bytes of a field in the fixed part: those of an offset where the field stands behind one. */
export function fixedBytesOf(field: StateField): number {
  return field.kind === "value" || field.kind === "vector" ? field.bytes : 4;
}

/** Bytes of the fixed part of a state with these fields. */
export function fixedPartBytes(fields: readonly StateField[]): number {
  return fields.reduce((sum, field) => sum + fixedBytesOf(field), 0);
}
