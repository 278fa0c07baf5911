/**
 * What the hub simulator takes from runtime metadata: storage keys, call, event and error indexes, constants.
 * Everything is looked up by name, so the same code runs as any runtime that has the pallets.
 */
import { type CodecType, metadata as metadataCodec } from "@polkadot-api/substrate-bindings";
import { concatBytes, fromHex, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import { u32 } from "../../src/core/encoding/scale.ts";
import { Metadata, TypeRegistry } from "@polkadot/types";
import type { PalletMetadataLatest, StorageEntryMetadataLatest } from "@polkadot/types/interfaces";
import { compact } from "scale-ts";
import { blake2AsU8a, xxhashAsU8a } from "@polkadot/util-crypto";
/**
 * Metadata of a runtime after an upgrade: what release notes call renumbered pallets, a new field, a removed call. Pure.
 * Source of the format: paritytech/frame-metadata: frame-metadata/src/v14.rs.
 */

/** How an upgraded runtime differs from the first one. */
export interface RuntimeChange {
  /** Two pallets that get each other's index. */
  readonly swapped?: readonly [string, string];
  /** Events (`Pallet.Event`) that get one more field at the end, {@link ADDED_FIELD}. */
  readonly widened?: readonly string[];
  /** Calls (`Pallet.call`) that are gone. */
  readonly removed?: readonly string[];
}

/** Name of the fields that {@link RuntimeChange.widened} adds: numbers of 32 bits. */
const ADDED_FIELD = "added_by_upgrade";

type Decoded = Extract<CodecType<typeof metadataCodec>["metadata"], { readonly tag: "v14" }>["value"];
type Types = Decoded["lookup"];
type Pallet = Decoded["pallets"][number];
type Variants = Extract<Types[number]["def"], { readonly tag: "variant" }>["value"];

/** Enums over all pallets, which have the pallets' indexes again. */
const OUTER_ENUMS: ReadonlySet<string | undefined> = new Set(["RuntimeCall", "RuntimeEvent", "RuntimeError"]);

/** The metadata of that spec version. @throws {RangeError} for names that the runtime does not have. */
function changeMetadata(
  metadata: Uint8Array,
  change: RuntimeChange,
  specVersion: number,
): Uint8Array {
  const { magicNumber, metadata: versioned } = metadataCodec.dec(metadata);
  if (versioned.tag !== "v14") throw new RangeError(`Metadata ${versioned.tag}`);
  let { lookup, pallets } = versioned.value;
  if (change.swapped !== undefined) {
    const rename = swapping(pallets, change.swapped);
    pallets = pallets.map((pallet) => ({ ...pallet, index: rename(pallet.name, pallet.index) }));
    lookup = lookup.map((type) =>
      OUTER_ENUMS.has(type.path.at(-1))
        ? withVariants(type, (all) => all.map((each) => ({ ...each, index: rename(each.name, each.index) })))
        : type
    );
  }
  for (const name of change.widened ?? []) {
    const [pallet, event] = split(name);
    const field = { name: ADDED_FIELD, type: idOfU32(lookup), typeName: "u32", docs: [] };
    lookup = changed(
      lookup,
      palletNamed(pallets, pallet).events,
      (all) => all.map((each) => each.name === event ? { ...each, fields: [...each.fields, field] } : each),
    );
  }
  for (const name of change.removed ?? []) {
    const [pallet, call] = split(name);
    lookup = changed(
      lookup,
      palletNamed(pallets, pallet).calls,
      (all) => all.filter((each) => each.name !== call),
    );
  }
  pallets = pallets.map((pallet) => pallet.name === "System" ? withVersion(pallet, specVersion) : pallet);
  return metadataCodec.enc({
    magicNumber,
    metadata: { tag: "v14", value: { ...versioned.value, lookup, pallets } },
  });
}

function split(name: string): readonly [pallet: string, item: string] {
  const [pallet = "", item = ""] = name.split(".");
  return [pallet, item];
}

function palletNamed(pallets: readonly Pallet[], name: string): Pallet {
  const found = pallets.find((pallet) => pallet.name === name);
  if (found === undefined) throw new RangeError(`No pallet ${name}`);
  return found;
}

/** The new index of each pallet. */
function swapping(
  pallets: readonly Pallet[],
  [one, other]: readonly [string, string],
): (name: string, index: number) => number {
  const renamed = new Map([
    [one, palletNamed(pallets, other).index],
    [other, palletNamed(pallets, one).index],
  ]);
  return (name, index) => renamed.get(name) ?? index;
}

function withVariants(type: Types[number], change: (variants: Variants) => Variants): Types[number] {
  if (type.def.tag !== "variant") throw new RangeError(`Type ${type.id} is no enum`);
  return { ...type, def: { tag: "variant", value: change(type.def.value) } };
}

/** @throws {RangeError} when nothing is changed. */
function changed(types: Types, id: number | undefined, change: (variants: Variants) => Variants): Types {
  return types.map((type) => {
    if (type.id !== id) return type;
    const after = withVariants(type, change);
    if (JSON.stringify(after) === JSON.stringify(type)) {
      throw new RangeError(`Nothing to change in type ${id}`);
    }
    return after;
  });
}

function idOfU32(types: Types): number {
  const found = types.find(({ def }) => def.tag === "primitive" && def.value.tag === "u32");
  if (found === undefined) throw new RangeError("No type u32");
  return found.id;
}

/** Names, a number of 32 bits and the version begin the constant. */
function withVersion(system: Pallet, specVersion: number): Pallet {
  return {
    ...system,
    constants: system.constants.map((constant) => {
      if (constant.name !== "Version") return constant;
      const bytes = fromHex(constant.value);
      // Both names are shorter than 64 bytes.
      const specName = (bytes[0] ?? 0) >> 2;
      const implName = (bytes[1 + specName] ?? 0) >> 2;
      const at = 2 + specName + implName + 4;
      const value = concatBytes(bytes.slice(0, at), u32.enc(specVersion), bytes.slice(at + 4));
      return { ...constant, value: toHex(value) };
    }),
  };
}

/** A hub runtime of which a metadata vector exists. */
export type RuntimeName = "gargantua" | "nexus";

/** A name that the metadata does not have: a defect of the simulator, not of a caller. */
class MetadataError extends Error {
  override readonly name = "MetadataError";
  constructor(readonly code: "unknown_name" | "wrong_arity", readonly item: string) {
    super(`Metadata ${item}: ${code}`);
  }
}

/** `SimulatedRuntimeVersion` as JSON-RPC and `System.Version` have it. */
interface SimulatedRuntimeVersion {
  readonly specName: string;
  readonly implName: string;
  readonly authoringVersion: number;
  readonly specVersion: number;
  readonly implVersion: number;
  readonly apis: readonly (readonly [Hex, number])[];
  readonly transactionVersion: number;
  readonly stateVersion: number;
}

/** Fields of an event by their metadata names, each already SCALE encoded; unnamed fields count `0`, `1`, .. */
export type EventFields = Readonly<Record<string, Uint8Array>>;

/** What an upgraded runtime says in the fields that it added. */
const ADDED_VALUE = Uint8Array.of(0xad, 0xde, 0xed, 0xfe);

interface Variant {
  readonly index: number;
  readonly fields: readonly string[];
}

interface PalletEntry {
  readonly index: number;
  readonly prefix: string;
  readonly items: ReadonlyMap<string, StorageEntryMetadataLatest>;
  readonly calls: ReadonlyMap<string, Variant>;
  readonly events: ReadonlyMap<string, Variant>;
  readonly errors: ReadonlyMap<string, Variant>;
  readonly constants: ReadonlyMap<string, Uint8Array>;
}

/** Indexes and keys of one runtime. Nothing of it changes, so one is shared by all simulators of a process: it is large. */
export class RuntimeMetadata {
  static readonly #loaded = new Map<RuntimeName, RuntimeMetadata>();
  /** By the names of the pallets that are left out. */
  readonly #reduced = new Map<string, RuntimeMetadata>();
  /** The metadata as `state_getMetadata` gives it. */
  readonly bytes: Uint8Array;
  readonly version: SimulatedRuntimeVersion;
  /** SCALE of {@link version}, the constant `System.Version`. */
  readonly versionBytes: Uint8Array;
  readonly #pallets = new Map<string, PalletEntry>();
  readonly #prefixes = new Map<string, Uint8Array>();
  /** The one that no upgrade has changed. */
  #first: RuntimeMetadata = this;

  constructor(metadataHex: string) {
    this.bytes = fromHex(metadataHex);
    const registry = new TypeRegistry();
    const metadata = new Metadata(registry, toHex(this.bytes));
    registry.setMetadata(metadata, undefined, { PrioritizeVeto: { extrinsic: {}, payload: {} } });
    for (const pallet of metadata.asLatest.pallets) {
      this.#pallets.set(pallet.name.toString(), readPallet(registry, pallet));
    }
    this.versionBytes = this.constant("System", "Version");
    this.version = registry.createType("RuntimeVersion", this.versionBytes)
      .toJSON() as unknown as SimulatedRuntimeVersion;
  }

  /** The same runtime without some of its pallets; their types stay behind, unused. */
  without(pallets: readonly string[]): RuntimeMetadata {
    return getOrMake(this.#reduced, pallets.toSorted().join(), () => this.#reduce(pallets));
  }

  #reduce(pallets: readonly string[]): RuntimeMetadata {
    const registry = new TypeRegistry();
    const metadata = new Metadata(registry, toHex(this.bytes)).asV14;
    const kept = metadata.pallets.filter(({ name }) => !pallets.includes(name.toString()));
    return new RuntimeMetadata(toHex(concatBytes(
      // "meta", version 14.
      this.bytes.slice(0, 5),
      metadata.lookup.toU8a(),
      compact.enc(kept.length),
      ...kept.map((pallet) => pallet.toU8a()),
      metadata.extrinsic.toU8a(),
      metadata.type.toU8a(),
    )));
  }

  /** The runtime after an upgrade: the first one with that change, under the next spec version. */
  upgraded(change: RuntimeChange): RuntimeMetadata {
    const next = this.version.specVersion + 1;
    const upgraded = new RuntimeMetadata(toHex(changeMetadata(this.#first.bytes, change, next)));
    upgraded.#first = this.#first;
    return upgraded;
  }

  /** Metadata of a runtime from the vectors of the repository. */
  static load(name: RuntimeName): RuntimeMetadata {
    return getOrMake(RuntimeMetadata.#loaded, name, () => RuntimeMetadata.#read(name));
  }

  static #read(name: RuntimeName): RuntimeMetadata {
    const url = new URL(`../../tests/vectors/hub-metadata-${name}-head.json`, import.meta.url);
    const vector: unknown = JSON.parse(Deno.readTextFileSync(url));
    if (typeof vector !== "object" || vector === null || !("metadata" in vector)) {
      throw new MetadataError("unknown_name", name);
    }
    return new RuntimeMetadata(String(vector.metadata));
  }

  /** True when the runtime has the pallet. */
  hasPallet(pallet: string): boolean {
    return this.#pallets.has(pallet);
  }

  /** Key prefix of all entries of a storage item. */
  storagePrefix(pallet: string, item: string): Uint8Array {
    const name = `${pallet}.${item}`;
    const known = this.#prefixes.get(name);
    if (known !== undefined) return known;
    this.#item(pallet, item);
    const prefix = concatBytes(
      xxhashAsU8a(this.#pallet(pallet).prefix, 128),
      xxhashAsU8a(item, 128),
    );
    this.#prefixes.set(name, prefix);
    return prefix;
  }

  /** Storage key of an entry; `keys` are the SCALE encoded map keys. */
  storageKey(pallet: string, item: string, keys: readonly Uint8Array[]): Uint8Array {
    const { type } = this.#item(pallet, item);
    const hashers = type.isMap ? type.asMap.hashers.map((hasher) => hasher.type) : [];
    if (hashers.length !== keys.length) throw new MetadataError("wrong_arity", `${pallet}.${item}`);
    const parts = keys.map((key, index) => hashKey(hashers[index] ?? "", key));
    return concatBytes(this.storagePrefix(pallet, item), ...parts);
  }

  /** Value that the runtime reads where nothing is stored; undefined for optional items. */
  storageDefault(pallet: string, item: string): Uint8Array | undefined {
    const entry = this.#item(pallet, item);
    return entry.modifier.isOptional ? undefined : entry.fallback.toU8a(true);
  }

  /** The two index bytes with which a call begins. */
  callIndex(pallet: string, call: string): Uint8Array {
    return Uint8Array.of(this.#pallet(pallet).index, find(this.#pallet(pallet).calls, call, pallet).index);
  }

  /** Pallet and call by their index bytes; undefined when the runtime has no such call. */
  callName(palletIndex: number, callIndex: number): { pallet: string; call: string } | undefined {
    for (const [pallet, entry] of this.#pallets) {
      if (entry.index !== palletIndex) continue;
      for (const [call, { index }] of entry.calls) if (index === callIndex) return { pallet, call };
    }
    return undefined;
  }

  /** Indexes and fields of an event in metadata order. @throws {MetadataError} unless the names agree. */
  encodeEvent(pallet: string, event: string, fields: EventFields): Uint8Array {
    const entry = this.#pallet(pallet);
    const variant = find(entry.events, event, pallet);
    const known = variant.fields.filter((name) => name !== ADDED_FIELD);
    if (known.length !== Object.keys(fields).length) {
      throw new MetadataError("wrong_arity", `${pallet}.${event}`);
    }
    const parts = variant.fields.map((name) => {
      const part = name === ADDED_FIELD ? ADDED_VALUE : fields[name];
      if (part === undefined) throw new MetadataError("unknown_name", `${pallet}.${event}.${name}`);
      return part;
    });
    return concatBytes(Uint8Array.of(entry.index, variant.index), ...parts);
  }

  /** The two index bytes with which an event begins. */
  eventIndex(pallet: string, event: string): Uint8Array {
    const entry = this.#pallet(pallet);
    return Uint8Array.of(entry.index, find(entry.events, event, pallet).index);
  }

  /** SCALE `DispatchError::Module` of a pallet's error: 03, pallet, error and three zero bytes. */
  moduleError(pallet: string, error: string): Uint8Array {
    const entry = this.#pallet(pallet);
    return Uint8Array.of(3, entry.index, find(entry.errors, error, pallet).index, 0, 0, 0);
  }

  /** SCALE bytes of a constant. */
  constant(pallet: string, name: string): Uint8Array {
    return find(this.#pallet(pallet).constants, name, pallet);
  }

  #pallet(name: string): PalletEntry {
    return find(this.#pallets, name, "pallet");
  }

  #item(pallet: string, item: string): StorageEntryMetadataLatest {
    return find(this.#pallet(pallet).items, item, pallet);
  }
}

function find<T>(entries: ReadonlyMap<string, T>, name: string, where: string): T {
  const entry = entries.get(name);
  if (entry === undefined) throw new MetadataError("unknown_name", `${where}.${name}`);
  return entry;
}

function getOrMake<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}

function readPallet(registry: TypeRegistry, pallet: PalletMetadataLatest): PalletEntry {
  const storage = pallet.storage.unwrapOr(undefined);
  const variants = (type: PalletMetadataLatest["calls"]): ReadonlyMap<string, Variant> =>
    readVariants(registry, type.unwrapOr(undefined)?.type);
  return {
    index: pallet.index.toNumber(),
    prefix: storage?.prefix.toString() ?? "",
    items: new Map((storage?.items ?? []).map((item) => [item.name.toString(), item])),
    calls: variants(pallet.calls),
    events: readVariants(registry, pallet.events.unwrapOr(undefined)?.type),
    errors: readVariants(registry, pallet.errors.unwrapOr(undefined)?.type),
    constants: new Map(pallet.constants.map((item) => [item.name.toString(), item.value.toU8a(true)])),
  };
}

type LookupId = Parameters<TypeRegistry["lookup"]["getSiType"]>[0];

function readVariants(registry: TypeRegistry, type: LookupId | undefined): ReadonlyMap<string, Variant> {
  if (type === undefined) return new Map();
  const { variants } = registry.lookup.getSiType(type).def.asVariant;
  return new Map(variants.map((variant) => [variant.name.toString(), {
    index: variant.index.toNumber(),
    fields: variant.fields.map((field, position) => field.name.unwrapOr(position).toString()),
  }]));
}

function hashKey(hasher: string, key: Uint8Array): Uint8Array {
  switch (hasher) {
    case "Identity":
      return key;
    case "Twox64Concat":
      return concatBytes(xxhashAsU8a(key, 64), key);
    case "Blake2_128Concat":
      return concatBytes(blake2AsU8a(key, 128), key);
    default:
      throw new MetadataError("unknown_name", `hasher ${hasher}`);
  }
}
