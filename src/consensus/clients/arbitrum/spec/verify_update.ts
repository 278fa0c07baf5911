/**
 * Verification of an update against the hub's state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/ismp-arbitrum/src/lib.rs (verify_consensus),
 * modules/ismp/clients/arbitrum/src/lib.rs.
 */
import { type Hash256, toHex } from "../../../../core/encoding/bytes.ts";
import type { Address } from "../../../../core/evm/address.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../core/evm/block_header.ts";
import { decodeStrict, ScaleError } from "../../../../core/encoding/scale.ts";
import { provenStorageRoot, provenWord } from "../../../rollup/spec/l1_storage.ts";
import { rollupCommitment, type VerifiedRollupUpdate } from "../../../rollup/spec/rollup_client.ts";
import { ArbitrumError, fromArbitrumProof } from "./arbitrum_error.ts";
import {
  assertionHash,
  assertionSlot,
  nodeClaimHash,
  nodeSlot,
  nodeStateHash,
  parseAssertionWord,
} from "./claim_hashes.ts";
import { type ArbitrumConsensusState, arbitrumConsensusStateCodec } from "./consensus_state.ts";
import {
  type ArbitrumProof,
  type ArbitrumUpdate,
  arbitrumUpdateCodec,
  type AssertionProof,
  type GlobalState,
  type NodeProof,
} from "./update.ts";

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
 * Decodes a consensus state as the hub does: trailing bytes are ignored. @throws {ArbitrumError} `undecodable_state`
 */
export function decodeArbitrumState(stored: Uint8Array): ArbitrumConsensusState {
  try {
    return arbitrumConsensusStateCodec.dec(new Uint8Array(stored));
  } catch (cause) {
    throw new ArbitrumError("undecodable_state", { cause });
  }
}

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {ArbitrumError}
 * `undecodable_update`
 */
export function decodeArbitrumUpdate(bytes: Uint8Array): ArbitrumUpdate {
  try {
    return decodeStrict(arbitrumUpdateCodec, bytes, "ArbitrumUpdate");
  } catch (cause) {
    if (cause instanceof ScaleError) throw new ArbitrumError("undecodable_update", { cause });
    throw cause;
  }
}

/** Name of a claim in the hub's blacklist. */
export function claimOf(proof: ArbitrumProof): Hash256 {
  return proof.tag === "ArbitrumBold" ? assertionHash(proof.value) : nodeClaimHash(proof.value);
}

/**
 * Verifies an update as the hub does. @throws {ArbitrumError}
 */
export function verifyArbitrumUpdate(
  trusted: ArbitrumConsensusState,
  { proof }: ArbitrumUpdate,
  hub: ArbitrumHubView,
): VerifiedRollupUpdate<ArbitrumConsensusState> {
  if (hub.l1StateRoot === undefined) throw new ArbitrumError("l1_commitment_missing");
  if (hub.rollupCore === undefined) return { consensusState: trusted, commitment: undefined };
  if (hub.blacklistedClaims.has(claimOf(proof))) throw new ArbitrumError("claim_blacklisted");
  verifyClaim(proof, hub.l1StateRoot, hub.rollupCore);
  const { number, timestampSec, stateRoot } = proof.value.header;
  const commitment = rollupCommitment(trusted, { height: number, timestampSec, stateRoot });
  return { consensusState: { ...trusted, finalizedHeight: commitment.height.height }, commitment };
}

function verifyClaim(proof: ArbitrumProof, l1StateRoot: Hash256, rollupCore: Address): void {
  const { contractProof, header } = proof.value;
  const root = fromArbitrumProof(
    "rollup_proof",
    () => provenStorageRoot(contractProof, l1StateRoot, rollupCore),
  );
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
  if (toHex(header.extraData) !== claimed.sendRoot) throw new ArbitrumError("send_root_mismatch");
  if (hashBlockHeader(header) !== claimed.blockHash) throw new ArbitrumError("block_hash_mismatch");
}

/** Checks that the rollup has the assertion, in any status, and that it has no sibling. */
function checkAssertion(proof: AssertionProof, rollupRoot: Hash256): void {
  const slot = assertionSlot(assertionHash(proof));
  const found = fromArbitrumProof("assertion_proof", () => provenWord(proof.storageProof, rollupRoot, slot));
  if (found === undefined) throw new ArbitrumError("assertion_missing");
  const parentSlot = assertionSlot(proof.previousAssertionHash);
  const parent = fromArbitrumProof(
    "parent_proof",
    () => provenWord(proof.challengeProof, rollupRoot, parentSlot),
  );
  if (parent === undefined) throw new ArbitrumError("parent_missing");
  if (parseAssertionWord(parent).secondChildBlock !== 0n) throw new ArbitrumError("assertion_challenged");
}

function checkNode(proof: NodeProof, rollupRoot: Hash256): void {
  const slot = nodeSlot(proof.nodeNumber);
  const found = fromArbitrumProof("node_proof", () => provenWord(proof.storageProof, rollupRoot, slot));
  if (found === undefined) throw new ArbitrumError("node_missing");
  if (found !== nodeStateHash(proof)) throw new ArbitrumError("node_mismatch");
}
