/**
 * Metadata of a runtime after an upgrade: what release notes call renumbered pallets, a new field, a removed call. Pure.
 * Source of the format: paritytech/frame-metadata: frame-metadata/src/v14.rs.
 */
import { type CodecType, metadata as metadataCodec } from "@polkadot-api/substrate-bindings";
import { concatBytes, fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { u32 } from "../../src/core/encoding/scale.ts";

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
export const ADDED_FIELD = "added_by_upgrade";

type Decoded = Extract<CodecType<typeof metadataCodec>["metadata"], { readonly tag: "v14" }>["value"];
type Types = Decoded["lookup"];
type Pallet = Decoded["pallets"][number];
type Variants = Extract<Types[number]["def"], { readonly tag: "variant" }>["value"];

/** Enums over all pallets, which have the pallets' indexes again. */
const OUTER_ENUMS: ReadonlySet<string | undefined> = new Set(["RuntimeCall", "RuntimeEvent", "RuntimeError"]);

/** The metadata of that spec version. @throws {RangeError} for names that the runtime does not have. */
export function changeMetadata(
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
