/**
 * What a chain with a parachain client stores: the relay chain blocks that it has learnt of from its own blocks, and the
 * parachains that it follows. Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/lib.rs.
 */
import { concatBytes } from "../../../../core/encoding/bytes.ts";
import { blake2Concat, storagePrefix } from "../../../../core/ismp/storage_keys.ts";
import { type Codec, list, u32 } from "../../../../core/encoding/scale.ts";

/** Key below which the parachains are that the client follows. */
export const followedParachainsPrefix: Uint8Array = storagePrefix("IsmpParachain", "Parachains");

/** Present, though empty, where the client follows that parachain. */
export function followedParachainKey(paraId: number): Uint8Array {
  return concatBytes(followedParachainsPrefix, u32.enc(paraId));
}

/** Numbers of the relay chain blocks whose state roots are kept; not there before 2026. */
export function knownRelayHeightsKey(): Uint8Array {
  return storagePrefix("IsmpParachain", "KnownRelayHeights");
}

/** SCALE of {@link knownRelayHeightsKey}'s value: rising, 256 at most. */
export const knownRelayHeightsCodec: Codec<readonly number[]> = list(u32);

/** State root of a relay chain block, 32 bytes. */
export function relayStateRootKey(relayHeight: number): Uint8Array {
  const prefix = storagePrefix("IsmpParachain", "CurrentRelayChainStateRoots");
  return concatBytes(prefix, blake2Concat(u32.enc(relayHeight)));
}
