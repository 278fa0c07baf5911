/**
 * Roots of long SSZ lists and vectors from a stream of their bytes, in memory that does not grow with them: of chunks, and
 * of small containers (validators, deposits), of which many are hashed at once. Hashes with
 * as-sha256 (wasm): a mainnet state takes some twenty million of them, three times slower elsewhere. Source:
 * ethereum/consensus-specs: ssz/simple-serialize.md (merkleization).
 */
import { digest2Bytes32, hashInto } from "@chainsafe/as-sha256";
import { doDigestNLevel, doMerkleizeBlocksBytes, zeroNode } from "@chainsafe/persistent-merkle-tree";
import { concatBytes } from "../../../../core/encoding/bytes.ts";

const CHUNK_BYTES = 32;
/** Levels of the tree that are hashed at once: 2048 chunks, 64 KiB. */
const BATCH_LEVELS = 11;

/** Root of chunks in a tree for `limit` of them; overwrites `chunks`. */
function merkleize(chunks: Uint8Array, limit: number): Uint8Array {
  const isOdd = limit > 1 && chunks.length % (2 * CHUNK_BYTES) !== 0;
  const root = new Uint8Array(CHUNK_BYTES);
  const blocks = isOdd ? concatBytes(chunks, new Uint8Array(CHUNK_BYTES)) : chunks;
  doMerkleizeBlocksBytes(blocks, limit, root, 0, hashInto);
  return root;
}

/** Root of a list: that of its chunks with its length. */
export function mixLength(root: Uint8Array, length: number): Uint8Array {
  const leaf = new Uint8Array(CHUNK_BYTES);
  new DataView(leaf.buffer).setBigUint64(0, BigInt(length), true);
  return digest2Bytes32(root, leaf);
}

/** A tree over the chunks of a value. The caller keeps to its limit, and takes the root once, after the last byte. */
interface HashTree {
  take(bytes: Uint8Array): void;
  root(): Uint8Array;
}

/** A tree of a depth. */
class ChunkTree implements HashTree {
  readonly #depth: number;
  readonly #batchLevels: number;
  readonly #batch: Uint8Array;
  #filled = 0;
  /** Roots of full batches. */
  readonly #roots: Uint8Array[] = [];

  /** @param depth of the tree: its limit is `2 ** depth` chunks. */
  constructor(depth: number) {
    this.#depth = depth;
    this.#batchLevels = Math.min(depth, BATCH_LEVELS);
    this.#batch = new Uint8Array(CHUNK_BYTES * 2 ** this.#batchLevels);
  }

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const count = Math.min(this.#batch.length - this.#filled, bytes.length - at);
      this.#batch.set(bytes.subarray(at, at + count), this.#filled);
      at += count;
      this.#filled += count;
      if (this.#filled === this.#batch.length) this.#closeBatch();
    }
  }

  #closeBatch(): void {
    const end = CHUNK_BYTES * Math.ceil(this.#filled / CHUNK_BYTES);
    this.#batch.fill(0, this.#filled, end);
    this.#roots.push(merkleize(this.#batch.subarray(0, end), 2 ** this.#batchLevels));
    this.#filled = 0;
  }

