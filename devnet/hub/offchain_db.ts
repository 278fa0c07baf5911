/**
 * The node's offchain database (kind PERSISTENT): written by block import, made canonical by finality.
 * Source: polytope-labs/hyperbridge: modules/pallets/mmr/gadget/src/offchain_mmr.rs.
 */
import { fromHex, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import { offchainKeys } from "../../src/core/ismp/storage_keys.ts";
import { decodeLeafNode } from "./pallets/mmr.ts";
import type { OffchainWrite } from "./storage.ts";
import { mmrLeafHash } from "./pallets/mmr_leaf.ts";

/** Hex digits of the fork identifier behind a canonical key. */
const forkDigits = 64;

const nodeKeyDigits = toHex(offchainKeys.mmrCanonNode(0n)).length;
const nodePrefix = toHex(offchainKeys.mmrCanonNode(0n)).slice(0, nodeKeyDigits - 16);

/** Key-value store of one node. */
export class OffchainDb {
  readonly #entries = new Map<Hex, Uint8Array>();

  /** The value under a key. */
  get(key: Uint8Array): Uint8Array | undefined {
    return this.#entries.get(toHex(key));
  }

  /** Stores a value, as the offchain index of a runtime does at block import. */
  put(key: Uint8Array, value: Uint8Array): void {
    this.#entries.set(toHex(key), value);
  }

  /** Takes over what a block wrote. */
  import(writes: readonly OffchainWrite[]): void {
    for (const [key, value] of writes) {
      if (value === undefined) this.#entries.delete(key);
      else this.#entries.set(key, value);
    }
  }

  /** Finality of the block with these writes: nodes lose the fork identifier, leaves by commitment go. */
  canonicalize(writes: readonly OffchainWrite[]): void {
    for (const [key, node] of writes) {
      const isNode = key.startsWith(nodePrefix) && key.length === nodeKeyDigits + forkDigits;
      if (!isNode || node === undefined) continue;
      this.#entries.delete(key);
      this.put(fromHex(key.slice(0, nodeKeyDigits)), node);
      const leaf = decodeLeafNode(node);
      if (leaf !== undefined) this.#entries.delete(toHex(offchainKeys.leafByCommitment(mmrLeafHash(leaf))));
    }
  }
}
