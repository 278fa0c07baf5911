/**
 * Field roots of a beacon state, from bytes or JSON: the root of each field, the tree above them, and the values that
 * updates need. Memory does not grow with the number of validators.
 */
import { concatBytes, type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { ChunkTree, type HashTree, mixLength, ProgressiveTree, RecordTree } from "./chunk_tree.ts";
import { DerivationError } from "./sync_committee_error.ts";
import { sha256Pair, ZERO_NODE } from "./merkle.ts";
import { ExecutionPayloadHeader, uint64Root } from "./ssz_roots.ts";
import { checkpointType, STATE_FIELD, type StateField } from "./state_layout.ts";
import { readCommittee } from "./state_prefix.ts";
import type { SyncCommittee } from "./update.ts";

/** Parts of a whole state: its tree above the fields, and the values that updates need. */
export interface BeaconStateParts {
  readonly slot: bigint;
  /** Nodes by generalized index, from 1 (the state's root) down to the fields. */
  readonly nodes: ReadonlyMap<number, Hash256>;
  readonly finalizedCheckpoint: { readonly epoch: bigint; readonly root: Hash256 };
  readonly currentSyncCommittee: SyncCommittee;
  readonly nextSyncCommittee: SyncCommittee;
  /** The payload header; in Gloas the hash of the last execution block. */
  readonly execution: ExecutionPayloadHeader | Hash256;
}

/** Takes the bytes of a field in order, in pieces of any size. */
export interface FieldSink {
  take(bytes: Uint8Array): void;
  /** Called after the last byte. @throws {DerivationError} `state_bytes` */
  end(): void;
}

/** Leaves of the tree over the fields before Gloas. */
const LEAVES = 64;

const keptFields: ReadonlySet<number> = new Set([
  STATE_FIELD.slot,
  STATE_FIELD.finalizedCheckpoint,
  STATE_FIELD.currentSyncCommittee,
  STATE_FIELD.nextSyncCommittee,
  STATE_FIELD.execution,
]);

/** Keeps the bytes until all are there. */
class Collector implements FieldSink {
  readonly #maxBytes: number;
  readonly #done: (bytes: Uint8Array) => void;
  readonly #pieces: Uint8Array[] = [];
  #filled = 0;

  constructor(maxBytes: number, done: (bytes: Uint8Array) => void) {
    this.#maxBytes = maxBytes;
    this.#done = done;
  }

  take(bytes: Uint8Array): void {
    this.#filled += bytes.length;
    if (this.#filled > this.#maxBytes) throw new DerivationError("state_bytes");
    this.#pieces.push(bytes.slice());
  }

  end(): void {
    this.#done(concatBytes(...this.#pieces));
  }
}

/** Hashes the bytes of a long field while they arrive. */
class TreeSink implements FieldSink {
  readonly #tree: HashTree;
  readonly #done: (length: number, root: () => Uint8Array) => void;
  #length = 0;

  constructor(tree: HashTree, done: (length: number, root: () => Uint8Array) => void) {
    this.#tree = tree;
    this.#done = done;
  }

  take(bytes: Uint8Array): void {
    this.#tree.take(bytes);
    this.#length += bytes.length;
  }

  end(): void {
    this.#done(this.#length, () => this.#tree.root());
  }
}

/** The fields of one state. The values are only as authentic as the resulting root: compare it before use. */
export class FieldRoots {
  readonly #isProgressive: boolean;
  readonly #roots: (Uint8Array | undefined)[] = [];
  readonly #kept = new Map<number, Uint8Array>();

  /** @param isProgressive see `StateLayout`. */
  constructor(isProgressive: boolean) {
    this.#isProgressive = isProgressive;
  }

  /** Returns the consumer of a field's content. */
  sinkOf(index: number, field: StateField): FieldSink {
    switch (field.kind) {
      case "value":
        return new Collector(field.bytes, (bytes) => {
          if (bytes.length !== field.bytes) throw new DerivationError("state_bytes");
          this.#note(index, bytes, field.root);
        });
      case "whole":
        return new Collector(field.maxBytes, (bytes) => this.#note(index, bytes, field.root));
      case "vector":
        return new TreeSink(new ChunkTree(field.depth), (length, root) => {
          if (length !== field.bytes) throw new DerivationError("state_bytes");
          this.#roots[index] = root();
        });
      case "list":
        return this.#listSink(index, treeOf(field.limit, field.itemBytes / 32), field);
      case "records": {
        const itemBytes = field.sizes.reduce((sum, size) => sum + size, 0);
        const tree = new RecordTree(field.sizes, treeOf(field.limit, 1));
        return this.#listSink(index, tree, { itemBytes, limit: field.limit });
      }
    }
  }

  /** Returns the parts after the last field. @throws {DerivationError} `state_bytes` when fields are missing. */
  finish(): BeaconStateParts {
    const kept = (field: number): Uint8Array => {
      const bytes = this.#kept.get(field);
      if (bytes === undefined) throw new DerivationError("state_bytes");
      return bytes;
    };
    return {
      slot: uint64Of(kept(STATE_FIELD.slot)),
      nodes: this.#nodes(),
      finalizedCheckpoint: readCheckpoint(kept(STATE_FIELD.finalizedCheckpoint)),
      currentSyncCommittee: readCommittee(kept(STATE_FIELD.currentSyncCommittee)),
      nextSyncCommittee: readCommittee(kept(STATE_FIELD.nextSyncCommittee)),
      execution: this.#isProgressive
        ? toHash256(kept(STATE_FIELD.execution))
        : ExecutionPayloadHeader.fromBytes(kept(STATE_FIELD.execution)),
    };
  }

  #listSink(
    index: number,
    tree: HashTree,
    { itemBytes, limit = Infinity }: { readonly itemBytes: number; readonly limit: number | undefined },
  ): FieldSink {
    return new TreeSink(tree, (length, root) => {
      const items = length / itemBytes;
      if (!Number.isInteger(items) || items > limit) throw new DerivationError("state_bytes");
      this.#roots[index] = mixLength(root(), items);
    });
  }

  #note(index: number, bytes: Uint8Array, rootOf: (bytes: Uint8Array) => Uint8Array): void {
    try {
      this.#roots[index] = rootOf(bytes);
    } catch (cause) {
      // The codecs throw errors without a code.
      throw new DerivationError("state_bytes", { cause });
    }
    if (keptFields.has(index)) this.#kept.set(index, bytes);
  }

  #nodes(): ReadonlyMap<number, Hash256> {
    const roots = Array.from(this.#roots, (root) => root === undefined ? ZERO_NODE : toHash256(root));
    const nodes = new Map<number, Hash256>();
    if (!this.#isProgressive) {
      placeTree(nodes, 1, { roots, leaves: LEAVES });
      return nodes;
    }
    placeProgressive(nodes, 2, { roots, leaves: 1 });
    const activeFields = (1n << BigInt(roots.length)) - 1n;
    nodes.set(3, uint64Root(activeFields));
    placeParent(nodes, 1);
    return nodes;
  }
}

/** Roots of fields, and the number of leaves of the (sub)tree that they are to be placed in. */
interface Placed {
  readonly roots: readonly Hash256[];
  readonly leaves: number;
}

/** Places a tree of a power of two leaves at a generalized index. */
function placeTree(nodes: Map<number, Hash256>, index: number, { roots, leaves }: Placed): void {
  if (leaves === 1) {
    nodes.set(index, roots[0] ?? ZERO_NODE);
    return;
  }
  const half = leaves / 2;
  placeTree(nodes, 2 * index, { roots: roots.slice(0, half), leaves: half });
  placeTree(nodes, 2 * index + 1, { roots: roots.slice(half), leaves: half });
  placeParent(nodes, index);
}

/** Places a progressive tree: one of `leaves` on the left, one of all further roots on the right. */
function placeProgressive(nodes: Map<number, Hash256>, index: number, { roots, leaves }: Placed): void {
  if (roots.length === 0) {
    nodes.set(index, ZERO_NODE);
    return;
  }
  placeTree(nodes, 2 * index, { roots: roots.slice(0, leaves), leaves });
  placeProgressive(nodes, 2 * index + 1, { roots: roots.slice(leaves), leaves: 4 * leaves });
  placeParent(nodes, index);
}

function placeParent(nodes: Map<number, Hash256>, index: number): void {
  nodes.set(index, sha256Pair(nodes.get(2 * index) ?? ZERO_NODE, nodes.get(2 * index + 1) ?? ZERO_NODE));
}

/** Tree of a list by its limit in items. @param chunks of an item. */
function treeOf(limit: number | undefined, chunks: number): HashTree {
  return limit === undefined ? new ProgressiveTree() : new ChunkTree(Math.ceil(Math.log2(limit * chunks)));
}

function uint64Of(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
}

function readCheckpoint(bytes: Uint8Array): BeaconStateParts["finalizedCheckpoint"] {
  const { epoch, root } = checkpointType.deserialize(bytes);
  return { epoch, root: toHash256(root) };
}
