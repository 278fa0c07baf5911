/**
 * What this program needs of a runtime's metadata, read once: the decoded metadata itself is some ten times as large
 * and is not kept. Pure. Source of the format: paritytech/frame-metadata: frame-metadata/src/v14.rs to v16.rs.
 */
import { type CodecType, metadata as metadataCodec } from "@polkadot-api/substrate-bindings";
import { equalBytes } from "../../encoding/bytes.ts";

/** Bytes that are not metadata of version 14, 15 or 16. */
export class UnreadableMetadata extends Error {
  override readonly name = "UnreadableMetadata";
}

/** A call by its indexes. */
export interface CallEntry {
  /** Pallet and call, a byte each. */
  readonly index: Uint8Array;
  /** Numbers of the types of its arguments, in order. */
  readonly argumentTypes: readonly number[];
}

/** A pallet: its errors and events by their index; events with the numbers of the types of their fields. */
export interface PalletEntry {
  readonly name: string;
  readonly errors: ReadonlyMap<number, string>;
  readonly events: ReadonlyMap<number, { readonly name: string; readonly fields: readonly number[] }>;
}

/** A storage item, by the numbers of its types. */
export interface StorageEntry {
  /** How its keys are hashed, in order; none: a plain value. */
  readonly hashers: readonly string[];
  /** A tuple for several hashers. */
  readonly key: number | undefined;
  readonly value: number;
}

/** A type of a runtime, as far as its encoding goes. */
export type RuntimeType =
  | { readonly kind: "primitive"; readonly name: string }
  | { readonly kind: "list"; readonly of: number }
  | { readonly kind: "array"; readonly of: number; readonly length: number }
  | { readonly kind: "fields"; readonly of: readonly number[] }
  | { readonly kind: "variants"; readonly of: ReadonlyMap<number, readonly number[]> }
  /** A number of one to 68 bytes. */
  | { readonly kind: "compact" }
  | { readonly kind: "bits"; readonly storeBytes: number }
  | { readonly kind: "other"; readonly name: string };

/** Finds a type by its number in the metadata. */
export type TypeLookup = (id: number) => RuntimeType;

/** Indexes and types of one runtime. */
export interface RuntimeTables {
  /** By index. */
  readonly pallets: ReadonlyMap<number, PalletEntry>;
  /** By `Pallet.call`. */
  readonly calls: ReadonlyMap<string, CallEntry>;
  /** By `Pallet.Item`. */
  readonly storage: ReadonlyMap<string, StorageEntry>;
  /** By the numbers that the metadata gives them. */
  readonly types: ReadonlyMap<number, RuntimeType>;
  /** Names of the outermost variants of `DispatchError` by index. */
  readonly dispatchErrors: ReadonlyMap<number, string>;
}

type Versioned = CodecType<typeof metadataCodec>["metadata"];
type Decoded = Extract<Versioned, { readonly tag: "v14" | "v15" | "v16" }>["value"];
type MetadataType = Decoded["lookup"][number];
/** Type of a pallet's calls, errors or events; version 16 says more about it. */
type Reference = number | { readonly type: number } | undefined;
type Variants = Extract<MetadataType["def"], { readonly tag: "variant" }>["value"];

/** What metadata begins with; a byte with its version follows. */
const MAGIC = new TextEncoder().encode("meta");

/** Versions that can be read. */
const VERSIONS: readonly number[] = [14, 15, 16];

function versionOf(bytes: Uint8Array): number | undefined {
  return equalBytes(bytes.subarray(0, MAGIC.length), MAGIC) ? bytes[MAGIC.length] : undefined;
}

/**
 * Reads encoded metadata.
 * @throws {UnreadableMetadata}
 */
