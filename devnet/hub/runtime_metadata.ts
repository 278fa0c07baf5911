/**
 * What the hub simulator takes from runtime metadata: storage keys, call, event and error indexes, constants.
 * Everything is looked up by name, so the same code runs as any runtime that has the pallets.
 * Source of the format: paritytech/frame-metadata: frame-metadata/src/v14.rs.
 */
import { type CodecType, metadata as metadataCodec } from "@polkadot-api/substrate-bindings";
import { blake2AsU8a, xxhashAsU8a } from "@polkadot/util-crypto";
import { concatBytes, fromHex, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import {
  decodeStrict,
  fixedBytes,
  list,
  Struct,
  Tuple,
  u32,
  u8,
  utf8Text,
} from "../../src/core/encoding/scale.ts";

/** A hub runtime of which a metadata vector exists. */
export type RuntimeName = "gargantua" | "nexus";

/** How an upgraded runtime differs from the first one: what release notes call renumbered pallets, a new field, a removed call. */
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
/** What an upgraded runtime says in the fields that it added. */
const ADDED_VALUE = Uint8Array.of(0xad, 0xde, 0xed, 0xfe);

/** Metadata of version 14. */
export type MetadataV14 = Extract<
  CodecType<typeof metadataCodec>["metadata"],
  { readonly tag: "v14" }
>["value"];
type Types = MetadataV14["lookup"];
type Pallet = MetadataV14["pallets"][number];
type Item = NonNullable<Pallet["storage"]>["items"][number];
type Variants = Extract<Types[number]["def"], { readonly tag: "variant" }>["value"];

/** Reads metadata. @throws {RangeError} for other versions than 14. */
export function decodeMetadata(encoded: Uint8Array): MetadataV14 {
  const { metadata } = metadataCodec.dec(encoded.slice());
  if (metadata.tag !== "v14") throw new RangeError(`Metadata ${metadata.tag}`);
  return metadata.value;
}

/** Writes metadata. */
export function encodeMetadata(value: MetadataV14): Uint8Array {
  // "meta", little endian.
  return metadataCodec.enc({ magicNumber: 0x6174_656d, metadata: { tag: "v14", value } });
}

/** `System.Version`. */
const versionCodec = Struct({
  specName: utf8Text,
  implName: utf8Text,
  authoringVersion: u32,
  specVersion: u32,
  implVersion: u32,
  apis: list(Tuple(fixedBytes(8), u32)),
  transactionVersion: u32,
  stateVersion: u8,
});
type RuntimeVersion = CodecType<typeof versionCodec>;

/** A name that the metadata does not have: a defect of the simulator, not of a caller. */
class MetadataError extends Error {
  override readonly name = "MetadataError";
  constructor(readonly code: "unknown_name" | "wrong_arity", readonly item: string) {
    super(`Metadata ${item}: ${code}`);
  }
}

/** Fields of an event by their metadata names, each already SCALE encoded; unnamed fields count `0`, `1`, .. */
export type EventFields = Readonly<Record<string, Uint8Array>>;

/** Indexes and keys of one runtime. Nothing of it changes, so one is shared by all simulators of a process: it is large. */
export class RuntimeMetadata {
  static readonly #loaded = new Map<string, RuntimeMetadata>();
  /** The metadata as `state_getMetadata` gives it. */
  readonly bytes: Uint8Array;
  /** As JSON-RPC has it. */
  readonly version: Omit<RuntimeVersion, "apis"> & { readonly apis: readonly (readonly [Hex, number])[] };
  readonly #content: MetadataV14;
  readonly #pallets: ReadonlyMap<string, Pallet>;
  readonly #prefixes = new Map<string, Uint8Array>();
  /** The one that no upgrade has changed. */
  #first: RuntimeMetadata = this;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#content = decodeMetadata(bytes);
    this.#pallets = new Map(this.#content.pallets.map((pallet) => [pallet.name, pallet]));
    const { apis, ...version } = decodeStrict(versionCodec, this.constant("System", "Version"), "Version");
    this.version = { ...version, apis: apis.map(([id, count]) => [toHex(id), count]) };
  }

  /** The metadata of a runtime from the vectors of the repository, without some of its pallets; their types stay. */
  static load(name: RuntimeName, without: readonly string[] = []): RuntimeMetadata {
    const key = [name, ...without].join();
    const known = RuntimeMetadata.#loaded.get(key);
    if (known !== undefined) return known;
    const url = new URL(`../../tests/vectors/hub-metadata-${name}-head.json`, import.meta.url);
    const bytes = fromHex(String(Object(JSON.parse(Deno.readTextFileSync(url))).metadata));
    const whole = decodeMetadata(bytes);
    const pallets = whole.pallets.filter((pallet) => !without.includes(pallet.name));
    const loaded = new RuntimeMetadata(without.length === 0 ? bytes : encodeMetadata({ ...whole, pallets }));
    RuntimeMetadata.#loaded.set(key, loaded);
    return loaded;
  }

  /** The runtime after an upgrade: the first one with that change, under the next spec version. */
  upgraded(change: RuntimeChange): RuntimeMetadata {
    const changed = changeMetadata(this.#first.#content, change, this.version.specVersion + 1);
    const upgraded = new RuntimeMetadata(encodeMetadata(changed));
    upgraded.#first = this.#first;
    return upgraded;
  }

  /** Key prefix of all entries of a storage item. */
  storagePrefix(pallet: string, item: string): Uint8Array {
    const name = `${pallet}.${item}`;
    const known = this.#prefixes.get(name);
    if (known !== undefined) return known;
    this.#item(pallet, item);
    const { prefix = "" } = this.#pallet(pallet).storage ?? {};
    const made = concatBytes(xxhashAsU8a(prefix, 128), xxhashAsU8a(item, 128));
    this.#prefixes.set(name, made);
    return made;
  }

  /** Storage key of an entry; `keys` are the SCALE encoded map keys. */
  storageKey(pallet: string, item: string, keys: readonly Uint8Array[]): Uint8Array {
    const { type } = this.#item(pallet, item);
    const hashers = type.tag === "map" ? type.value.hashers : [];
    if (hashers.length !== keys.length) throw new MetadataError("wrong_arity", `${pallet}.${item}`);
    const parts = keys.map((key, index) => hashKey(hashers[index]?.tag ?? "", key));
    return concatBytes(this.storagePrefix(pallet, item), ...parts);
  }

  /** The two index bytes with which a call begins. */
  callIndex(pallet: string, call: string): Uint8Array {
    const { index, calls } = this.#pallet(pallet);
    return Uint8Array.of(index, named(this.#variants(calls), call, pallet).index);
  }

  /** Pallet and call by their index bytes; undefined when the runtime has no such call. */
  callName(palletIndex: number, callIndex: number): { pallet: string; call: string } | undefined {
    const pallet = this.#content.pallets.find(({ index }) => index === palletIndex);
    const call = this.#variants(pallet?.calls).find(({ index }) => index === callIndex);
    return pallet && call && { pallet: pallet.name, call: call.name };
  }

  /** Indexes and fields of an event in metadata order. @throws {MetadataError} unless the names agree. */
  encodeEvent(pallet: string, event: string, fields: EventFields): Uint8Array {
    const { index, events } = this.#pallet(pallet);
    const variant = named(this.#variants(events), event, pallet);
    const names = variant.fields.map(({ name }, position) => name ?? String(position));
    if (names.filter((name) => name !== ADDED_FIELD).length !== Object.keys(fields).length) {
      throw new MetadataError("wrong_arity", `${pallet}.${event}`);
    }
    const parts = names.map((name) => {
      const part = name === ADDED_FIELD ? ADDED_VALUE : fields[name];
      if (part === undefined) throw new MetadataError("unknown_name", `${pallet}.${event}.${name}`);
      return part;
    });
    return concatBytes(Uint8Array.of(index, variant.index), ...parts);
  }

  /** The two index bytes with which an event begins. */
  eventIndex(pallet: string, event: string): Uint8Array {
    const { index, events } = this.#pallet(pallet);
    return Uint8Array.of(index, named(this.#variants(events), event, pallet).index);
  }

  /** SCALE `DispatchError::Module` of a pallet's error: 03, pallet, error and three zero bytes. */
  moduleError(pallet: string, error: string): Uint8Array {
    const { index, errors } = this.#pallet(pallet);
    return Uint8Array.of(3, index, named(this.#variants(errors), error, pallet).index, 0, 0, 0);
  }

  /** SCALE bytes of a constant. */
  constant(pallet: string, name: string): Uint8Array {
    return fromHex(named(this.#pallet(pallet).constants, name, pallet).value);
  }

  #pallet(name: string): Pallet {
    const pallet = this.#pallets.get(name);
    if (pallet === undefined) throw new MetadataError("unknown_name", `pallet.${name}`);
    return pallet;
  }

  #item(pallet: string, item: string): Item {
    return named(this.#pallet(pallet).storage?.items ?? [], item, pallet);
  }

  #variants(type: number | undefined): Variants {
    const definition = type === undefined ? undefined : this.#content.lookup[type]?.def;
    return definition?.tag === "variant" ? definition.value : [];
  }
}

function named<T extends { readonly name: string }>(entries: readonly T[], name: string, where: string): T {
  const entry = entries.find((each) => each.name === name);
  if (entry === undefined) throw new MetadataError("unknown_name", `${where}.${name}`);
  return entry;
}

function hashKey(hasher: string, key: Uint8Array): Uint8Array {
  switch (hasher) {
    case "Identity":
      return key;
    case "Twox64Concat":
      return concatBytes(xxhashAsU8a(key, 64), key);
    case "Blake2128Concat":
      return concatBytes(blake2AsU8a(key, 128), key);
    default:
      throw new MetadataError("unknown_name", `hasher ${hasher}`);
  }
}

/** Enums over all pallets, which have the pallets' indexes again. */
const OUTER_ENUMS: ReadonlySet<string | undefined> = new Set(["RuntimeCall", "RuntimeEvent", "RuntimeError"]);

/** The metadata of that spec version. @throws {MetadataError} for names that the runtime does not have. */
function changeMetadata(
  { lookup: types, pallets: numbered, ...rest }: MetadataV14,
  { swapped = ["", ""], widened = [], removed = [] }: RuntimeChange,
  specVersion: number,
): MetadataV14 {
  const index = (name: string, before: number): number => {
    const other = swapped[0] === name ? swapped[1] : swapped[1] === name ? swapped[0] : undefined;
    return other === undefined ? before : named(numbered, other, "pallet").index;
  };
  const pallets = numbered.map((pallet) => ({ ...pallet, index: index(pallet.name, pallet.index) }));
  let lookup = types.map((type) =>
    OUTER_ENUMS.has(type.path.at(-1))
      ? withVariants(type, (all) => all.map((each) => ({ ...each, index: index(each.name, each.index) })))
      : type
  );
  const u32Type = types.find(({ def }) => def.tag === "primitive" && def.value.tag === "u32")?.id ?? 0;
  const field = { name: ADDED_FIELD, type: u32Type, typeName: "u32", docs: [] };
  for (const [pallet, event] of widened.map(split)) {
    lookup = changed(
      lookup,
      named(pallets, pallet, "pallet").events,
      (all) => all.map((each) => each.name === event ? { ...each, fields: [...each.fields, field] } : each),
    );
  }
  for (const [pallet, call] of removed.map(split)) {
    const without = (all: Variants): Variants => all.filter(({ name }) => name !== call);
    lookup = changed(lookup, named(pallets, pallet, "pallet").calls, without);
  }
  const constants = named(pallets, "System", "pallet").constants.map((constant) =>
    constant.name === "Version" ? { ...constant, value: withVersion(constant.value, specVersion) } : constant
  );
  return {
    ...rest,
    lookup,
    pallets: pallets.map((pallet) => pallet.name === "System" ? { ...pallet, constants } : pallet),
  };
}

function split(name: string): readonly [pallet: string, item: string] {
  const [pallet = "", item = ""] = name.split(".");
  return [pallet, item];
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
    if (JSON.stringify(after) !== JSON.stringify(type)) return after;
    throw new RangeError(`Nothing to change in type ${id}`);
  });
}

function withVersion(encoded: string, specVersion: number): Hex {
  const version = decodeStrict(versionCodec, fromHex(encoded), "Version");
  return toHex(versionCodec.enc({ ...version, specVersion }));
}
