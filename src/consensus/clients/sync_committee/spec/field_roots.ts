/**
 * Field roots of a beacon state of Electra or Fulu, from bytes or JSON: the root of each field, the tree above them,
 * and the values that updates need. Memory does not grow with the number of validators.
 */
import { type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { ChunkTree, mixLength } from "./chunk_tree.ts";
import { DerivationError } from "./derivation_error.ts";
import { sha256Pair } from "./merkle.ts";
import { RecordTree } from "./record_tree.ts";
import { type ExecutionPayloadHeader, readPayloadHeader } from "./ssz_roots.ts";
import { readCommittee, readSummaries } from "./state_fields.ts";
import { checkpointType, STATE_FIELD, type StateField } from "./state_layout.ts";
import type { HistoricalSummary } from "./state_prefix.ts";
import type { SyncCommittee } from "./update.ts";

/** Parts of a whole state: its tree above the fields, and the values that updates need. */
export interface BeaconStateParts {
  readonly slot: bigint;
  /** Nodes by generalized index, 1 (the state's root) to 127; the fields are at 64 and above. */
  readonly nodes: readonly Hash256[];
  readonly finalizedCheckpoint: { readonly epoch: bigint; readonly root: Hash256 };
  readonly currentSyncCommittee: SyncCommittee;
  readonly nextSyncCommittee: SyncCommittee;
  readonly payloadHeader: ExecutionPayloadHeader;
  readonly historicalSummaries: readonly HistoricalSummary[];
}

/** Takes the bytes of a field in order, in pieces of any size. */
export interface FieldSink {
  take(bytes: Uint8Array): void;
  /** Called after the last byte. @throws {DerivationError} `state_bytes` */
  end(): void;
}

/** Leaves of the tree over the fields. */
const LEAVES = 64;

const keptFields: ReadonlySet<number> = new Set([
  STATE_FIELD.slot,
  STATE_FIELD.finalizedCheckpoint,
  STATE_FIELD.currentSyncCommittee,
  STATE_FIELD.nextSyncCommittee,
  STATE_FIELD.payloadHeader,
  STATE_FIELD.historicalSummaries,
]);

/** Keeps the bytes until all are there. */
class Collector implements FieldSink {
  #bytes: Uint8Array;
  readonly #maxBytes: number;
  readonly #done: (bytes: Uint8Array) => void;
  #filled = 0;

  constructor(maxBytes: number, done: (bytes: Uint8Array) => void) {
    this.#maxBytes = maxBytes;
    this.#bytes = new Uint8Array(Math.min(maxBytes, 65_536));
    this.#done = done;
  }

  take(bytes: Uint8Array): void {
    const filled = this.#filled + bytes.length;
    if (filled > this.#maxBytes) throw new DerivationError("state_bytes");
    if (filled > this.#bytes.length) {
      const larger = new Uint8Array(Math.min(this.#maxBytes, Math.max(filled, 2 * this.#bytes.length)));
      larger.set(this.#bytes.subarray(0, this.#filled));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#filled);
    this.#filled = filled;
  }

  end(): void {
    this.#done(this.#bytes.subarray(0, this.#filled));
  }
}

/** Hashes the bytes of a long field while they arrive. */
class TreeSink implements FieldSink {
  readonly #tree: ChunkTree | RecordTree;
  readonly #done: (length: number, root: () => Uint8Array) => void;
  #length = 0;

  constructor(tree: ChunkTree | RecordTree, done: (length: number, root: () => Uint8Array) => void) {
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
  readonly #roots: (Uint8Array | undefined)[] = [];
  readonly #kept = new Map<number, Uint8Array>();

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
      case "list": {
        const chunks = Math.ceil(field.limit * field.itemBytes / 32);
        return this.#listSink(index, new ChunkTree(Math.ceil(Math.log2(chunks))), field);
      }
      case "records": {
        const itemBytes = field.sizes.reduce((sum, size) => sum + size, 0);
        const tree = new RecordTree(field.sizes, Math.ceil(Math.log2(field.limit)));
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
      payloadHeader: readPayloadHeader(kept(STATE_FIELD.payloadHeader)),
      historicalSummaries: readSummaries(kept(STATE_FIELD.historicalSummaries)),
    };
  }

  #listSink(
    index: number,
    tree: ChunkTree | RecordTree,
    { itemBytes, limit }: { readonly itemBytes: number; readonly limit: number },
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

  #nodes(): Hash256[] {
    const nodes = Array<Hash256>(2 * LEAVES).fill(`0x${"00".repeat(32)}`);
    this.#roots.forEach((root, index) => {
      if (root !== undefined) nodes[LEAVES + index] = toHash256(root);
    });
    for (let index = LEAVES - 1; index >= 1; index--) {
      const [left, right] = [nodes[2 * index], nodes[2 * index + 1]];
      if (left !== undefined && right !== undefined) nodes[index] = sha256Pair(left, right);
    }
    return nodes;
  }
}

function uint64Of(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
}

function readCheckpoint(bytes: Uint8Array): BeaconStateParts["finalizedCheckpoint"] {
  const { epoch, root } = checkpointType.deserialize(bytes);
  return { epoch, root: toHash256(root) };
}
