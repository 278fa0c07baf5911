/**
 * Pallet Mmr: leaves pushed during a block, appended to the mountain range at its end; node-local copies of all
 * nodes in the offchain database, canonical after finality.
 * Source: polytope-labs/hyperbridge: modules/pallets/mmr/src/{lib.rs,mmr/storage.rs}, modules/pallets/mmr/gadget.
 */
import { concatBytes, fromHex, type Hash256, type Hex } from "../../../src/core/encoding/bytes.ts";
import {
  commitmentOfGet,
  commitmentOfPost,
  commitmentOfResponse,
  type Leaf,
  leafCodec,
  type Request,
} from "../../../src/core/ismp/message.ts";
import type { LeafIndexAndPos } from "../../../src/core/ismp/proof.ts";
import { offchainKeys } from "../../../src/core/ismp/storage_keys.ts";
import type { Execution } from "../runtime.ts";
import { bytes, decodeStrict, hash256, u32, u64 } from "../../../src/core/encoding/scale.ts";
import { leafPosition, MountainRange } from "../../trie/mmr_range.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { PalletStorage } from "../storage.ts";

/** Commitment of a request of either kind. */
function commitmentOfRequest(request: Request): Hash256 {
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

const emptyRoot: Hash256 = `0x${"00".repeat(32)}`;

/** Data of a node in the offchain database (`DataOrHash`): a whole leaf or a hash. */
function encodeNode(content: { leaf: Leaf } | { hash: Hash256 }): Uint8Array {
  if ("leaf" in content) return concatBytes(Uint8Array.of(0), bytes.enc(leafCodec.enc(content.leaf)));
  return concatBytes(Uint8Array.of(1), fromHex(content.hash));
}

/** The leaf in a node of the offchain database; undefined for inner nodes. */
export function decodeLeafNode(node: Uint8Array): Leaf | undefined {
  if (node[0] !== 0) return undefined;
  return decodeStrict(leafCodec, decodeStrict(bytes, node.slice(1), "Node"), "Leaf");
}

/** The pallet with the node's mountain range. */
export class MmrPallet extends PalletStorage implements LeafStore {
  readonly rootHash = this.item("RootHash", [], hash256);
  readonly numberOfLeaves = this.item("NumberOfLeaves", [], u64);
  readonly #nodes = this.item("Nodes", [u64], hash256);
  readonly #intermediate = this.item("IntermediateLeaves", [u64], leafCodec);
  readonly #intermediateCount = this.item("CounterForIntermediateLeaves", [], u32);
  readonly #nodeCount = this.item("CounterForNodes", [], u32);
  readonly #range = new MountainRange();

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "Mmr");
  }

  /** Queues a leaf for the end of the block and tells where it will be. */
  push(execution: Execution, leaf: Leaf): LeafIndexAndPos {
    const { overlay } = execution;
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
  finalize(execution: Execution, forkIdentifier: Hex): Hash256 {
    const { overlay } = execution;
    const queued = this.#intermediateCount.get(overlay) ?? 0;
    if (queued === 0) return this.rootHash.get(overlay) ?? emptyRoot;
    const before = this.numberOfLeaves.get(overlay) ?? 0n;
    for (let index = 0n; index < BigInt(queued); index++) {
      const leaf = this.#intermediate.get(overlay, index);
      if (leaf === undefined) throw new Error("A queued leaf is missing");
      this.#appendLeaf(execution, leaf, forkIdentifier);
      this.#intermediate.remove(overlay, index);
    }
    this.#intermediateCount.put(overlay, 0);
    this.#storePeaks(execution, before);
    this.numberOfLeaves.put(overlay, this.#range.leafCount);
    const root = this.#range.root();
    this.rootHash.put(overlay, root);
    return root;
  }

  /** The range, for proofs at any leaf count reached so far. */
  get range(): MountainRange {
    return this.#range;
  }

  #storePeaks(execution: Execution, before: bigint): void {
    const { overlay } = execution;
    const old = new Set(before === 0n ? [] : this.#range.peaks(before).map((peak) => peak.position));
    const now = this.#range.peaks();
    for (const { position } of now) old.delete(position);
    for (const position of old) this.#nodes.remove(overlay, position);
    for (const { position, hash } of now) this.#nodes.put(overlay, hash, position);
    this.#nodeCount.put(overlay, now.length);
  }

  /** Writes a leaf and the parents that it completes under keys that name this fork. */
  #appendLeaf({ overlay }: Execution, leaf: Leaf, forkIdentifier: Hex): void {
    const hash = mmrLeafHash(leaf);
    overlay.writeOffchain(offchainKeys.leafByCommitment(hash), leafCodec.enc(leaf));
    for (const [at, node] of this.#range.append(hash).entries()) {
      overlay.writeOffchain(
        concatBytes(offchainKeys.mmrCanonNode(node.position), fromHex(forkIdentifier)),
        encodeNode(at === 0 ? { leaf } : node),
      );
    }
  }
}
