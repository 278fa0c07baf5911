/**
 * State of the BEEFY client of an EVM host, as `consensusState()` returns it: eight words. Source:
 * polytope-labs/hyperbridge: evm/src/consensus/ConsensusRouter.sol and its verifiers (BeefyConsensusState).
 */
import { BaseError, decodeAbiParameters, encodeAbiParameters, parseAbiParameters } from "viem";
import { fromHex, type Hash256, toHash256, toHex } from "../encoding/bytes.ts";

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

const STATE_BYTES = 8 * 32;
const parameters = parseAbiParameters([
  "uint256 latestHeight, uint256 beefyActivationBlock, Set current, Set next",
  "struct Set { uint64 id; uint32 length; bytes32 root; }",
]);

/** Decodes the state; `undefined` when the bytes are not one, because the host has another client. */
export function decodeBeefyClientState(bytes: Uint8Array): BeefyClientState | undefined {
  if (bytes.length !== STATE_BYTES) return undefined;
  const words = decodeWords(bytes);
  if (words === undefined) return undefined;
  const [latestHeight, beefyActivationBlock, current, next] = words;
  if ([current, next].some(({ id, length }) => id >> 64n !== 0n || length > 0xffff_ffff)) return undefined;
  return { latestHeight, beefyActivationBlock, current: toSet(current), next: toSet(next) };
}

type Words = ReturnType<typeof decodeAbiParameters<typeof parameters>>;

function decodeWords(bytes: Uint8Array): Words | undefined {
  try {
    return decodeAbiParameters(parameters, toHex(bytes));
  } catch (error) {
    // The number of authorities is larger than any number of the language.
    if (error instanceof BaseError) return undefined;
    throw error;
  }
}

function toSet(raw: { id: bigint; length: number; root: string }): BeefyAuthoritySet {
  return { ...raw, root: toHash256(raw.root) };
}

/** The eight words of a state. */
export function encodeBeefyClientState(state: BeefyClientState): Uint8Array {
  const { latestHeight, beefyActivationBlock, current, next } = state;
  return fromHex(encodeAbiParameters(parameters, [latestHeight, beefyActivationBlock, current, next]));
}
