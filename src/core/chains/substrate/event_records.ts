/**
 * Splits `System.Events` into its records by the types of the metadata alone. Records have no lengths, so each value
 * is measured. Source: paritytech/polkadot-sdk: substrate/frame/system/src/lib.rs (`EventRecord`, `Phase`); SCALE
 * specification.
 */
import type { PalletEntry, TypeLookup } from "./metadata.ts";

/** An event of a block. */
export interface RuntimeEvent {
  /** Index of the extrinsic that caused it; `undefined` for events of the block itself. */
  readonly extrinsic: number | undefined;
  readonly pallet: string;
  readonly name: string;
  /** SCALE of the fields, one after the other. */
  readonly fields: Uint8Array;
}

/** Maximum depth of recursive types, and of values in one block: types may be nested in each other without end. */
const MAX_DEPTH = 200;
const MAX_VALUES = 1_000_000;

const TOPIC_SIZE = 32;

/** Bytes of primitives that always have as many. */
const primitiveSizes: ReadonlyMap<string, number> = new Map([
  ["char", 4],
  ...[8, 16, 32, 64, 128, 256].flatMap((bits) =>
    ["u", "i"].map((sign) => [`${sign}${bits}`, bits / 8] as const)
  ),
]);

/**
 * Reads the value of `System.Events`. @throws {RangeError} when it is not what the metadata says: without the length of
 * one record, none of those behind it can be found.
 */
export function readEventRecords(
  value: Uint8Array,
  lookup: TypeLookup,
  pallets: ReadonlyMap<number, PalletEntry>,
): readonly RuntimeEvent[] {
  const input = new RecordInput(value, lookup);
  const events: RuntimeEvent[] = [];
  for (let left = input.count(); left > 0; left--) events.push(readRecord(input, pallets));
  if (input.at !== value.length) {
    throw new RangeError(`${value.length - input.at} bytes after the last event`);
  }
  return events;
}

function readRecord(input: RecordInput, pallets: ReadonlyMap<number, PalletEntry>): RuntimeEvent {
  const phase = input.byte();
  if (phase > 2) throw new RangeError(`phase ${phase}`);
  const extrinsic = phase === 0 ? input.u32() : undefined;
  const [palletIndex, eventIndex] = [input.byte(), input.byte()];
  const pallet = pallets.get(palletIndex);
  const type = pallet?.events.get(eventIndex);
  if (pallet === undefined || type === undefined) {
    throw new RangeError(`event ${eventIndex} of ${pallet?.name ?? `pallet ${palletIndex}`}`);
  }
  const start = input.at;
  for (const field of type.fields) input.skipValue(field);
  const fields = input.bytes.subarray(start, input.at);
  input.skip(input.count() * TOPIC_SIZE);
  return { extrinsic, pallet: pallet.name, name: type.name, fields };
}

/** Bytes, and how far they are read. All methods throw a `RangeError` at the end. */
class RecordInput {
  readonly #view: DataView;
  at = 0;
  #values = 0;

  constructor(readonly bytes: Uint8Array, readonly lookup: TypeLookup) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  skip(count: number): void {
    this.at += count;
    if (this.at > this.bytes.length) throw new RangeError("a value goes beyond the end");
  }

  byte(): number {
    return this.#view.getUint8(this.at++);
  }

  u32(): number {
    this.at += 4;
    return this.#view.getUint32(this.at - 4, true);
  }

  /** A compact number that counts something, so that it is below 2^30. */
  count(): number {
    const mode = this.#view.getUint8(this.at) & 3;
    if (mode === 3) throw new RangeError("a count of more than 2^30");
    if (mode === 0) return this.byte() >> 2;
    if (mode === 2) return this.u32() >>> 2;
    this.at += 2;
    return this.#view.getUint16(this.at - 2, true) >> 2;
  }

  /** Skips a value of a type. @throws {RangeError} for bytes that are no such value. */
  skipValue(type: number, depth = 0): void {
    if (depth > MAX_DEPTH || ++this.#values > MAX_VALUES) throw new RangeError("nested without end");
    const found = this.lookup(type);
    switch (found.kind) {
      case "compact": {
        const first = this.byte();
        return this.skip((first & 3) === 3 ? (first >> 2) + 4 : [0, 1, 3][first & 3] ?? 0);
      }
      case "bits":
        return this.skip(Math.ceil(this.count() / (8 * found.storeBytes)) * found.storeBytes);
      case "list":
        return this.#skipMany(found.of, this.count(), depth);
      case "array":
        return this.#skipMany(found.of, found.length, depth);
      case "fields":
        return found.of.forEach((field) => this.skipValue(field, depth + 1));
      case "variants": {
        const index = this.byte();
        const fields = found.of.get(index);
        if (fields === undefined) throw new RangeError(`variant ${index}`);
        return fields.forEach((field) => this.skipValue(field, depth + 1));
      }
      default:
        return this.#skipPrimitive(found.name);
    }
  }

  #skipMany(type: number, count: number, depth: number): void {
    const found = this.lookup(type);
    const size = found.kind === "primitive" ? primitiveSizes.get(found.name) : undefined;
    if (size !== undefined) return this.skip(count * size);
    for (let left = count; left > 0; left--) this.skipValue(type, depth + 1);
  }

  #skipPrimitive(name: string): void {
    const size = primitiveSizes.get(name);
    if (size !== undefined) return this.skip(size);
    if (name === "str") return this.skip(this.count());
    if (name === "bool" && this.byte() < 2) return;
    throw new RangeError(`no value of type ${name}`);
  }
}