  root(): Uint8Array {
    if (this.#filled > 0) this.#closeBatch();
    let nodes: readonly Uint8Array[] = this.#roots;
    for (let level = this.#batchLevels; level < this.#depth; level++) {
      const right = (at: number): Uint8Array => nodes[at + 1] ?? zeroNode(level).root;
      nodes = nodes.flatMap((left, at) => at % 2 === 0 ? [digest2Bytes32(left, right(at))] : []);
    }
    return nodes[0] ?? zeroNode(this.#depth).root;
  }
}

/**
 * The tree of a progressive list: subtrees of 1, 4, 16, … chunks, each beside the node of all that follow it
 * (ethereum/EIPs: EIPS/eip-7916.md).
 */
class ProgressiveTree implements HashTree {
  readonly #full: Uint8Array[] = [];
  #tree = new ChunkTree(0);
  /** Bytes that the subtree still lacks. */
  #room = CHUNK_BYTES;

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const count = Math.min(this.#room, bytes.length - at);
      this.#tree.take(bytes.subarray(at, at + count));
      at += count;
      this.#room -= count;
      if (this.#room === 0) this.#nextSubtree();
    }
  }

  #nextSubtree(): void {
    this.#full.push(this.#tree.root());
    const depth = 2 * this.#full.length;
    this.#tree = new ChunkTree(depth);
    this.#room = CHUNK_BYTES * 2 ** depth;
  }

  root(): Uint8Array {
    const isEmpty = this.#room === CHUNK_BYTES * 4 ** this.#full.length;
    const roots = isEmpty ? this.#full : [...this.#full, this.#tree.root()];
    return roots.reduceRight((rest, root) => digest2Bytes32(root, rest), zeroNode(0).root);
  }
}

/**
 * Tree of the items of a list or vector. @param limit in items; `undefined`: it is progressive. @param sizes of the
 * fields of an item, or of the item itself, which then stands beside others in a chunk.
 */
export function treeOfItems(limit: number | undefined, sizes: readonly number[]): HashTree {
  const [first = 0] = sizes;
  const isPacked = sizes.length === 1 && first <= CHUNK_BYTES;
  const chunks = isPacked ? first / CHUNK_BYTES : 1;
  const tree = limit === undefined
    ? new ProgressiveTree()
    : new ChunkTree(Math.ceil(Math.log2(limit * chunks)));
  return isPacked ? tree : new RecordTree(sizes, tree);
}

/** Records hashed at once; with eight leaves each that is half a megabyte. */
const BATCH_RECORDS = 2048;

/** The tree over the records of a list. */
class RecordTree implements HashTree {
  readonly #sizes: readonly number[];
  readonly #recordBytes: number;
  readonly #tree: HashTree;
  readonly #records: Uint8Array;
  #filled = 0;

  /**
   * @param sizes of the fields of a record, all of fixed size and without containers in them.
   * @param tree over the roots of the records.
   */
  constructor(sizes: readonly number[], tree: HashTree) {
    this.#sizes = sizes;
    this.#recordBytes = sizes.reduce((sum, size) => sum + size, 0);
    this.#tree = tree;
    this.#records = new Uint8Array(this.#recordBytes * BATCH_RECORDS);
  }

  /** Takes the next bytes. The caller ensures that they add up to whole records. */
  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const count = Math.min(this.#records.length - this.#filled, bytes.length - at);
      this.#records.set(bytes.subarray(at, at + count), this.#filled);
      at += count;
      this.#filled += count;
      if (this.#filled === this.#records.length) this.#closeBatch();
    }
  }

  root(): Uint8Array {
    if (this.#filled > 0) this.#closeBatch();
    return this.#tree.root();
  }

  #closeBatch(): void {
    const count = this.#filled / this.#recordBytes;
    this.#filled = 0;
    const width = 2 ** Math.ceil(Math.log2(this.#sizes.length));
    const leaves = new Uint8Array(CHUNK_BYTES * width * count);
    let at = 0;
    for (let record = 0; record < count; record++) {
      this.#sizes.forEach((size, index) => {
        const place = CHUNK_BYTES * (width * record + index);
        leaves.set(rootOfField(this.#records.subarray(at, at + size)), place);
        at += size;
      });
    }
    this.#tree.take(width === 1 ? leaves : doDigestNLevel(leaves, Math.log2(width), hashInto));
  }
}

/** Root of the field of a record; a field of one chunk is its own, which zeros fill up. */
function rootOfField(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= CHUNK_BYTES) return bytes;
  const chunks = Math.ceil(bytes.length / CHUNK_BYTES);
  const padded = new Uint8Array(CHUNK_BYTES * 2 * Math.ceil(chunks / 2));
  padded.set(bytes);
  return merkleize(padded, chunks);
}
