/**
 * Storage of a chain with a parachain client: the relay chain blocks that its own blocks contain, and the parachains
 * that it follows. Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/lib.rs.
 */
import { concatBytes } from "../../../../core/encoding/bytes.ts";
import { blake2Concat, storagePrefix } from "../../../../core/ismp/storage_keys.ts";
import { type Codec, list, u32, u64 } from "../../../../core/encoding/scale.ts";

/** Prefix of the keys of followed parachains. */
export const followedParachainsPrefix: Uint8Array = storagePrefix("IsmpParachain", "Parachains");

/** Key that is present, though empty, where the client follows that parachain. */
export function followedParachainKey(paraId: number): Uint8Array {
  return concatBytes(followedParachainsPrefix, u32.enc(paraId));
}

/**
 * Key of the slot duration that dates the headers of a parachain without timestamps; absent where governance has set
 * none.
 */
export function slotDurationKey(paraId: number): Uint8Array {
  return concatBytes(storagePrefix("IsmpParachain", "SlotDurations"), u32.enc(paraId));
}

/** SCALE of {@link slotDurationKey}'s value: milliseconds. */
export const slotDurationCodec: Codec<bigint> = u64;

/** Key of the numbers of relay chain blocks whose state roots are stored; absent before 2026. */
export function knownRelayHeightsKey(): Uint8Array {
  return storagePrefix("IsmpParachain", "KnownRelayHeights");
}

/** SCALE of {@link knownRelayHeightsKey}'s value: ascending, at most 256. */
export const knownRelayHeightsCodec: Codec<readonly number[]> = list(u32);

/** Key of the state root of a relay chain block, 32 bytes. */
export function relayStateRootKey(relayHeight: number): Uint8Array {
  const prefix = storagePrefix("IsmpParachain", "CurrentRelayChainStateRoots");
  return concatBytes(prefix, blake2Concat(u32.enc(relayHeight)));
}
