/**
 * Verification of an update against the hub's state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/ismp-arbitrum/src/lib.rs (verify_consensus),
 * modules/ismp/clients/arbitrum/src/lib.rs.
 */
import { clientDecoder } from "../../../spec/client_error.ts";
import { evmCommitment, type VerifiedUpdate } from "../../../spec/header_commitment.ts";
import { type Hash256, toHex } from "../../../../core/encoding/bytes.ts";
import type { Address } from "../../../../core/evm/address.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../core/evm/block_header.ts";
import {
  commitmentIdOf,
  requireStorageRoot,
  requireWord,
  RollupUpdateError,
} from "../../../rollup/spec/rollup_client.ts";
import {
  assertionHash,
  assertionSlot,
  nodeClaimHash,
  nodeSlot,
  nodeStateHash,
  parseAssertionWord,
} from "./claim_hashes.ts";
import {
  type ArbitrumConsensusState,
  arbitrumConsensusStateCodec,
  type ArbitrumProof,
  type ArbitrumUpdate,
  arbitrumUpdateCodec,
  type AssertionProof,
  type GlobalState,
  type NodeProof,
} from "./update.ts";

/**
 * Rule that an update breaks. Source: polytope-labs/hyperbridge: modules/ismp/clients/arbitrum/src/{lib,error}.rs,
 * modules/ismp/clients/ismp-arbitrum/src/lib.rs. Codes that end in `_proof` have an `EvmProofError` as cause: the nodes
 * are inconclusive; codes that end in `_missing` mean that the nodes prove an absence. Under a wrong key either may
 * happen.
 */
export type ArbitrumErrorCode =
  /** The consensus proof is not the SCALE form of an update. */
  | "undecodable_update"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** The hub holds no commitment of the L1 at the height of the proofs. */
  | "l1_commitment_missing"
  /** Fishermen blacklisted the claim. */
  | "claim_blacklisted"
  /** The rollup contract is not proved in the L1 state. */
  | "rollup_proof"
  /** The extra data of the block are not the send root of the claim. */
  | "send_root_mismatch"
  /** The block is not the one that the claim is about. */
  | "block_hash_mismatch"
  | "assertion_proof"
  /** The rollup has no such assertion. */
  | "assertion_missing"
  | "parent_proof"
  /** The rollup does not have the assertion that this one follows. */
  | "parent_missing"
  /** The assertion has a sibling: its parent has two children. */
  | "assertion_challenged"
  | "node_proof"
  /** The rollup has no node of this number. */
  | "node_missing"
  /** The node of this number is another claim. */
  | "node_mismatch";

function refuse(code: ArbitrumErrorCode): never {
  throw new RollupUpdateError(code);
}

/** State of the hub that an update is verified against. */
export interface ArbitrumHubView {
  /** State root of the L1's commitment at the update's L1 height; undefined when the hub has none. */
  readonly l1StateRoot: Hash256 | undefined;
  /** Undefined when the hub has none: then updates are accepted and ignored. */
  readonly rollupCore: Address | undefined;
  /** Contains at least the blacklisted ones among the claims in question, by {@link claimOf}. */
  readonly blacklistedClaims: ReadonlySet<Hash256>;
}

/**
 * Decodes a consensus state as the hub does: trailing bytes are ignored. @throws {RollupUpdateError} `undecodable_state`
 */
export function decodeArbitrumState(stored: Uint8Array): ArbitrumConsensusState {
  try {
    return arbitrumConsensusStateCodec.dec(new Uint8Array(stored));
  } catch (cause) {
    throw new RollupUpdateError<ArbitrumErrorCode>("undecodable_state", { cause });
  }
}

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {RollupUpdateError}
 * `undecodable_update`
 */
export const decodeArbitrumUpdate = clientDecoder(
  arbitrumUpdateCodec,
  RollupUpdateError<ArbitrumErrorCode>,
  "undecodable_update",
);

/** Name of a claim in the hub's blacklist. */
export function claimOf(proof: ArbitrumProof): Hash256 {
  return proof.tag === "ArbitrumBold" ? assertionHash(proof.value) : nodeClaimHash(proof.value);
}

/**
 * Verifies an update as the hub does. @throws {RollupUpdateError}
 */
export function verifyArbitrumUpdate(
  trusted: ArbitrumConsensusState,
  { proof }: ArbitrumUpdate,
  hub: ArbitrumHubView,
): VerifiedUpdate<ArbitrumConsensusState, undefined> {
  if (hub.l1StateRoot === undefined) refuse("l1_commitment_missing");
  if (hub.rollupCore === undefined) return { consensusState: trusted, commitment: undefined };
  if (hub.blacklistedClaims.has(claimOf(proof))) refuse("claim_blacklisted");
  verifyClaim(proof, hub.l1StateRoot, hub.rollupCore);
  const commitment = evmCommitment(commitmentIdOf(trusted), proof.value.header);
  return { consensusState: { ...trusted, finalizedHeight: commitment.height.height }, commitment };
}

function verifyClaim(proof: ArbitrumProof, l1StateRoot: Hash256, rollupCore: Address): void {
  const { contractProof, header } = proof.value;
  const root = requireStorageRoot("rollup_proof", {
    nodes: contractProof,
    stateRoot: l1StateRoot,
    contract: rollupCore,
  });
  switch (proof.tag) {
    case "ArbitrumOrbit":
      checkBlock(header, proof.value.globalState);
      return checkNode(proof.value, root);
    case "ArbitrumBold":
      checkBlock(header, proof.value.afterState.globalState);
      return checkAssertion(proof.value, root);
  }
}

/** Checks that the claim ends at this block. */
function checkBlock(header: EvmBlockHeader, claimed: GlobalState): void {
  if (toHex(header.extraData) !== claimed.sendRoot) refuse("send_root_mismatch");
  if (hashBlockHeader(header) !== claimed.blockHash) refuse("block_hash_mismatch");
}

/** Checks that the rollup has the assertion, in any status, and that it has no sibling. */
function checkAssertion(proof: AssertionProof, root: Hash256): void {
  requireWord("assertion", { nodes: proof.storageProof, root, slot: assertionSlot(assertionHash(proof)) });
  const slot = assertionSlot(proof.previousAssertionHash);
  const parent = requireWord("parent", { nodes: proof.challengeProof, root, slot });
  if (parseAssertionWord(parent).secondChildBlock !== 0n) refuse("assertion_challenged");
}

function checkNode(proof: NodeProof, root: Hash256): void {
  const found = requireWord("node", { nodes: proof.storageProof, root, slot: nodeSlot(proof.nodeNumber) });
  if (found !== nodeStateHash(proof)) refuse("node_mismatch");
}
