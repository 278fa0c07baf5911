/**
 * All field roots of a beacon state from Electra on from a stream of its SSZ bytes, in a few megabytes of memory
 * whatever the number of validators. Start reading at {@link BeaconStateReader}; the fields are in `state_layout.ts`.
 */
import { DerivationError } from "./sync_committee_error.ts";
import { type BeaconStateParts, FieldRoots, type FieldSink } from "./field_roots.ts";
import {
  fixedBytesOf,
  fixedPartBytes,
  STATE_FIELD,
  type StateField,
  type StateLayout,
} from "./state_layout.ts";

export type { BeaconStateParts } from "./field_roots.ts";

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
