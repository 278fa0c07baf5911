/**
 * Digests of a relay chain's headers.
 * Source: paritytech/polkadot-sdk: substrate/primitives/consensus/{babe,grandpa,beefy}/src.
 */
import { concatBytes, fromHex, type Hash256 } from "../../src/core/encoding/bytes.ts";
import { grandpaAuthoritiesCodec } from "../../src/consensus/clients/grandpa/spec/message.ts";
import { fixedBytes, list, Struct, u32, u64 } from "../../src/core/encoding/scale.ts";
import { digestItem } from "../hub/digest.ts";
import type { ValidatorSet } from "./validators.ts";

/** Milliseconds of a slot. */
export const slotMs = 6000n;

/** `PreDigest::SecondaryPlain`. */
const SECONDARY_PLAIN = 2;
/** `ConsensusLog` of GRANDPA and of BEEFY. */
const SCHEDULED_CHANGE = 1;
const AUTHORITIES_CHANGE = 1;
const MMR_ROOT = 3;

const beefySetCodec = Struct({ validators: list(fixedBytes(33)), id: u64 });

/** What the digest tells of a block. */
export interface DigestFacts {
  readonly nowMs: bigint;
  /** The set that takes over with this block; undefined where none does. */
  readonly newSet: ValidatorSet | undefined;
  /** Undefined before the range has leaves. */
  readonly mmrRoot: Hash256 | undefined;
}

/** The items of a header: author's slot, announcements, seal. */
export function relayDigest({ nowMs, newSet, mmrRoot }: DigestFacts): readonly Uint8Array[] {
  const slot = concatBytes(Uint8Array.of(SECONDARY_PLAIN), u32.enc(0), u64.enc(nowMs / slotMs));
  const items = [digestItem("preRuntime", "BABE", slot)];
  if (newSet !== undefined) {
    const authorities = grandpaAuthoritiesCodec.enc(newSet.grandpaAuthorities);
    const change = concatBytes(Uint8Array.of(SCHEDULED_CHANGE), authorities, u32.enc(0));
    items.push(digestItem("consensus", "FRNK", change));
    const set = beefySetCodec.enc({ validators: newSet.beefyKeys, id: newSet.beefySetId });
    items.push(digestItem("consensus", "BEEF", concatBytes(Uint8Array.of(AUTHORITIES_CHANGE), set)));
  }
  if (mmrRoot !== undefined) {
    items.push(digestItem("consensus", "BEEF", concatBytes(Uint8Array.of(MMR_ROOT), fromHex(mmrRoot))));
  }
  // Nobody here looks at seals: what stands for the signature is no signature.
  return [...items, digestItem("seal", "BABE", new Uint8Array(64).fill(0xb5))];
}