export function readMetadata(bytes: Uint8Array): RuntimeTables {
  const { lookup, pallets } = decode(bytes);
  const found = new Map(lookup.map((type) => [type.id, type]));
  const variantsOf = (part: Reference): Variants => {
    if (part === undefined) return [];
    const id = typeof part === "number" ? part : part.type;
    const def = found.get(id)?.def;
    if (def?.tag !== "variant") throw new UnreadableMetadata(`Type ${id} should have variants`);
    return def.value;
  };
  const calls = pallets.flatMap((pallet) =>
    variantsOf(pallet.calls).map((call): readonly [string, CallEntry] => [
      `${pallet.name}.${call.name}`,
      {
        index: Uint8Array.of(pallet.index, call.index),
        argumentTypes: call.fields.map(({ type }) => type),
      },
    ])
  );
  return {
    pallets: new Map(pallets.map((pallet) => [pallet.index, {
      name: pallet.name,
      errors: new Map(variantsOf(pallet.errors).map(({ index, name }) => [index, name])),
      events: new Map(
        variantsOf(pallet.events).map(({ index, name, fields }) => [
          index,
          { name, fields: fields.map(({ type }) => type) },
        ]),
      ),
    }])),
    calls: new Map(calls),
    storage: new Map(
      pallets.flatMap(({ name, storage }) =>
        storage?.items.map((item) => [`${name}.${item.name}`, toStorageEntry(item)] as const) ?? []
      ),
    ),
    types: new Map(lookup.map((type) => [type.id, toRuntimeType(type, found)])),
    dispatchErrors: new Map(
      lookup.filter(({ path }) => path.join("::") === "sp_runtime::DispatchError")
        .flatMap(({ id }) => variantsOf(id)).map(({ index, name }) => [index, name]),
    ),
  };
}

function decode(bytes: Uint8Array): Decoded {
  const version = versionOf(bytes);
  if (version === undefined) throw new UnreadableMetadata('Metadata begins with "meta"');
  // Before it is decoded: that takes long where older versions are read into anything.
  if (VERSIONS.includes(version)) {
    try {
      // The codec reads the whole buffer behind a view, so a view must be copied first.
      const { metadata } = metadataCodec.dec(new Uint8Array(bytes));
      if (metadata.tag === "v14" || metadata.tag === "v15" || metadata.tag === "v16") return metadata.value;
    } catch (cause) {
      throw new UnreadableMetadata("These bytes are no metadata of version 14 to 16", { cause });
    }
  }
  throw new UnreadableMetadata(`Metadata is of version 14 to 16; found ${version}`);
}

type StorageItem = NonNullable<Decoded["pallets"][number]["storage"]>["items"][number];

function toStorageEntry({ type }: StorageItem): StorageEntry {
  if (type.tag === "plain") return { hashers: [], key: undefined, value: type.value };
  const { hashers, key, value } = type.value;
  return { hashers: hashers.map(({ tag }) => tag), key, value };
}

function toRuntimeType({ def }: MetadataType, types: ReadonlyMap<number, MetadataType>): RuntimeType {
  switch (def.tag) {
    case "primitive":
      return { kind: "primitive", name: def.value.tag };
    case "sequence":
      return { kind: "list", of: def.value };
    case "array":
      return { kind: "array", of: def.value.type, length: def.value.len };
    case "composite":
      return { kind: "fields", of: def.value.map(({ type }) => type) };
    case "tuple":
      return { kind: "fields", of: def.value };
    case "compact":
      return { kind: "compact" };
    case "bitSequence":
      return { kind: "bits", storeBytes: storeBytesOf(types.get(def.value.bitStoreType)) };
    case "variant":
      return {
        kind: "variants",
        of: new Map(def.value.map(({ index, fields }) => [index, fields.map(({ type }) => type)])),
      };
  }
}

/** Bytes of the unsigned integers that hold the bits of a sequence. */
function storeBytesOf(type: MetadataType | undefined): number {
  const bits = type?.def.tag === "primitive" ? Number(type.def.value.tag.slice(1)) : 8;
  return bits / 8;
}
