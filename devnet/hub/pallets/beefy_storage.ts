/**
 * Storage of pallet BeefyConsensusProofs, with the offchain copies of the proofs that it accepted.
 * Source: polytope-labs/hyperbridge: modules/pallets/beefy-consensus-proofs/src/{lib,types}.rs,
 * modules/consensus/beefy/primitives/src/lib.rs (ConsensusState).
 */
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import { authoritySetCodec } from "../../../src/core/beefy/commitment.ts";
import type { BeefyAuthoritySet } from "../../../src/core/evm/beefy_client_state.ts";
import { offchainKeys } from "../../../src/core/ismp/storage_keys.ts";
import {
  type Codec,
  hash256,
  list,
  orderedMap,
  Struct,
  u128,
  u32,
  u64,
} from "../../../src/core/encoding/scale.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { type Overlay, StorageItem } from "../storage.ts";

/** What the hub trusts about its relay chain. */
export interface BeefyState {
  readonly latestBeefyHeight: number;
  readonly beefyActivationBlock: number;
  readonly mmrRootHash: Hash256;
  readonly current: BeefyAuthoritySet;
  readonly next: BeefyAuthoritySet;
}

/** SCALE of {@link BeefyState}. */
export const beefyStateCodec: Codec<BeefyState> = Struct({
  latestBeefyHeight: u32,
  beefyActivationBlock: u32,
  mmrRootHash: hash256,
  current: authoritySetCodec,
  next: authoritySetCodec,
});

/** Maximum of proofs of each kind that are kept (constant of both runtimes). */
export const maxStoredProofs = 512;

/** Storage items. */
export class BeefyProofStorage {
  readonly lastRewardedDispatchRoot: StorageItem<[], Hash256>;
  readonly proofReward: StorageItem<[], bigint>;
  /** Proven heights, rising. */
  readonly messagingProofs: StorageItem<[], readonly bigint[]>;
  /** Authority set to proven height. */
  readonly rotationProofs: StorageItem<[], ReadonlyMap<bigint, bigint>>;

  constructor(metadata: RuntimeMetadata) {
    const pallet = "BeefyConsensusProofs";
    this.lastRewardedDispatchRoot = new StorageItem(
      metadata,
      [pallet, "LastRewardedDispatchRoot"],
      [],
      hash256,
    );
    this.proofReward = new StorageItem(metadata, [pallet, "ProofReward"], [], u128);
    this.messagingProofs = new StorageItem(metadata, [pallet, "MessagingProofs"], [], list(u64));
    this.rotationProofs = new StorageItem(
      metadata,
      [pallet, "RotationProofs"],
      [],
      orderedMap(u64, u64, (a, b) => (a < b ? -1 : 1)),
    );
  }

  /** Keeps a proof of a new height; the oldest one goes when there are too many. */
  keepMessagingProof(overlay: Overlay, height: bigint, proof: Uint8Array): void {
    const heights = [...this.messagingProofs.get(overlay) ?? []];
    overlay.writeOffchain(offchainKeys.beefyMessagingProof(height), proof);
    const oldest = heights.length === maxStoredProofs ? heights.shift() : undefined;
    if (oldest !== undefined) overlay.clearOffchain(offchainKeys.beefyMessagingProof(oldest));
    this.messagingProofs.put(overlay, [...heights, height]);
  }

  /** Keeps a proof that rotated to a set. */
  keepRotationProof(overlay: Overlay, setId: bigint, height: bigint, proof: Uint8Array): void {
    const rotations = new Map(this.rotationProofs.get(overlay) ?? []);
    overlay.writeOffchain(offchainKeys.beefyRotationProof(setId), proof);
    const [oldest] = rotations.keys();
    if (oldest !== undefined && rotations.size === maxStoredProofs) {
      rotations.delete(oldest);
      overlay.clearOffchain(offchainKeys.beefyRotationProof(oldest));
    }
    this.rotationProofs.put(overlay, rotations.set(setId, height));
  }
}
