/**
 * Relay chain storage that naive proofs are built from. Source: paritytech/polkadot-sdk:
 * substrate/frame/{beefy,beefy-mmr,merkle-mountain-range}; docs/protocol/hub-consensus.md section 5.1.
 */
import { storagePrefix } from "../../../../core/ismp/storage_keys.ts";
import { type Codec, hash256, list, Struct, u32, u64 } from "../../../../core/encoding/scale.ts";
import { authoritySetCodec } from "../../../../core/beefy/commitment.ts";
import type { CodecType } from "scale-ts";

/** Keys of storage items. */
export const relayBeefyKeys = {
  authorities: storagePrefix("Beefy", "Authorities"),
  validatorSetId: storagePrefix("Beefy", "ValidatorSetId"),
  /** The current set, whose members sign. */
  currentSet: storagePrefix("BeefyMmrLeaf", "BeefyAuthorities"),
  /** The next set, which leaves announce. */
  nextSet: storagePrefix("BeefyMmrLeaf", "BeefyNextAuthorities"),
  leafCount: storagePrefix("Mmr", "NumberOfLeaves"),
  /** Parachains that are not on demand. */
  parachains: storagePrefix("Paras", "Parachains"),
} as const;

/** Value of `Paras.Parachains`. */
export const parachainIdsCodec: Codec<readonly number[]> = list(u32);

/** SCALE of an answer of `mmr_generateProof`: the path from the leaves to the root. */
export const leafProofCodec = Struct({ leafIndices: list(u64), leafCount: u64, items: list(hash256) });

/** SCALE of {@link HubBeefyState}: 128 bytes (polytope-labs/hyperbridge: modules/consensus/beefy/primitives). */
export const hubBeefyStateCodec = Struct({
  latestHeight: u32,
  beefyActivationBlock: u32,
  mmrRoot: hash256,
  current: authoritySetCodec,
  next: authoritySetCodec,
});

/** State of the hub's own BEEFY client. */
export type HubBeefyState = Readonly<CodecType<typeof hubBeefyStateCodec>>;
