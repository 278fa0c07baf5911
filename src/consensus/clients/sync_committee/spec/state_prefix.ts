/**
 * Values in the bytes of a beacon state, and the fixed part of one of Electra or Fulu: enough of it to find the payload
 * header's neighbours without reading the validators behind it. Offsets hold for the mainnet and the gnosis preset, those
 * up to the committees for Gloas, too.
 * Source: ethereum/consensus-specs: specs/electra/beacon-chain.md (BeaconState), presets/{mainnet,gnosis}.
 */
import { DerivationError } from "./sync_committee_error.ts";
import type { NeighbourFields } from "./state_proof.ts";
import { SYNC_COMMITTEE_SIZE } from "./beacon_network.ts";
import type { SyncCommittee } from "./update.ts";

/** Bytes of a BLS public key. */
export const KEY_BYTES = 48;
/** Bytes of a sync committee: 512 keys and their sum. */
export const COMMITTEE_BYTES: number = KEY_BYTES * (SYNC_COMMITTEE_SIZE + 1);

/** A sync committee from its SSZ bytes. @throws {DerivationError} `state_bytes` when there are not 513 keys. */
export function readCommittee(bytes: Uint8Array): SyncCommittee {
  if (bytes.length !== COMMITTEE_BYTES) throw new DerivationError("state_bytes");
  const keyAt = (index: number): Uint8Array => bytes.slice(KEY_BYTES * index, KEY_BYTES * (index + 1));
  return {
    publicKeys: Array.from({ length: SYNC_COMMITTEE_SIZE }, (_, index) => keyAt(index)),
    aggregatePublicKey: keyAt(SYNC_COMMITTEE_SIZE),
  };
}

/** Bytes to read of a state: all up to and with `earliest_exit_epoch`. */
export const STATE_PREFIX_BYTES = 2_736_685;

const OFFSET = {
  slot: 40,
  nextSyncCommittee: 2_712_005,
  nextWithdrawalIndex: 2_736_633,
  nextWithdrawalValidatorIndex: 2_736_641,
  depositRequestsStartIndex: 2_736_653,
  depositBalanceToConsume: 2_736_661,
  exitBalanceToConsume: 2_736_669,
  earliestExitEpoch: 2_736_677,
} as const;

function viewOf(prefix: Uint8Array, slot: bigint): DataView {
  if (prefix.length < STATE_PREFIX_BYTES) throw new DerivationError("state_prefix");
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  if (view.getBigUint64(OFFSET.slot, true) !== slot) throw new DerivationError("state_prefix");
  return view;
}

/**
 * Fields next to the payload header, from the first {@link STATE_PREFIX_BYTES} of the state of `slot`. A state of an
 * older fork or another preset has other offsets: the branch made of these fields then fails its check. @throws
 * {DerivationError} `state_prefix`: too few bytes, or a state of another slot.
 */
export function readNeighbourFields(prefix: Uint8Array, slot: bigint): NeighbourFields {
  const view = viewOf(prefix, slot);
  const uint64 = (offset: number): bigint => view.getBigUint64(offset, true);
  return {
    nextWithdrawalIndex: uint64(OFFSET.nextWithdrawalIndex),
    nextWithdrawalValidatorIndex: uint64(OFFSET.nextWithdrawalValidatorIndex),
    depositRequestsStartIndex: uint64(OFFSET.depositRequestsStartIndex),
    depositBalanceToConsumeGwei: uint64(OFFSET.depositBalanceToConsume),
    exitBalanceToConsumeGwei: uint64(OFFSET.exitBalanceToConsume),
    earliestExitEpoch: uint64(OFFSET.earliestExitEpoch),
  };
}

/**
 * The committee of the period after that of the state. It still has to be verified against the state's root. @throws
 * {DerivationError} `state_prefix`
 */
export function readNextCommittee(prefix: Uint8Array, slot: bigint): SyncCommittee {
  viewOf(prefix, slot);
  return readCommittee(prefix.subarray(OFFSET.nextSyncCommittee, OFFSET.nextSyncCommittee + COMMITTEE_BYTES));
}
