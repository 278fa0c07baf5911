/** Reads Protobuf by hand, as far as the hub's client of Polygon needs it. Source: protobuf.dev: programming-guides/encoding. */
import { concatBytes } from "../../../../src/core/encoding/bytes.ts";

const VARINT = 0;
const EIGHT_BYTES = 1;
const LENGTH = 2;
const FOUR_BYTES = 5;
const NONE = new Uint8Array(0);

/** Bytes that are no Protobuf, or have a field of another type. */
export class ProtobufFault extends Error {
  override readonly name = "ProtobufFault";
}

/** Fields of a message. */
export class ProtobufFields {
  readonly #fields: readonly { readonly field: number; readonly value: bigint | Uint8Array }[];

  /** @throws {ProtobufFault} */
  constructor(bytes: Uint8Array) {
    const reader = new ByteReader(bytes);
    const fields: { field: number; value: bigint | Uint8Array }[] = [];
    while (!reader.isAtEnd) {
      const tag = Number(reader.varint());
      fields.push({ field: tag >>> 3, value: valueOf(reader, tag & 7) });
    }
    this.#fields = fields;
  }

  /** The last number of a field, 0 for none. @throws {ProtobufFault} */
  number(field: number): bigint {
    return this.#all(field).reduce<bigint>((_, value) => {
      if (typeof value === "bigint") return value;
      throw new ProtobufFault();
    }, 0n);
  }

  /** The last bytes of a field, none where it is not there. @throws {ProtobufFault} */
  octets(field: number): Uint8Array {
    return this.list(field).at(-1) ?? NONE;
  }

  /** A message of its own: where it is there several times, their fields are one message's. @throws {ProtobufFault} */
  message(field: number): ProtobufFields | undefined {
    const parts = this.list(field);
    return parts.length === 0 ? undefined : new ProtobufFields(concatBytes(...parts));
  }

  /** All bytes of a field. @throws {ProtobufFault} */
  list(field: number): readonly Uint8Array[] {
    return this.#all(field).map((value) => {
      if (typeof value !== "bigint") return value;
      throw new ProtobufFault();
    });
  }

  /** Number of the field that came last, 0 without any. */
  get last(): number {
    return this.#fields.at(-1)?.field ?? 0;
  }

  #all(field: number): readonly (bigint | Uint8Array)[] {
    return this.#fields.filter((each) => each.field === field).map(({ value }) => value);
  }
}

function valueOf(reader: ByteReader, type: number): bigint | Uint8Array {
  switch (type) {
    case VARINT:
      return reader.varint();
    case EIGHT_BYTES:
      return reader.take(8);
    case LENGTH:
      return reader.take(Number(reader.varint()));
    case FOUR_BYTES:
      return reader.take(4);
    default:
      throw new ProtobufFault();
  }
}

/** Bytes from the first to the last. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** How many bytes are left. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** @throws {ProtobufFault} */
  take(count: number): Uint8Array {
    if (count > this.left) throw new ProtobufFault();
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  /** @throws {ProtobufFault} after ten bytes, or 64 bits. */
  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const [byte = 0] = this.take(1);
      value += BigInt(byte & 127) << shift;
      if (byte < 128) {
        if (value >= 2n ** 64n) break;
        return value;
      }
    }
    throw new ProtobufFault();
  }
}
