/** Values decoded from the bytes of single fields of a beacon state. */
import { type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { SYNC_COMMITTEE_SIZE } from "./beacon_network.ts";
import { DerivationError } from "./derivation_error.ts";
import type { SyncCommittee } from "./update.ts";

/** One entry of the state's history: roots of the rings of block and state roots at the start of a period. */
export interface HistoricalSummary {
  readonly blockSummaryRoot: Hash256;
  readonly stateSummaryRoot: Hash256;
}

/** Bytes of a BLS public key. */
export const KEY_BYTES = 48;
const SUMMARY_BYTES = 64;

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

/** The historical summaries from their SSZ bytes. @throws {DerivationError} `state_bytes` for half a summary. */
export function readSummaries(bytes: Uint8Array): HistoricalSummary[] {
  if (bytes.length % SUMMARY_BYTES !== 0) throw new DerivationError("state_bytes");
  return Array.from({ length: bytes.length / SUMMARY_BYTES }, (_, index) => {
    const at = SUMMARY_BYTES * index;
    return {
      blockSummaryRoot: toHash256(bytes.subarray(at, at + 32)),
      stateSummaryRoot: toHash256(bytes.subarray(at + 32, at + SUMMARY_BYTES)),
    };
  });
}
