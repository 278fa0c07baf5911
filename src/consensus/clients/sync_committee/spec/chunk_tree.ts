/**
 * Roots of long SSZ lists and vectors from a stream of their bytes, in memory that does not grow with them: of chunks, and
 * of small containers (validators, deposits), of which many are hashed at once. Hashes with
 * as-sha256 (wasm): a mainnet state takes some twenty million of them, three times slower elsewhere. Source:
 * ethereum/consensus-specs: ssz/simple-serialize.md (merkleization).
 */
import { digest2Bytes32, hashInto } from "@chainsafe/as-sha256";
import { zeroNode } from "@chainsafe/persistent-merkle-tree";

const CHUNK_BYTES = 32;
/** Levels of the tree that are hashed at once: 2048 chunks, 64 KiB. */
const BATCH_LEVELS = 11;

/**
 * Hashes the first `nodes` nodes in `buffer` by pairs, in place, `levels` times, beginning with chunks. Where a node
 * has no partner, the root of an empty tree of its level stands in.
 * @param buffer has room for one node more when `nodes` is odd.
 */
function hashUp(buffer: Uint8Array, nodes: number, levels: number): void {
  let count = nodes;
  for (let step = 0; step < levels; step++) {
    if (count % 2 === 1) buffer.set(zeroNode(step).root, CHUNK_BYTES * count++);
    hashInto(buffer.subarray(0, CHUNK_BYTES * count), buffer.subarray(0, CHUNK_BYTES * (count / 2)));
    count /= 2;
  }
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
  readonly #buffer: Uint8Array;
  #filled = 0;
  /** By level: the root of a full tree that waits for its partner on the right. */
  readonly #waiting: (Uint8Array | undefined)[] = [];

  /** @param depth of the tree: its limit is `2 ** depth` chunks. */
  constructor(depth: number) {
    this.#depth = depth;
    this.#batchLevels = Math.min(depth, BATCH_LEVELS);
    // Room for the zero node beside an odd one.
    this.#buffer = new Uint8Array(CHUNK_BYTES * Math.max(2, 2 ** this.#batchLevels));
  }

  take(bytes: Uint8Array): void {
    const capacity = CHUNK_BYTES * 2 ** this.#batchLevels;
    for (let at = 0; at < bytes.length;) {
      const count = Math.min(capacity - this.#filled, bytes.length - at);
      this.#buffer.set(bytes.subarray(at, at + count), this.#filled);
      at += count;
      this.#filled += count;
      if (this.#filled === capacity) this.#closeBatch(2 ** this.#batchLevels);
    }
  }

  #closeBatch(chunks: number): void {
    hashUp(this.#buffer, chunks, this.#batchLevels);
    let node: Uint8Array = this.#buffer.slice(0, CHUNK_BYTES);
    this.#filled = 0;
    let level = this.#batchLevels;
    for (let left = this.#waiting[level]; left !== undefined; left = this.#waiting[level]) {
      node = digest2Bytes32(left, node);
      this.#waiting[level++] = undefined;
    }
    this.#waiting[level] = node;
  }

  root(): Uint8Array {
    let node: Uint8Array | undefined;
    if (this.#filled > 0) {
      const chunks = Math.ceil(this.#filled / CHUNK_BYTES);
      this.#buffer.fill(0, this.#filled, CHUNK_BYTES * chunks);
      hashUp(this.#buffer, chunks, this.#batchLevels);
      node = this.#buffer.slice(0, CHUNK_BYTES);
    }
    for (let level = this.#batchLevels; level < this.#depth; level++) {
      const left = this.#waiting[level];
      if (left !== undefined) node = digest2Bytes32(left, node ?? zeroNode(level).root);
      else if (node !== undefined) node = digest2Bytes32(node, zeroNode(level).root);
    }
    return node ?? this.#waiting[this.#depth] ?? zeroNode(this.#depth).root;
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

/** Levels of the tree over so many leaves. */
function levelsOf(leaves: number): number {
  return Math.ceil(Math.log2(leaves));
}

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
    const levels = levelsOf(this.#sizes.length);
    const leaves = new Uint8Array(CHUNK_BYTES * 2 ** levels * count);
    let at = 0;
    for (let record = 0; record < count; record++) {
      this.#sizes.forEach((size, index) => {
        const place = CHUNK_BYTES * (2 ** levels * record + index);
        leaves.set(rootOfField(this.#records.subarray(at, at + size)), place);
        at += size;
      });
    }
    hashUp(leaves, 2 ** levels * count, levels);
    this.#tree.take(leaves.subarray(0, CHUNK_BYTES * count));
  }
}

/** Root of the field of a record; a field of one chunk is its own, which zeros fill up. */
function rootOfField(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= CHUNK_BYTES) return bytes;
  const levels = levelsOf(Math.ceil(bytes.length / CHUNK_BYTES));
  const chunks = new Uint8Array(CHUNK_BYTES * 2 ** levels);
  chunks.set(bytes);
  hashUp(chunks, 2 ** levels, levels);
  return chunks.subarray(0, CHUNK_BYTES);
}
