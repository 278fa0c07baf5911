/**
 * Slot keys of the EVM host. `eth_getProof` expects these keys; the trie stores them under their hash. Source:
 * polytope-labs/hyperbridge: evm/src/core/EvmHost.sol (compiled storage layout at HEAD).
 */
import { concatBytes, fromHex, type Hash256, keccak256, toHash256 } from "../encoding/bytes.ts";

/** Slot numbers of the host's variables that are proved. */
const SLOTS = { requestCommitments: 0n, requestReceipts: 1n, epochs: 21n } as const;

/** A 32-byte big-endian word. @throws {RangeError} outside of uint256. */
export function word(value: bigint): Hash256 {
  if (value < 0n || value >> 256n !== 0n) throw new RangeError("Expected a uint256");
  return toHash256(value.toString(16).padStart(64, "0"));
}

/** Slot of a mapping's value: the mapping stands at `slot`, its key is one word (Solidity storage layout). */
export function mapSlot(key: Hash256, slot: Hash256): Hash256 {
  return toHash256(keccak256(concatBytes(fromHex(key), fromHex(slot))));
}

/** Slot `by` words after another one. */
export function offset(slot: Hash256, by: bigint): Hash256 {
  return word(BigInt.asUintN(256, BigInt(slot) + by));
}

/** Fee of a request; absent from the trie when it is zero. */
export function requestFeeSlot(commitment: Hash256): Hash256 {
  return mapSlot(commitment, word(SLOTS.requestCommitments));
}

/** Payer of a request: never zero, so this slot proves that the request exists. */
export function requestSenderSlot(commitment: Hash256): Hash256 {
  return offset(requestFeeSlot(commitment), 1n);
}

/** Relayer that delivered a post request here. */
export function requestReceiptSlot(commitment: Hash256): Hash256 {
  return mapSlot(commitment, word(SLOTS.requestReceipts));
}

/** Relayer that rotated the client to an authority set. */
export function epochRelayerSlot(setId: bigint): Hash256 {
  return mapSlot(word(setId), word(SLOTS.epochs));
}

/** Slot of a contract, before hashing. */
export interface ContractSlot {
  /** 20-byte address. */
  readonly contract: Uint8Array;
  readonly slot: Uint8Array;
}

/**
 * Finds what a key of the hub's verifier names: a slot of the registered host (32 bytes), or one of the contract whose
 * address precedes it (52 bytes, see {@link contractSlotKey}). `undefined`: it is no key of a slot.
 */
export function locateSlot(key: Uint8Array, host: Uint8Array): ContractSlot | undefined {
  if (key.length === 32) return { contract: host, slot: key };
  return key.length === 52 ? { contract: key.subarray(0, 20), slot: key.subarray(20) } : undefined;
}

/**
 * Key in the form of the hub's verifier for another contract than the registered host: 20-byte address, 32-byte slot.
 */
export function contractSlotKey(contract: Uint8Array, slot: Hash256): Uint8Array {
  if (contract.length !== 20) throw new RangeError(`Expected 20 bytes, found ${contract.length}`);
  return concatBytes(contract, fromHex(slot));
}
