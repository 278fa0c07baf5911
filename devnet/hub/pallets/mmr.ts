/**
 * Pallet Mmr: leaves pushed during a block, appended to the mountain range at its end. The node has the range in memory, and
 * the bodies of leaves in its offchain database.
 * Source: polytope-labs/hyperbridge: modules/pallets/mmr/src/{lib.rs,mmr/storage.rs}, modules/pallets/mmr/gadget.
 */
import { type Hash256 } from "../../../src/core/encoding/bytes.ts";
import {
  commitmentOfGet,
  commitmentOfPost,
  commitmentOfResponse,
  type Leaf,
  leafCodec,
  requestCodec,
} from "../../../src/core/ismp/message.ts";
import type { leafIndexAndPosCodec } from "../../../src/core/ismp/proof.ts";
import { offchainKeys } from "../../../src/core/ismp/storage_keys.ts";
import type { Execution } from "../runtime.ts";
import { hash256, u32, u64 } from "../../../src/core/encoding/scale.ts";
import { leafPosition, MountainRange } from "../../trie/mmr_range.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { PalletStorage } from "../storage.ts";
import type { CodecType } from "scale-ts";

/** Commitment of a request of either kind. */
function commitmentOfRequest(request: CodecType<typeof requestCodec>): Hash256 {
  return request.tag === "Post" ? commitmentOfPost(request.value) : commitmentOfGet(request.value);
}

/** Leaf hash in the hub's MMR: the commitment itself. */
export function mmrLeafHash(leaf: Leaf): Hash256 {
  return leaf.tag === "Request" ? commitmentOfRequest(leaf.value) : commitmentOfResponse(leaf.value);
}

/**
 * Where a chain keeps the bodies of requests and responses: the hub in its mountain range, other chains nowhere
 * but in the offchain database.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/offchain.rs (OffchainDBProvider and its `()`).
 */

/** Takes leaves in during a block. */
export interface LeafStore {
  /** Adds a leaf and tells where it will be. */
  push(execution: Execution, leaf: Leaf): CodecType<typeof leafIndexAndPosCodec>;
  /** End of a block. @returns the root that goes into the header's digest. */
  finalize(execution: Execution): Hash256;
}

/** No tree: every leaf is at 0, the root is zero, the body is under its commitment. */
export const offchainLeaves: LeafStore = {
  push(execution, leaf): CodecType<typeof leafIndexAndPosCodec> {
    keepBody(execution, leaf);
    return { leafIndex: 0n, pos: 0n };
  },
  finalize: () => emptyRoot,
};

const emptyRoot: Hash256 = `0x${"00".repeat(32)}`;

/** Keeps the body of a leaf under its commitment in the node's offchain database. */
function keepBody({ overlay }: Execution, leaf: Leaf): void {
  overlay.writeOffchain(offchainKeys.leafByCommitment(mmrLeafHash(leaf)), leafCodec.enc(leaf));
}

/** The pallet with the node's mountain range. */
export class MmrPallet extends PalletStorage implements LeafStore {
  readonly rootHash = this.item("RootHash", [], hash256);
  readonly numberOfLeaves = this.item("NumberOfLeaves", [], u64);
  readonly #intermediate = this.item("IntermediateLeaves", [u64], leafCodec);
  readonly #intermediateCount = this.item("CounterForIntermediateLeaves", [], u32);
  /** For proofs at any leaf count reached so far. */
  readonly range = new MountainRange();

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "Mmr");
  }

  /** Queues a leaf for the end of the block and tells where it will be. */
  push(execution: Execution, leaf: Leaf): CodecType<typeof leafIndexAndPosCodec> {
    const { overlay } = execution;
    keepBody(execution, leaf);
    const queued = this.#intermediateCount.get(overlay) ?? 0;
    this.#intermediate.put(overlay, leaf, BigInt(queued));
    this.#intermediateCount.put(overlay, queued + 1);
    const leafIndex = (this.numberOfLeaves.get(overlay) ?? 0n) + BigInt(queued);
    return { leafIndex, pos: leafPosition(leafIndex) };
  }

  /**
   * End of a block: appends what was pushed. Only for blocks that will be imported, since the range grows.
   * @returns the root of the range.
   */
  finalize(execution: Execution): Hash256 {
    const { overlay } = execution;
    const queued = this.#intermediateCount.get(overlay) ?? 0;
    if (queued === 0) return this.rootHash.get(overlay) ?? emptyRoot;
    for (let index = 0n; index < BigInt(queued); index++) {
      const leaf = this.#intermediate.get(overlay, index);
      if (leaf === undefined) throw new Error("A queued leaf is missing");
      this.range.append(mmrLeafHash(leaf));
      this.#intermediate.remove(overlay, index);
    }
    this.#intermediateCount.put(overlay, 0);
    this.numberOfLeaves.put(overlay, this.range.leafCount);
    const root = this.range.root();
    this.rootHash.put(overlay, root);
    return root;
  }
}
