/**
 * Roots of long SSZ lists of small containers (validators, deposits) from a stream of their bytes. Many records are
 * hashed at once; see `chunk_tree.ts`.
 */
import { type HashTree, hashUp } from "./chunk_tree.ts";

const CHUNK_BYTES = 32;
/** Records hashed at once; with eight leaves each that is half a megabyte. */
const BATCH_RECORDS = 2048;

/** One field of a record: position of its bytes, and of its leaf. */
interface Field {
  readonly index: number;
  readonly offset: number;
  readonly size: number;
  /** Levels of the tree over its chunks. */
  readonly levels: number;
}

function levelsOf(leaves: number): number {
  return Math.ceil(Math.log2(leaves));
}

/** The tree over the records of a list. */
export class RecordTree implements HashTree {
  readonly #fields: readonly Field[];
  readonly #recordBytes: number;
  readonly #levels: number;
  readonly #tree: HashTree;
  readonly #records: Uint8Array;
  readonly #leaves: Uint8Array;
  readonly #scratch: Uint8Array;
  #filled = 0;

  /**
   * @param sizes of the fields of a record, all of fixed size and without containers in them.
   * @param tree over the roots of the records.
   */
  constructor(sizes: readonly number[], tree: HashTree) {
    let offset = 0;
    this.#fields = sizes.map((size, index) => {
      const field = { index, offset, size, levels: levelsOf(Math.ceil(size / CHUNK_BYTES)) };
      offset += size;
      return field;
    });
    this.#recordBytes = offset;
    this.#levels = levelsOf(sizes.length);
    this.#tree = tree;
    this.#records = new Uint8Array(offset * BATCH_RECORDS);
    this.#leaves = new Uint8Array(CHUNK_BYTES * 2 ** this.#levels * BATCH_RECORDS);
    const widest = Math.max(...this.#fields.map(({ levels }) => levels));
    this.#scratch = new Uint8Array(CHUNK_BYTES * 2 ** widest * BATCH_RECORDS);
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
    const width = 2 ** this.#levels;
    const leaves = this.#leaves.subarray(0, CHUNK_BYTES * width * count);
    leaves.fill(0);
    for (const field of this.#fields) this.#placeLeaves(field, count, leaves);
    hashUp(leaves, width * count, this.#levels);
    this.#tree.take(leaves.subarray(0, CHUNK_BYTES * count));
  }

  /** Puts the root of one field of every record where the records' trees have it. */
  #placeLeaves(field: Field, count: number, leaves: Uint8Array): void {
    const stride = CHUNK_BYTES * 2 ** this.#levels;
    const width = CHUNK_BYTES * 2 ** field.levels;
    const chunks = this.#scratch.subarray(0, width * count);
    chunks.fill(0);
    for (let record = 0; record < count; record++) {
      const start = record * this.#recordBytes + field.offset;
      chunks.set(this.#records.subarray(start, start + field.size), record * width);
    }
    hashUp(chunks, 2 ** field.levels * count, field.levels);
    for (let record = 0; record < count; record++) {
      const root = chunks.subarray(CHUNK_BYTES * record, CHUNK_BYTES * (record + 1));
      leaves.set(root, record * stride + CHUNK_BYTES * field.index);
    }
  }
}
