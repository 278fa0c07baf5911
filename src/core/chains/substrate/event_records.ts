/**
 * Splits `System.Events` into its records by the types of the metadata alone. Records have no lengths, so each value
 * is measured; a record that cannot be measured (another program's pallet, a changed type) is skipped. Source:
 * paritytech/polkadot-sdk: substrate/frame/system/src/lib.rs (`EventRecord`, `Phase`); SCALE specification.
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

/** Events of a block, and those whose fields could not be measured. */
export interface BlockEvents {
  readonly events: readonly RuntimeEvent[];
  readonly skipped: readonly Omit<RuntimeEvent, "fields">[];
}

/** Maximum depth of recursive types. */
const MAX_DEPTH = 200;

/** Maximum number of places in one block where a record is tried: the search for the next readable one has an end. */
const MAX_TRIED = 500_000;

const TOPIC_SIZE = 32;

/** Bytes of primitives that always have as many. */
const primitiveSizes: ReadonlyMap<string, number> = new Map([
  ["char", 4],
  ...[8, 16, 32, 64, 128, 256].flatMap((bits) =>
    ["u", "i"].map((sign) => [`${sign}${bits}`, bits / 8] as const)
  ),
]);

/** Bytes, and how far they are read. All methods throw a `RangeError` at the end. */
class Input {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  at = 0;
  /** Places where a record was tried. */
  tried = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
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
}

/** Reads the events of blocks of one runtime. */
export class EventRecords {
  /** Bytes of types that always have as many; `undefined` for others. */
  readonly #sizes = new Map<number, number | undefined>();

  constructor(readonly lookup: TypeLookup, readonly pallets: ReadonlyMap<number, PalletEntry>) {}

  /** Reads the value of `System.Events`. @throws {RangeError} when the records cannot be separated. */
  read(value: Uint8Array): BlockEvents {
    const input = new Input(value);
    const events: RuntimeEvent[] = [];
    const skipped: Omit<RuntimeEvent, "fields">[] = [];
    for (let left = input.count(); left > 0; left--) {
      const { fields, ...head } = this.#readRecord(input);
      if (fields !== undefined) events.push({ ...head, fields });
      else {
        skipped.push(head);
        this.#findNext(input, left - 1);
      }
    }
    if (input.at !== value.length) {
      throw new RangeError(`${value.length - input.at} bytes after the last event`);
    }
    return { events, skipped };
  }

  /**
   * Reads a record; without fields, and with the input at their start, when they do not match the metadata.
   * @throws {RangeError} when not even its head can be read.
   */
  #readRecord(input: Input): Omit<RuntimeEvent, "fields"> & { readonly fields?: Uint8Array } {
    if (++input.tried > MAX_TRIED) throw new RangeError("too many records that cannot be read");
    const phase = input.byte();
    if (phase > 2) throw new RangeError(`phase ${phase}`);
    const extrinsic = phase === 0 ? input.u32() : undefined;
    const [palletIndex, eventIndex] = [input.byte(), input.byte()];
    const pallet = this.pallets.get(palletIndex);
    const type = pallet?.events.get(eventIndex);
    const head = {
      extrinsic,
      pallet: pallet?.name ?? `pallet ${palletIndex}`,
      name: type?.name ?? `event ${eventIndex}`,
    };
    if (type === undefined) return head;
    const start = input.at;
    try {
      for (const field of type.fields) this.#skip(input, field, 0);
      const fields = input.bytes.subarray(start, input.at);
      skipTopics(input);
      return { ...head, fields };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      input.at = start;
      return head;
    }
  }

  /**
   * Moves to the record after an unreadable one: the first from which all the others can be read, else the first from
   * which the next one can. @throws {RangeError} when there is no such record.
   */
  #findNext(input: Input, left: number): void {
    const from = input.at;
    for (const [count, isToEnd] of [[left, true], [Math.min(left, 1), false]] as const) {
      for (let start = from; start < input.bytes.length && input.tried < MAX_TRIED; start++) {
        input.at = start;
        input.tried++;
        const next = orUndefined(() => skipTopics(input));
        if (next === undefined || !this.#canRead(input, count)) continue;
        if (isToEnd ? input.at !== input.bytes.length : count === 0) continue;
        input.at = next;
        return;
      }
    }
    throw new RangeError(`events cannot be separated from byte ${from} on`);
  }

  #canRead(input: Input, count: number): boolean {
    const isRead = orUndefined(() => {
      for (let left = count; left > 0; left--) {
        if (this.#readRecord(input).fields === undefined) return false;
      }
      return true;
    });
    return isRead === true;
  }

  /** Skips a value of a type. @throws {RangeError} for bytes that are no such value. */
  #skip(input: Input, type: number, depth: number): void {
    const size = this.#sizeOf(type);
    if (size !== undefined) return input.skip(size);
    if (depth > MAX_DEPTH) throw new RangeError("nested too deep");
    const found = this.lookup(type);
    switch (found.kind) {
      case "compact":
        return skipCompact(input);
      case "bits":
        return input.skip(Math.ceil(input.count() / (8 * found.storeBytes)) * found.storeBytes);
      case "list":
        return this.#skipMany(input, found.of, { count: input.count(), depth });
      case "array":
        return this.#skipMany(input, found.of, { count: found.length, depth });
      case "fields":
        return found.of.forEach((field) => this.#skip(input, field, depth + 1));
      case "variants": {
        const index = input.byte();
        const fields = found.of.get(index);
        if (fields === undefined) throw new RangeError(`variant ${index}`);
        return fields.forEach((field) => this.#skip(input, field, depth + 1));
      }
      default:
        if (found.name === "str") return input.skip(input.count());
        if (found.name === "bool" && input.byte() < 2) return;
        throw new RangeError(`no value of type ${found.name}`);
    }
  }

  #skipMany(input: Input, type: number, { count, depth }: { count: number; depth: number }): void {
    const size = this.#sizeOf(type);
    if (size !== undefined) return input.skip(count * size);
    for (let left = count; left > 0; left--) this.#skip(input, type, depth + 1);
  }

  /** Bytes of a type; found once, so that none is nested without end. */
  #sizeOf(type: number): number | undefined {
    if (this.#sizes.has(type)) return this.#sizes.get(type);
    this.#sizes.set(type, undefined);
    const size = this.#measure(type);
    this.#sizes.set(type, size);
    return size;
  }

  #measure(type: number): number | undefined {
    const found = this.lookup(type);
    if (found.kind === "primitive") return primitiveSizes.get(found.name);
    if (found.kind !== "array" && found.kind !== "fields") return undefined;
    const sizes = (found.kind === "array" ? [found.of] : found.of).map((each) => this.#sizeOf(each));
    const times = found.kind === "array" ? found.length : 1;
    return sizes.reduce(
      (sum, size) => sum === undefined || size === undefined ? undefined : sum + size * times,
      0,
    );
  }
}

/** Skips the topics of a record, which end it. */
function skipTopics(input: Input): number {
  input.skip(input.count() * TOPIC_SIZE);
  return input.at;
}

function skipCompact(input: Input): void {
  const first = input.byte();
  input.skip((first & 3) === 3 ? (first >> 2) + 4 : [0, 1, 3][first & 3] ?? 0);
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
