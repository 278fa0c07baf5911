/**
 * State of the BEEFY client of an EVM host, as `consensusState()` returns it. Source: polytope-labs/hyperbridge:
 * evm/src/consensus/ConsensusRouter.sol and its verifiers (BeefyConsensusState); docs/protocol/hub-consensus.md section
 * 5.2.
 */
import { bytesToNumberBE } from "@noble/curves/utils.js";
import { concatBytes, fromHex, type Hash256, toHash256 } from "../encoding/bytes.ts";

/** A set of BEEFY authorities. */
export interface BeefyAuthoritySet {
  readonly id: bigint;
  readonly length: number;
  /** Root of the Merkle tree of their addresses. */
  readonly root: Hash256;
}

/** Trusted state of the client about the relay chain. */
export interface BeefyClientState {
  /** Latest relay block with an accepted proof. */
  readonly latestHeight: bigint;
  readonly beefyActivationBlock: bigint;
  readonly current: BeefyAuthoritySet;
  readonly next: BeefyAuthoritySet;
}

/**
 * Words of an authority set by the length of a state in words: id, length and root, and in newer clients a commitment
 * for proofs of the kind 0x02, which neither signatures nor zero-knowledge proofs need.
 */
const WORDS_OF_SET: ReadonlyMap<number, number> = new Map([[8, 3], [10, 4]]);

/** Decodes the state; `undefined` when the bytes have another layout. */
export function decodeBeefyClientState(bytes: Uint8Array): BeefyClientState | undefined {
  const setWords = WORDS_OF_SET.get(bytes.length / 32);
  if (setWords === undefined) return undefined;
  const wordAt = (index: number): Uint8Array => bytes.subarray(32 * index, 32 * (index + 1));
  const [latestHeight, beefyActivationBlock] = [wordAt(0), wordAt(1)].map(bytesToNumberBE);
  const [current, next] = [2, 2 + setWords].map((at) => toSet(wordAt(at), wordAt(at + 1), wordAt(at + 2)));
  const isWhole = latestHeight !== undefined && beefyActivationBlock !== undefined &&
    current !== undefined && next !== undefined;
  return isWhole ? { latestHeight, beefyActivationBlock, current, next } : undefined;
}

/** Reads a set; `undefined` when a number is larger than its type in the contract. */
function toSet(id: Uint8Array, length: Uint8Array, root: Uint8Array): BeefyAuthoritySet | undefined {
  const [setId, members] = [bytesToNumberBE(id), bytesToNumberBE(length)];
  if (setId >> 64n !== 0n || members >> 32n !== 0n) return undefined;
  return { id: setId, length: Number(members), root: toHash256(root) };
}

/** The eight words of a state. */
export function encodeBeefyClientState(state: BeefyClientState): Uint8Array {
  const { latestHeight, beefyActivationBlock, current, next } = state;
  const word = (value: bigint | number): Uint8Array => fromHex(`0x${value.toString(16).padStart(64, "0")}`);
  const sets = [current, next].flatMap(({ id, length, root }) => [word(id), word(length), fromHex(root)]);
  return concatBytes(word(latestHeight), word(beefyActivationBlock), ...sets);
}
