/**
 * Naive proofs of the hub that say whatever a test wants: one authority signs a relay chain of one block, whose heads are
 * the wanted ones. Proofs of a devnet's own relay chain are in `hub_prover.ts`.
 */
import type { Address, Hex, LocalAccount } from "viem";
import { fromHex, type Hash256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { authorityLeaf, headLeaf } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import {
  type BeefyMmrLeaf,
  beefyMmrLeafHash,
  commitmentHash,
  MMR_ROOT_ID,
} from "../../src/core/beefy/commitment.ts";
import { merkleMultiProof, merkleRoot } from "../../src/consensus/clients/beefy/spec/merkle_tree.ts";
import { encodeNaiveProof } from "../../src/core/beefy/naive_proof.ts";
import {
  type BeefyAuthoritySet,
  type BeefyClientState,
  encodeBeefyClientState,
} from "../../src/core/evm/beefy_client_state.ts";
import { consensusDigestCodec, timestampDigestCodec } from "../../src/core/ismp/host_state.ts";
import { digestItem, encodeHeader } from "../hub/digest.ts";

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
  readonly nextAuthoritySet: BeefyAuthoritySet;
  readonly commitments: readonly HubCommitment[];
}

const zeroHash: Hash256 = `0x${"00".repeat(32)}`;

/** The set `id` whose only authority is `authority`. */
export function authoritySetOf(authority: Address, id: bigint): BeefyAuthoritySet {
  return { id, length: 1, root: toHash256(authorityLeaf(fromHex(authority))) };
}

/** The state a host is given that takes these proofs: sets `id` and `id + 1`, both of the same authority. */
export function initialConsensusState(authority: Address, id = 1n): BeefyClientState {
  return {
    latestHeight: 0n,
    beefyActivationBlock: 0n,
    current: authoritySetOf(authority, id),
    next: authoritySetOf(authority, id + 1n),
  };
}

/** The 8 words that `consensusState()` returns. */
export function encodeConsensusState(state: BeefyClientState): Hex {
  return toHex(encodeBeefyClientState(state));
}

/** The signed proof, with the router's leading byte, ready for `handleConsensus(host, proof)`. */
export async function signHubProof(statement: HubStatement, authority: LocalAccount): Promise<Hex> {
  if (authority.sign === undefined) throw new Error("The authority cannot sign hashes");
  const heads = statement.commitments.map((each) => ({ paraId: Number(each.paraId), header: headOf(each) }));
  const leaves = heads.map(({ paraId, header }) => headLeaf(paraId, header));
  const leaf: BeefyMmrLeaf = {
    version: 0,
    parentNumber: 0,
    parentHash: zeroHash,
    nextAuthoritySet: statement.nextAuthoritySet,
    extra: leaves.length === 0 ? zeroHash : merkleRoot(leaves),
  };
  const commitment = {
    payload: [{ id: MMR_ROOT_ID, data: fromHex(beefyMmrLeafHash(leaf)) }],
    blockNumber: Number(statement.blockNumber),
    validatorSetId: statement.validatorSetId,
  };
  const signature = fromHex(await authority.sign({ hash: commitmentHash(commitment) }));
  return toHex(encodeNaiveProof({
    relay: {
      commitment,
      votes: [{ index: 0, signature }],
      leaf,
      leafIndex: 0n,
      mmrProof: [],
      authoritiesProof: [],
    },
    parachain: {
      heads: heads.map((head, index) => ({ index, ...head })),
      proof: leaves.length === 0 ? [] : merkleMultiProof(leaves, leaves.map((_, index) => index)),
      leafCount: leaves.length,
    },
  }));
}

/** A header that says this. */
function headOf({ height, timestampSec, mmrRoot, childTrieRoot }: HubCommitment): Uint8Array {
  const roots = { mmrRoot: toHash256(mmrRoot), childTrieRoot: toHash256(childTrieRoot) };
  return encodeHeader({
    parentHash: zeroHash,
    number: Number(height),
    stateRoot: zeroHash,
    extrinsicsRoot: zeroHash,
    digest: [
      digestItem("consensus", "ISMP", consensusDigestCodec.enc(roots)),
      digestItem("consensus", "ISTM", timestampDigestCodec.enc({ timestampSec })),
    ],
  });
}
