/**
 * Proofs of the devnet hub for its light client on EVM chains (TestConsensusClient.sol): the rules of BEEFY with
 * authority sets of one. One proof is good for every chain whose authority sets fit, as on the live network.
 */
import type { Address, Hex, LocalAccount } from "viem";
import {
  concatHex,
  decodeAbiParameters,
  encodeAbiParameters,
  keccak256,
  numberToHex,
  parseAbiParameters,
  parseSignature,
} from "viem";

/** One authority set as a host stores it. */
export interface AuthoritySet {
  readonly id: bigint;
  /** Number of authorities; 1 on the devnet. */
  readonly len: number;
  /** keccak256 of the packed address of the only authority. */
  readonly root: Hex;
}

/** What a host knows of the hub's consensus. */
export interface HubConsensusState {
  /** Relay block of the newest proof it took. */
  readonly latestHeight: bigint;
  readonly beefyActivationBlock: bigint;
  readonly currentAuthoritySet: AuthoritySet;
  readonly nextAuthoritySet: AuthoritySet;
}

/** A hub height with its roots, as it will be stored on a host. */
export interface HubCommitment {
  /** Bare para id of the hub. */
  readonly paraId: bigint;
  readonly height: bigint;
  readonly timestampSec: bigint;
  readonly mmrRoot: Hex;
  /** Root of the child trie `ISMPv2`. */
  readonly childTrieRoot: Hex;
}

/** The content of one proof. */
export interface HubStatement {
  /** The set that signs: the current or the next one of the host. */
  readonly validatorSetId: bigint;
  /** Relay block; a host ignores proofs that are not newer than its state. */
  readonly blockNumber: bigint;
  /** A higher id than the host's next set rotates the sets. */
  readonly nextAuthoritySet: AuthoritySet;
  readonly commitments: readonly HubCommitment[];
}

/** First byte of a proof for the consensus router. */
export const ECDSA_PROOF_TYPE: Hex = "0x00";

/** A proof taken apart. */
export interface SignedStatement {
  readonly statement: HubStatement;
  /** What the authority signed: keccak256 of the statement's ABI form. */
  readonly digest: Hex;
  /** 65 bytes: r, s, v. */
  readonly signature: Hex;
}

const STATE = parseAbiParameters([
  "ConsensusState state",
  "struct AuthoritySet { uint64 id; uint32 len; bytes32 root; }",
  "struct ConsensusState { uint256 latestHeight; uint256 beefyActivationBlock; AuthoritySet currentAuthoritySet; AuthoritySet nextAuthoritySet; }",
]);

const STATEMENT_STRUCTS = [
  "struct AuthoritySet { uint64 id; uint32 len; bytes32 root; }",
  "struct StateCommitment { uint256 timestamp; bytes32 overlayRoot; bytes32 stateRoot; }",
  "struct IntermediateState { uint256 stateMachineId; uint256 height; StateCommitment commitment; }",
  "struct Statement { uint64 validatorSetId; uint256 blockNumber; AuthoritySet nextAuthoritySet; IntermediateState[] states; }",
] as const;
const STATEMENT = parseAbiParameters(["Statement statement", ...STATEMENT_STRUCTS]);
const SIGNED = parseAbiParameters([
  "Statement statement, bytes32 r, bytes32 s, uint8 v",
  ...STATEMENT_STRUCTS,
]);

/** The set `id` whose only authority is `authority`. */
export function authoritySetOf(authority: Address, id: bigint): AuthoritySet {
  return { id, len: 1, root: keccak256(authority) };
}

/** The state a fresh host is given: sets `id` and `id + 1`, both of the same authority. */
export function initialConsensusState(authority: Address, id = 1n): HubConsensusState {
  return {
    latestHeight: 0n,
    beefyActivationBlock: 0n,
    currentAuthoritySet: authoritySetOf(authority, id),
    nextAuthoritySet: authoritySetOf(authority, id + 1n),
  };
}

/** The 8 words that `consensusState()` returns. */
export function encodeConsensusState(state: HubConsensusState): Hex {
  return encodeAbiParameters(STATE, [state]);
}

/**
 * Reads the 8 words of `consensusState()`.
 * @throws when the bytes are not 8 words.
 */
export function decodeConsensusState(encoded: Hex): HubConsensusState {
  return decodeAbiParameters(STATE, encoded)[0];
}

/**
 * Reads what {@link signHubProof} makes, of either proof type.
 * @throws when the bytes behind the first one are no such proof.
 */
export function decodeHubProof(proof: Hex): SignedStatement {
  const [content, r, s, v] = decodeAbiParameters(SIGNED, `0x${proof.slice(4)}`);
  const { validatorSetId, blockNumber, nextAuthoritySet, states } = content;
  return {
    statement: {
      validatorSetId,
      blockNumber,
      nextAuthoritySet,
      commitments: states.map(({ stateMachineId, height, commitment }) => ({
        paraId: stateMachineId,
        height,
        timestampSec: commitment.timestamp,
        mmrRoot: commitment.overlayRoot,
        childTrieRoot: commitment.stateRoot,
      })),
    },
    digest: keccak256(encodeAbiParameters(STATEMENT, [content])),
    signature: concatHex([r, s, numberToHex(v, { size: 1 })]),
  };
}

/** The signed proof, with the router's leading byte, ready for `handleConsensus(host, proof)`. */
export async function signHubProof(statement: HubStatement, authority: LocalAccount): Promise<Hex> {
  if (authority.sign === undefined) throw new Error("The authority cannot sign hashes");
  const content = {
    validatorSetId: statement.validatorSetId,
    blockNumber: statement.blockNumber,
    nextAuthoritySet: statement.nextAuthoritySet,
    states: statement.commitments.map((each) => ({
      stateMachineId: each.paraId,
      height: each.height,
      commitment: { timestamp: each.timestampSec, overlayRoot: each.mmrRoot, stateRoot: each.childTrieRoot },
    })),
  };
  const { r, s, yParity } = parseSignature(
    await authority.sign({ hash: keccak256(encodeAbiParameters(STATEMENT, [content])) }),
  );
  return concatHex([ECDSA_PROOF_TYPE, encodeAbiParameters(SIGNED, [content, r, s, 27 + yParity])]);
}
