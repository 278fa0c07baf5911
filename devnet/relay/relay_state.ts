/**
 * State of a relay chain as far as bridges read it: storage items with their keys and encodings.
 * Source: paritytech/polkadot-sdk: substrate/frame/{grandpa,beefy,beefy-mmr,merkle-mountain-range,timestamp},
 * polkadot/runtime/parachains/src/paras/mod.rs.
 */
import { concatBytes, fromHex } from "../../src/core/encoding/bytes.ts";
import { authoritySetCodec } from "../../src/core/beefy/commitment.ts";
import type { ParachainHead } from "../../src/consensus/clients/beefy/spec/build_proof.ts";
import {
  currentSetIdKey,
  grandpaAuthoritiesCodec,
} from "../../src/consensus/clients/grandpa/spec/message.ts";
import { decodeHeadData, parachainHeadKey } from "../../src/core/substrate/parachain_heads.ts";
import { otherKeys, storagePrefix } from "../../src/core/ismp/storage_keys.ts";
import { bytes, fixedBytes, list, u32, u64 } from "../../src/core/encoding/scale.ts";
import type { MountainRange } from "../trie/mmr_range.ts";
import { SubstrateTrie } from "../trie/substrate_trie.ts";
import type { ParachainHeads } from "./relay_options.ts";
import type { ValidatorSet } from "./validators.ts";

/** Keys of storage items. */
export const relayKeys = {
  grandpaSetId: currentSetIdKey(),
  grandpaAuthorities: storagePrefix("Grandpa", "Authorities"),
  beefySetId: storagePrefix("Beefy", "ValidatorSetId"),
  beefyAuthorities: storagePrefix("Beefy", "Authorities"),
  beefyNextAuthorities: storagePrefix("Beefy", "NextAuthorities"),
  beefySet: storagePrefix("BeefyMmrLeaf", "BeefyAuthorities"),
  beefyNextSet: storagePrefix("BeefyMmrLeaf", "BeefyNextAuthorities"),
  mmrLeafCount: storagePrefix("Mmr", "NumberOfLeaves"),
  mmrRoot: storagePrefix("Mmr", "RootHash"),
  mmrNode: (position: bigint): Uint8Array => concatBytes(storagePrefix("Mmr", "Nodes"), u64.enc(position)),
  parachains: storagePrefix("Paras", "Parachains"),
  now: otherKeys.timestampNow(),
} as const;

/** The state before anything was written. */
export const emptyState: SubstrateTrie = SubstrateTrie.empty({ layout: "V1", hasher: "Blake2" });

function withValues(
  state: SubstrateTrie,
  values: Iterable<readonly [key: Uint8Array, value: Uint8Array]>,
): SubstrateTrie {
  let changed = state;
  for (const [key, value] of values) changed = changed.set(key, value);
  return changed;
}

const keysCodec = list(fixedBytes(33));

/** A session begins: its set is in force, the one after it is announced. */
export function withSession(state: SubstrateTrie, current: ValidatorSet, next: ValidatorSet): SubstrateTrie {
  return withValues(state, [
    [relayKeys.grandpaSetId, u64.enc(current.grandpaSetId)],
    [relayKeys.grandpaAuthorities, grandpaAuthoritiesCodec.enc(current.grandpaAuthorities)],
    [relayKeys.beefySetId, u64.enc(current.beefySetId)],
    [relayKeys.beefyAuthorities, keysCodec.enc(current.beefyKeys)],
    [relayKeys.beefyNextAuthorities, keysCodec.enc(next.beefyKeys)],
    [relayKeys.beefySet, authoritySetCodec.enc(current.beefySet)],
    [relayKeys.beefyNextSet, authoritySetCodec.enc(next.beefySet)],
  ]);
}

/** The range after a leaf was added: count, root, and the peaks, which are all that is kept of its nodes. */
export function withRange(state: SubstrateTrie, range: MountainRange): SubstrateTrie {
  const peaks = range.peaks();
  const kept = new Set(peaks.map(({ position }) => position));
  const old = range.leafCount === 1n ? [] : range.peaks(range.leafCount - 1n);
  let changed = state;
  for (const { position } of old) {
    if (!kept.has(position)) changed = changed.delete(relayKeys.mmrNode(position));
  }
  return withValues(changed, [
    [relayKeys.mmrLeafCount, u64.enc(range.leafCount)],
    [relayKeys.mmrRoot, fromHex(range.root())],
    ...peaks.map(({ position, hash }) => [relayKeys.mmrNode(position), fromHex(hash)] as const),
  ]);
}

/** New heads of parachains, and the list of those that are not on demand. */
export function withHeads(
  state: SubstrateTrie,
  heads: ParachainHeads,
  listed: readonly number[],
): SubstrateTrie {
  return withValues(state, [
    [relayKeys.parachains, list(u32).enc(listed)],
    ...[...heads].map(([paraId, head]) => [parachainHeadKey(paraId), bytes.enc(head)] as const),
  ]);
}

/** Heads that the tree of heads is over, by ascending id; ids without a head are left out. */
export function headsOf(state: SubstrateTrie, paraIds: readonly number[]): readonly ParachainHead[] {
  return [...new Set(paraIds)].sort((a, b) => a - b).flatMap((paraId) => {
    const stored = state.get(parachainHeadKey(paraId));
    return stored === undefined ? [] : [{ paraId, head: decodeHeadData(stored) }];
  });
}
