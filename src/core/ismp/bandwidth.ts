/** Bandwidth subscriptions as the hub stores them. Source: polytope-labs/hyperbridge: modules/pallets/bandwidth. */
import {
  type Codec,
  fixedBytes,
  openEnum,
  Struct,
  u128,
  u64,
  type UnknownVariant,
} from "../encoding/scale.ts";

/** Bandwidth tiers; their SCALE indexes are 1 to 4. */
export type BandwidthTier = "TierOne" | "TierTwo" | "TierThree" | "TierFour";

/** Bytes an application may still send through the hub. */
export interface BandwidthSubscription {
  readonly tier: BandwidthTier | UnknownVariant;
  readonly remainingBytes: bigint;
  readonly expiresAtSec: bigint;
  readonly purchasedAtSec: bigint;
}

/** SCALE `H160`. */
export const hostAddressCodec: Codec<Uint8Array> = fixedBytes(20);

/** SCALE of {@link BandwidthTier}. */
export const bandwidthTierCodec: Codec<BandwidthTier | UnknownVariant> = openEnum(
  ["TierOne", "TierTwo", "TierThree", "TierFour"],
  1,
);

/** SCALE of {@link BandwidthSubscription}. */
export const subscriptionCodec: Codec<BandwidthSubscription> = Struct({
  tier: bandwidthTierCodec,
  remainingBytes: u128,
  expiresAtSec: u64,
  purchasedAtSec: u64,
});
