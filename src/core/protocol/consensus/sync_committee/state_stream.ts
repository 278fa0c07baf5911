/**
 * All field roots of a beacon state of Electra or Fulu out of a stream of its SSZ bytes, in a few megabytes of memory
 * whatever the number of validators. Start reading at {@link BeaconStateReader}; the fields are in `state_layout.ts`.
 */
import { type Hash256, toHash256 } from "../../bytes.ts";
import { ChunkTree, mixLength } from "./chunk_tree.ts";
import { DerivationError } from "./derivation_error.ts";
import { hashPair } from "./merkle.ts";
import { RecordTree } from "./record_tree.ts";
import { type ExecutionPayloadHeader, readPayloadHeader } from "./ssz_roots.ts";
import { readCommittee, readSummaries } from "./state_fields.ts";
import {
  checkpointType,
  fixedBytesOf,
  fixedPartBytes,
  STATE_FIELD,
  type StateField,
  stateFields,
} from "./state_layout.ts";
import type { HistoricalSummary } from "./state_prefix.ts";
import type { SyncCommittee } from "./update.ts";

/** What a whole state gives: its tree above the fields, and the values that updates need. */
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

/** Consecutive bytes of the state that belong together. */
interface Segment {
  /** Where it ends in the state. */
  readonly endsAt: number;
  readonly sink: Sink;
}

/** Takes the bytes of one segment. */
interface Sink {
  take(bytes: Uint8Array): void;
  /** @param length bytes that were taken in all. */
  end(length: number): void;
}

/** Keeps the bytes until all are there. */
class Collector implements Sink {
  readonly #bytes: Uint8Array;
  readonly #done: (bytes: Uint8Array) => void;
  #filled = 0;

  constructor(size: number, done: (bytes: Uint8Array) => void) {
    this.#bytes = new Uint8Array(size);
    this.#done = done;
  }

  take(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#filled);
    this.#filled += bytes.length;
  }

  end(): void {
    this.#done(this.#bytes);
  }
}

/**
 * Takes the bytes of one state in order, in pieces of any size. Which of the two forks it is of shows at its first
 * offset. What is read is only as true as the root that comes out: compare it before use.
 */
export class BeaconStateReader {
  #fields: readonly StateField[];
  readonly #roots: (Uint8Array | undefined)[] = [];
  readonly #kept = new Map<number, Uint8Array>();
  readonly #offsets = new Map<number, number>();
  #segments: Segment[] = [];
  #position = 0;
  #startedAt = 0;

  constructor(slotsPerEpoch: bigint) {
    this.#fields = stateFields(Number(slotsPerEpoch));
    this.#openFixed(0);
  }

  /** Takes the next bytes. @throws {DerivationError} `state_bytes` when they cannot be those of such a state. */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const [segment] = this.#segments;
      if (segment === undefined) throw new DerivationError("state_bytes");
      const count = Math.min(segment.endsAt - this.#position, bytes.length - at);
      segment.sink.take(bytes.subarray(at, at + count));
      at += count;
      this.#position += count;
      this.#closeFull();
    }
  }

  /** What the state holds, after its last byte. @throws {DerivationError} `state_bytes` when bytes are missing. */
  finish(): BeaconStateParts {
    const [last, ...others] = this.#segments;
    if (last === undefined || others.length > 0 || last.endsAt !== Infinity) {
      throw new DerivationError("state_bytes");
    }
    last.sink.end(this.#position - this.#startedAt);
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

  /** Ends every segment that has all of its bytes. */
  #closeFull(): void {
    for (
      let segment = this.#segments[0];
      segment !== undefined && segment.endsAt === this.#position;
      segment = this.#segments[0]
    ) {
      this.#segments.shift();
      segment.sink.end(this.#position - this.#startedAt);
      this.#startedAt = this.#position;
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
    const first = this.#offsets.get(firstList);
    const electra = this.#fields.slice(0, -1);
    if (first === fixedPartBytes(electra)) this.#fields = electra;
    else if (first !== fixedPartBytes(this.#fields)) throw new DerivationError("state_bytes");
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
      this.#segments.push({ endsAt, sink: this.#fixedSink(field, index) });
    }
  }

  #fixedSink(field: StateField, index: number): Sink {
    switch (field.kind) {
      case "value":
        return new Collector(field.bytes, (bytes) => this.#note(index, bytes, field.root));
      case "vector":
        return this.#treeSink(index, new ChunkTree(field.depth), undefined);
      case "list":
      case "records":
      case "whole":
        return new Collector(4, (bytes) => {
          this.#offsets.set(index, new DataView(bytes.buffer).getUint32(0, true));
        });
    }
  }

  #openLists(): void {
    const starts = [...this.#offsets];
    starts.forEach(([index, start], at) => {
      const endsAt = starts[at + 1]?.[1] ?? Infinity;
      const field = this.#fields[index];
      if (field === undefined || endsAt < start) throw new DerivationError("state_bytes");
      this.#segments.push({ endsAt, sink: this.#listSink(field, index, endsAt - start) });
    });
  }

  #listSink(field: StateField, index: number, length: number): Sink {
    switch (field.kind) {
      case "list": {
        const chunks = Math.ceil(field.limit * field.itemBytes / 32);
        return this.#treeSink(index, new ChunkTree(Math.ceil(Math.log2(chunks))), field);
      }
      case "records": {
        const itemBytes = field.sizes.reduce((sum, size) => sum + size, 0);
        const tree = new RecordTree(field.sizes, Math.ceil(Math.log2(field.limit)));
        return this.#treeSink(index, tree, { itemBytes, limit: field.limit });
      }
      case "whole":
        if (length > field.maxBytes) throw new DerivationError("state_bytes");
        return new Collector(length, (bytes) => this.#note(index, bytes, field.root));
      case "value":
      case "vector":
        throw new Error("A field in place has no offset");
    }
  }

  #treeSink(
    index: number,
    tree: ChunkTree | RecordTree,
    list: { readonly itemBytes: number; readonly limit: number } | undefined,
  ): Sink {
    return {
      take: (bytes) => tree.take(bytes),
      end: (length) => {
        if (list === undefined) {
          this.#roots[index] = tree.root();
          return;
        }
        const items = length / list.itemBytes;
        if (!Number.isInteger(items) || items > list.limit) throw new DerivationError("state_bytes");
        this.#roots[index] = mixLength(tree.root(), items);
      },
    };
  }

  #note(index: number, bytes: Uint8Array, rootOf: (bytes: Uint8Array) => Uint8Array): void {
    try {
      this.#roots[index] = rootOf(bytes);
    } catch (cause) {
      // The codecs refuse bytes by errors without a code.
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
      if (left !== undefined && right !== undefined) nodes[index] = hashPair(left, right);
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
