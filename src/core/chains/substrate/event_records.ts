/**
 * Splits `System.Events` into its records by the types of the metadata alone. Records have no lengths, so each value
 * is measured; a record that cannot be measured (another program's pallet, a changed type) is skipped. Source:
 * paritytech/polkadot-sdk: substrate/frame/system/src/lib.rs (`EventRecord`, `Phase`); SCALE specification.
 */
import type { TypeLookup } from "./layout.ts";

/** An event of a block. */
export interface RuntimeEvent {
  /** Index of the extrinsic that caused it; `undefined` for events of the block itself. */
  readonly extrinsic: number | undefined;
  readonly pallet: string;
  readonly name: string;
  /** SCALE of the fields, one after the other. */
  readonly fields: Uint8Array;
}

/** Events of a block, and those whose fields could not be measured. */
export interface BlockEvents {
  readonly events: readonly RuntimeEvent[];
  readonly skipped: readonly Omit<RuntimeEvent, "fields">[];
}

/** Type of an event in the metadata. */
export interface EventType {
  readonly name: string;
  readonly fields: readonly number[];
}

/** Part of the metadata that events need. */
export interface EventTypes {
  readonly lookup: TypeLookup;
  palletName(index: number): string | undefined;
  event(pallet: number, index: number): EventType | undefined;
}

/** Maximum depth of recursive types. */
const MAX_DEPTH = 200;

const primitiveSizes: Readonly<Record<string, number>> = {
  char: 4,
  u8: 1,
  u16: 2,
  u32: 4,
  u64: 8,
  u128: 16,
  u256: 32,
  i8: 1,
  i16: 2,
  i32: 4,
  i64: 8,
  i128: 16,
  i256: 32,
};

const TOPIC_SIZE = 32;

/** Reads the value of `System.Events`. @throws {RangeError} when the records cannot be separated. */
export function readEventRecords(types: EventTypes, value: Uint8Array): BlockEvents {
  const reader = new Measure(types.lookup, value);
  const count = reader.count(0);
  const events: RuntimeEvent[] = [];
  const skipped: Omit<RuntimeEvent, "fields">[] = [];
  let at = count.end;
  for (let left = count.value; left > 0; left--) {
    const record = readRecord(types, reader, at);
    if (record.end !== undefined) {
      const { extrinsic, pallet, name } = record;
      events.push({ extrinsic, pallet, name, fields: value.slice(record.fieldsAt, record.fieldsEnd) });
      at = record.end;
      continue;
    }
    const { extrinsic, pallet, name } = record;
    skipped.push({ extrinsic, pallet, name });
    at = findNext(types, reader, record.fieldsAt, left - 1);
  }
  if (at !== value.length) throw new RangeError(`${value.length - at} bytes after the last event`);
  return { events, skipped };
}

interface Head {
  readonly extrinsic: number | undefined;
  readonly pallet: string;
  readonly name: string;
  readonly fieldsAt: number;
}

/** Record; without an end when its fields do not match the metadata. */
type Found =
  | Head & { readonly fieldsEnd: number; readonly end: number }
  | Head & { readonly end: undefined };

