/**
 * Heads of parachains in the state of their relay chain.
 * Source: paritytech/polkadot-sdk: polkadot/runtime/parachains/src/paras/mod.rs (Heads: Twox64Concat para id to head data).
 */
import { concatBytes, equalBytes, type Hash256, toHex } from "../encoding/bytes.ts";
import { storagePrefix, twoxConcat } from "../ismp/storage_keys.ts";
import { bytes, decodeStrict, ScaleError, u32 } from "../encoding/scale.ts";
import { readSubstrateProof } from "../merkle/substrate_proof.ts";

/** Prefix of the keys of all heads. */
export const parachainHeadsPrefix: Uint8Array = storagePrefix("Paras", "Heads");

/** Key of a parachain's newest head. */
export function parachainHeadKey(paraId: number): Uint8Array {
  return concatBytes(parachainHeadsPrefix, twoxConcat(u32.enc(paraId)));
}

/** The parachain in the key of a head. @throws {ScaleError} for another key. */
export function parachainOfHeadKey(key: Uint8Array): number {
  const paraId = decodeStrict(u32, key.slice(parachainHeadsPrefix.length + 8), "Paras.Heads");
  if (equalBytes(key, parachainHeadKey(paraId))) return paraId;
  throw new ScaleError("invalid", "Paras.Heads");
}

/** Decodes the head data (for most parachains a SCALE header) of the stored value. @throws {ScaleError} */
export function decodeHeadData(stored: Uint8Array): Uint8Array {
  return decodeStrict(bytes, stored, "HeadData");
}

/**
 * Heads of parachains proven by nodes of a relay chain's state; undefined for those that have none.
 * @throws {TrieError} when the nodes do not decide.
 */
export function provenHeads(
  nodes: readonly Uint8Array[],
  stateRoot: Hash256,
  paraIds: readonly number[],
): ReadonlyMap<number, Uint8Array | undefined> {
  const keys = paraIds.map(parachainHeadKey);
  const values = readSubstrateProof({ root: stateRoot, hasher: "Blake2", nodes, keys });
  return new Map(paraIds.map((id, at) => [id, values.get(toHex(keys[at] ?? new Uint8Array(0)))]));
}
