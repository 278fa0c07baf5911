/**
 * Field roots of a beacon state, from bytes or JSON: the root of each field, the tree above them, and the values that
 * updates need. Memory does not grow with the number of validators.
 */
import { ChunkTree, type HashTree, mixLength, ProgressiveTree, RecordTree } from "./chunk_tree.ts";
import { checkpointType, ExecutionPayloadHeader, sha256Pair, uint64Root, ZERO_NODE } from "./ssz_roots.ts";
import {
  fixedBytesOf,
  fixedPartBytes,
  STATE_FIELD,
  type StateField,
  type StateLayout,
} from "./state_layout.ts";
import { readCommittee } from "./state_proof.ts";
import { DerivationError } from "./sync_committee_error.ts";
import type { SyncCommittee } from "./update.ts";
import { concatBytes, type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";

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

/** Consecutive bytes of the state that belong together. */
interface Segment {
  /** Where it ends in the state. */
  readonly endsAt: number;
  readonly target: FieldSink;
}

/** Bytes of an offset. */
const OFFSET_BYTES = 4;

/**
 * Takes the bytes of one state in order, in pieces of any size. The values are only as authentic as the resulting root:
 * compare it before use.
 */
export class BeaconStateReader {
  readonly #fields: readonly StateField[];
  readonly #roots: FieldRoots;
  readonly #offsets = new Map<number, number>();
  #segments: Segment[] = [];
  #position = 0;

  constructor({ fields, isProgressive }: StateLayout) {
    this.#fields = fields;
    this.#roots = new FieldRoots(isProgressive);
    this.#openFixed(0);
  }

  /** Takes the next bytes. @throws {DerivationError} `state_bytes` when they cannot be those of such a state. */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const [segment] = this.#segments;
      if (segment === undefined) throw new DerivationError("state_bytes");
      const count = Math.min(segment.endsAt - this.#position, bytes.length - at);
      segment.target.take(bytes.subarray(at, at + count));
      at += count;
      this.#position += count;
      this.#closeFull();
    }
  }

  /** Returns the parts after the last byte. @throws {DerivationError} `state_bytes` when bytes are missing. */
  finish(): BeaconStateParts {
    const [last, ...others] = this.#segments;
    if (last === undefined || others.length > 0 || last.endsAt !== Infinity) {
      throw new DerivationError("state_bytes");
    }
    last.target.end();
    return this.#roots.finish();
  }

  /** Ends every segment that has all of its bytes. */
  #closeFull(): void {
    for (
      let segment = this.#segments[0];
      segment !== undefined && segment.endsAt === this.#position;
      segment = this.#segments[0]
    ) {
      this.#segments.shift();
      segment.target.end();
      if (this.#segments.length === 0) this.#openNext();
    }
  }

  /** After the field with the first offset: the rest of the fixed part; after that: the lists. */
  #openNext(): void {
    const firstList = STATE_FIELD.firstList;
    if (this.#offsets.size > 1) {
      this.#openLists();
      return;
    }
    if (this.#offsets.get(firstList) !== fixedPartBytes(this.#fields)) {
      throw new DerivationError("state_bytes");
    }
    this.#openFixed(firstList + 1);
  }

  /** Opens fields of the fixed part: those up to the first offset, or all from it on. */
  #openFixed(from: number): void {
    const until = from === 0 ? STATE_FIELD.firstList + 1 : this.#fields.length;
    let endsAt = this.#position;
    for (let index = from; index < until; index++) {
      const field = this.#fields[index];
      if (field === undefined) throw new DerivationError("state_bytes");
      endsAt += fixedBytesOf(field);
      const isInPlace = field.kind === "value" || field.kind === "vector";
      const target = isInPlace ? this.#roots.sinkOf(index, field) : this.#offsetSink(index);
      this.#segments.push({ endsAt, target });
    }
  }

  #offsetSink(index: number): FieldSink {
    const bytes = new Uint8Array(OFFSET_BYTES);
    let filled = 0;
    return {
      take: (piece) => {
        bytes.set(piece, filled);
        filled += piece.length;
      },
      end: () => {
        this.#offsets.set(index, new DataView(bytes.buffer).getUint32(0, true));
      },
    };
  }

  #openLists(): void {
    const starts = [...this.#offsets];
    starts.forEach(([index, start], at) => {
      const endsAt = starts[at + 1]?.[1] ?? Infinity;
      const field = this.#fields[index];
      if (field === undefined || endsAt < start) throw new DerivationError("state_bytes");
      this.#segments.push({ endsAt, target: this.#roots.sinkOf(index, field) });
    });
  }
}