/** @throws {RangeError} when not even its head can be read. */
function readRecord(types: EventTypes, reader: Measure, at: number): Found {
  const phase = reader.byte(at);
  if (phase > 2) throw new RangeError(`phase ${phase}`);
  const indexAt = at + (phase === 0 ? 5 : 1);
  const palletIndex = reader.byte(indexAt);
  const eventIndex = reader.byte(indexAt + 1);
  const type = types.event(palletIndex, eventIndex);
  const head: Head = {
    extrinsic: phase === 0 ? reader.u32(at + 1) : undefined,
    pallet: types.palletName(palletIndex) ?? `pallet ${palletIndex}`,
    name: type?.name ?? `event ${eventIndex}`,
    fieldsAt: indexAt + 2,
  };
  if (type === undefined) return { ...head, end: undefined };
  try {
    let fieldsEnd = head.fieldsAt;
    for (const field of type.fields) fieldsEnd = reader.skip(field, fieldsEnd);
    return { ...head, fieldsEnd, end: skipTopics(reader, fieldsEnd) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { ...head, end: undefined };
  }
}

function skipTopics(reader: Measure, at: number): number {
  const { value, end } = reader.count(at);
  return reader.within(end + value * TOPIC_SIZE);
}

/**
 * Offset of the record after an unreadable one: the first from which all the others can be read, else the first from
 * which the next one can. @throws {RangeError} when there is no such offset.
 */
function findNext(types: EventTypes, reader: Measure, from: number, left: number): number {
  const ends = function* (): Generator<number> {
    for (let at = from; at < reader.length; at++) {
      try {
        yield skipTopics(reader, at);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
      }
    }
  };
  for (const end of ends()) if (areRecords(types, reader, end, left) === reader.length) return end;
  for (const end of ends()) if (left > 0 && areRecords(types, reader, end, 1) !== undefined) return end;
  throw new RangeError(`events cannot be separated from byte ${from} on`);
}

/** End of `count` readable records that begin at `at`; `undefined` when there are none. */
function areRecords(types: EventTypes, reader: Measure, at: number, count: number): number | undefined {
  try {
    let end = at;
    for (let left = count; left > 0; left--) {
      const record = readRecord(types, reader, end);
      if (record.end === undefined) return undefined;
      end = record.end;
    }
    return end;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Measures SCALE values. All methods throw a `RangeError` for bytes that are no such value. */
class Measure {
  readonly #lookup: TypeLookup;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(lookup: TypeLookup, bytes: Uint8Array) {
    this.#lookup = lookup;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length(): number {
    return this.#bytes.length;
  }

  within(end: number): number {
    if (end > this.#bytes.length) throw new RangeError("a value goes beyond the end");
    return end;
  }

  byte(at: number): number {
    return this.#view.getUint8(at);
  }

  u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  /** A compact number that counts something, so that it is below 2^30. */
  count(at: number): { readonly value: number; readonly end: number } {
    const first = this.byte(at);
    switch (first & 3) {
      case 0:
        return { value: first >> 2, end: at + 1 };
      case 1:
        return { value: this.#view.getUint16(at, true) >> 2, end: at + 2 };
      case 2:
        return { value: this.u32(at) >>> 2, end: at + 4 };
      default:
        throw new RangeError("a count of more than 2^30");
    }
  }

  /** End of a value of a type. */
  skip(type: number, at: number, depth = 0): number {
    if (depth > MAX_DEPTH) throw new RangeError("nested too deep");
    const found = this.#lookup(type);
    switch (found.kind) {
      case "primitive":
        return this.#skipPrimitive(found.name, at);
      case "compact":
        return this.#skipCompact(at);
      case "bits": {
        const { value, end } = this.count(at);
        return this.within(end + Math.ceil(value / (8 * found.storeBytes)) * found.storeBytes);
      }
      case "list": {
        const { value, end } = this.count(at);
        return this.#skipMany(found.of, value, end, depth);
      }
      case "array":
        return this.#skipMany(found.of, found.length, at, depth);
      case "fields":
        return found.of.reduce((end, field) => this.skip(field, end, depth + 1), at);
      case "variants": {
        const fields = found.of.get(this.byte(at));
        if (fields === undefined) throw new RangeError(`variant ${this.byte(at)}`);
        return fields.reduce((end, field) => this.skip(field, end, depth + 1), at + 1);
      }
      case "other":
        throw new RangeError(`a value of type ${found.name}`);
    }
  }

  #skipMany(type: number, count: number, at: number, depth: number): number {
    const found = this.#lookup(type);
    const size = found.kind === "primitive" ? primitiveSizes[found.name] : undefined;
    if (size !== undefined) return this.within(at + count * size);
    let end = at;
    for (let left = count; left > 0; left--) {
      const next = this.skip(type, end, depth + 1);
      if (next === end) return end; // values of no bytes
      end = next;
    }
    return end;
  }

  #skipPrimitive(name: string, at: number): number {
    if (name === "bool") {
      if (this.byte(at) > 1) throw new RangeError("neither true nor false");
      return at + 1;
    }
    if (name === "str") {
      const { value, end } = this.count(at);
      return this.within(end + value);
    }
    const size = primitiveSizes[name];
    if (size === undefined) throw new RangeError(`a value of type ${name}`);
    return this.within(at + size);
  }

  #skipCompact(at: number): number {
    const first = this.byte(at);
    const isBig = (first & 3) === 3;
    return this.within(at + (isBig ? (first >> 2) + 5 : [1, 2, 4][first & 3] ?? 1));
  }
}
