/**
 * Where a Substrate chain with pallet-revive keeps the state of EVM contracts: a record per account in the main trie,
 * which names the child trie with the slots. Values of slots are 32-byte words; a slot that is zero is not stored.
 * Source: paritytech/polkadot-sdk: substrate/frame/revive/src/{lib,storage,exec}.rs.
 */
import { blake2b256, concatBytes } from "../encoding/bytes.ts";
import { bytes, type Codec, decodePrefix, Enum, fixedBytes, Struct } from "../encoding/scale.ts";
import { identity, stored, type StoredItem } from "../ismp/storage_keys.ts";

const CHILD_TRIE_PREFIX = new TextEncoder().encode(":child_storage:default:");

/** Key of the root of a contract's child trie in the main trie, also the first argument of child state calls. */
export function contractTrieKey(trieId: Uint8Array): Uint8Array {
  return concatBytes(CHILD_TRIE_PREFIX, trieId);
}

/** Key of a slot (32 bytes) in the child trie of its contract. */
export function trieSlotKey(slot: Uint8Array): Uint8Array {
  return blake2b256(slot);
}

interface ContractRecord {
  readonly tag: "Contract";
  readonly value: { readonly trieId: Uint8Array };
}

/**
 * Start of the record of a contract; deposits and hashes follow. Accounts that are no contracts have other variants.
 * The hub reads the same part of it (polytope-labs/hyperbridge: modules/ismp/state-machines/evm/src/substrate_evm.rs).
 */
const contractRecordCodec: Codec<ContractRecord> = Enum({ Contract: Struct({ trieId: bytes }) });

/** Record of an account (20 bytes) in the main trie. */
export const contractRecordKey: StoredItem<[address: Uint8Array], ContractRecord> = stored(
  "Revive.AccountInfoOf",
  contractRecordCodec,
  identity(fixedBytes(20)),
);

/** Reads the id of a contract's child trie from its record. @throws {ScaleError} when it is none of a contract. */
export function decodeTrieId(record: Uint8Array): Uint8Array {
  return decodePrefix(contractRecordCodec, record, "AccountInfo").value.trieId;
}
