/**
 * Field roots of a beacon state, from bytes or JSON: the root of each field, the tree above them, and the values that
 * updates need. Memory does not grow with the number of validators.
 */
import { mixLength, treeOfItems } from "./chunk_tree.ts";
import { checkpointType, committeeType, ExecutionPayloadHeader, uint64Root } from "./ssz_roots.ts";
import { itemSizes, itemsOf, type StateField, type StateItems, type StateType } from "./state_type.ts";
import { StateTree } from "./state_proof.ts";
import { mapError } from "../../../spec/client_error.ts";
import { DerivationError } from "./sync_committee_error.ts";
import type { SyncCommittee } from "./update.ts";
import { concatBytes, fromHex, type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { BranchNode, LeafNode, type Node, subtreeFillToContents } from "@chainsafe/persistent-merkle-tree";
import { ContainerType, progressiveSubtreeFillToContents, type Type } from "@chainsafe/ssz";

/** Parts of a whole state: its tree above the fields, and the values that updates need. */
export interface BeaconStateParts {
  /** From the state's root down to the fields. */
  readonly tree: StateTree;
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

/** Maximum number of bytes of a field of variable size that is read whole: of a bid with its commitments. */
const MAX_WHOLE_BYTES = 2 ** 18;

const keptFields: ReadonlySet<string> = new Set([
  "finalizedCheckpoint",
  "currentSyncCommittee",
  "nextSyncCommittee",
  "latestExecutionPayloadHeader",
  "latestBlockHash",
]);

/** The refusal of a state that a codec of the library cannot read: its errors have no code. */
export function stateError(cause: Error): DerivationError {
  return cause instanceof DerivationError ? cause : new DerivationError("state_bytes", { cause });
}

/** Keeps bytes until all are there. */
function collector(maxBytes: number, done: (bytes: Uint8Array) => void): FieldSink {
  const pieces: Uint8Array[] = [];
  let filled = 0;
  return {
    take: (bytes) => {
      filled += bytes.length;
      if (filled > maxBytes) throw new DerivationError("state_bytes");
      pieces.push(bytes.slice());
    },
    end: () => done(concatBytes(...pieces)),
  };
}

/** Hashes items while their bytes arrive. */
function itemsSink(items: StateItems, done: (root: Uint8Array) => void): FieldSink {
  const sizes = itemSizes(items);
  const tree = treeOfItems(items.limit, sizes);
  let length = 0;
  return {
    take: (bytes) => {
      tree.take(bytes);
      length += bytes.length;
    },
    end: () => {
      const count = length / sizes.reduce((sum, size) => sum + size, 0);
      const fits = items.isList ? Number.isInteger(count) : count === items.limit;
      if (!fits) throw new DerivationError("state_bytes");
      done(items.isList ? mixLength(tree.root(), count) : tree.root());
    },
  };
}

/** The fields of one state. The values are only as authentic as the resulting root: compare it before use. */
export class FieldRoots {
  readonly #type: StateType;
  readonly #roots = new Map<StateField["fieldName"], Uint8Array>();
  readonly #kept = new Map<StateField["fieldName"], Uint8Array>();

  constructor(type: StateType) {
    this.#type = type;
  }

  /** Returns the consumer of a field's content. */
  sinkOf({ fieldName, fieldType }: StateField): FieldSink {
    const items = itemsOf(fieldType);
    if (items !== undefined) return itemsSink(items, (root) => this.#roots.set(fieldName, root));
    const maxBytes = fieldType.fixedSize ?? MAX_WHOLE_BYTES;
    return collector(maxBytes, (bytes) => this.#note(fieldName, fieldType, bytes));
  }

  /** Returns the parts after the last field. @throws {DerivationError} `state_bytes` when fields are missing. */
  finish(): BeaconStateParts {
    const tree = new StateTree(this.#tree());
    const { epoch, root } = checkpointType.deserialize(this.#keptBytes("finalizedCheckpoint"));
    return {
      tree,
      finalizedCheckpoint: { epoch, root: toHash256(root) },
      currentSyncCommittee: committeeType.deserialize(this.#keptBytes("currentSyncCommittee")),
      nextSyncCommittee: committeeType.deserialize(this.#keptBytes("nextSyncCommittee")),
      execution: this.#type instanceof ContainerType
        ? ExecutionPayloadHeader.fromBytes(this.#keptBytes("latestExecutionPayloadHeader"))
        : toHash256(this.#keptBytes("latestBlockHash")),
    };
  }

  /** Root of a field that was read. @throws {DerivationError} `state_bytes` when it is missing. */
  rootOf(name: StateField["fieldName"]): Uint8Array {
    const root = this.#roots.get(name);
    if (root === undefined) throw new DerivationError("state_bytes");
    return root;
  }

  #note(name: StateField["fieldName"], type: Type<unknown>, bytes: Uint8Array): void {
    this.#roots.set(name, mapError(Error, () => type.hashTreeRoot(type.deserialize(bytes)), stateError));
    if (keptFields.has(name)) this.#kept.set(name, bytes);
  }

  #keptBytes(name: string): Uint8Array {
    const bytes = this.#kept.get(name);
    if (bytes === undefined) throw new DerivationError("state_bytes");
    return bytes;
  }

  #tree(): Node {
    const leaves = this.#type.fieldsEntries.map(({ fieldName }) => LeafNode.fromRoot(this.rootOf(fieldName)));
    if (this.#type instanceof ContainerType) return subtreeFillToContents([...leaves], this.#type.depth);
    const activeFields = uint64Root((1n << BigInt(leaves.length)) - 1n);
    return new BranchNode(
      progressiveSubtreeFillToContents([...leaves]),
      LeafNode.fromRoot(fromHex(activeFields)),
    );
  }
}

/** Consecutive bytes of the state that belong together. */
interface Segment {
  /** Where it ends in the state. */
  readonly endsAt: number;
  readonly target: FieldSink;
}

/**
 * Takes the bytes of one state in order, in pieces of any size. The values are only as authentic as the resulting root:
 * compare it before use.
 */
export class BeaconStateReader {
  readonly #type: StateType;
  readonly #roots: FieldRoots;
  #segments: Segment[];
  #position = 0;

  constructor(type: StateType) {
    this.#type = type;
    this.#roots = new FieldRoots(type);
    const target = collector(type.fixedEnd, (fixed) => this.#segments = this.#openLists(fixed));
    this.#segments = [{ endsAt: type.fixedEnd, target }];
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

  /** Root of a field whose bytes have been taken. @throws {DerivationError} `state_bytes` */
  rootOf(field: string): Hash256 {
    return toHash256(this.#roots.rootOf(field));
  }

  /** Returns the parts after the last byte. @throws {DerivationError} `state_bytes` when bytes are missing. */
  finish(): BeaconStateParts {
    const [last] = this.#segments;
    if (last?.endsAt !== Infinity) throw new DerivationError("state_bytes");
    last.target.end();
    return this.#roots.finish();
  }

  /** Ends every segment that has all of its bytes. */
  #closeFull(): void {
    while (this.#segments[0]?.endsAt === this.#position) this.#segments.shift()?.target.end();
  }

  /** Hashes the fields of the fixed part, and returns the segments of the others, the last without an end. */
  #openLists(fixed: Uint8Array): Segment[] {
    const view = new DataView(fixed.buffer, fixed.byteOffset);
    const ranges = mapError(Error, () => this.#type.getFieldRanges(view, 0, Infinity), stateError);
    return this.#type.fieldsEntries.flatMap((field, index) => {
      const { start, end } = ranges[index] ?? { start: 0, end: 0 };
      const target = this.#roots.sinkOf(field);
      if (field.fieldType.fixedSize === null) return [{ endsAt: end, target }];
      target.take(fixed.subarray(start, end));
      target.end();
      return [];
    });
  }
}
