/**
 * Where a chain keeps the bodies of requests and responses: the hub in its mountain range, other chains nowhere
 * but in the offchain database.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/offchain.rs (OffchainDBProvider and its `()`).
 */
import type { Hash256, Hex } from "../../../src/core/encoding/bytes.ts";
import type { LeafIndexAndPos } from "../../../src/core/ismp/proof.ts";
import { type Leaf, leafCodec } from "../../../src/core/ismp/message.ts";
import { offchainKeys } from "../../../src/core/ismp/storage_keys.ts";
import type { Execution } from "../runtime.ts";
import { mmrLeafHash } from "./mmr_leaf.ts";

/** Takes leaves in during a block. */
export interface LeafStore {
  /** Adds a leaf and tells where it will be. */
  push(execution: Execution, leaf: Leaf): LeafIndexAndPos;
  /** End of a block. @returns the root that goes into the header's digest. */
  finalize(execution: Execution, forkIdentifier: Hex): Hash256;
}

/** No tree: every leaf is at 0, the root is zero, the body is under its commitment. */
export const offchainLeaves: LeafStore = {
  push(execution, leaf): LeafIndexAndPos {
    const key = offchainKeys.leafByCommitment(mmrLeafHash(leaf));
    execution.overlay.writeOffchain(key, leafCodec.enc(leaf));
    return { leafIndex: 0n, pos: 0n };
  },
  finalize: () => `0x${"00".repeat(32)}`,
};
