/** What is read of metadata, against another decoder (@polkadot/types), in all versions that nodes give. */
import assert from "node:assert/strict";
import { Metadata, TypeRegistry } from "@polkadot/types";
import {
  readMetadata,
  type RuntimeTables,
  type StorageEntry,
  UnreadableMetadata,
} from "../../../../src/core/chains/substrate/metadata.ts";
import { concatBytes, toHex } from "../../../../src/core/encoding/bytes.ts";
import { hubMetadata } from "../../../support/hub_vectors.ts";

const { metadata } = hubMetadata("nexus-head");
const registry = new TypeRegistry();
const decoded = new Metadata(registry, toHex(metadata));
registry.setMetadata(decoded, undefined, undefined, true);

/** The tables of @polkadot/types, without the types. */
function expected(): Omit<RuntimeTables, "types"> {
  const { pallets, lookup } = decoded.asLatest;
  const variantsOf = (
    part: typeof pallets[number]["calls" | "events" | "errors"],
  ): ReturnType<typeof lookup.getSiType>["def"]["asVariant"]["variants"][number][] =>
    part.isSome ? [...lookup.getSiType(part.unwrap().type).def.asVariant.variants] : [];
  const tables = {
    pallets: new Map(),
    calls: new Map(),
    storage: new Map<string, StorageEntry>(),
    dispatchErrors: new Map<number, string>(),
  };
  for (const pallet of pallets) {
    const name = pallet.name.toString();
    tables.pallets.set(pallet.index.toNumber(), {
      name,
      errors: new Map(variantsOf(pallet.errors).map((each) => [each.index.toNumber(), each.name.toString()])),
      events: new Map(
        variantsOf(pallet.events).map((each) => [each.index.toNumber(), {
          name: each.name.toString(),
          fields: each.fields.map((field) => field.type.toNumber()),
        }]),
      ),
    });
    for (const call of variantsOf(pallet.calls)) {
      tables.calls.set(`${name}.${call.name}`, {
        index: Uint8Array.of(pallet.index.toNumber(), call.index.toNumber()),
        argumentTypes: call.fields.map((field) => field.type.toNumber()),
      });
    }
    for (const item of pallet.storage.isSome ? pallet.storage.unwrap().items : []) {
      tables.storage.set(
        `${name}.${item.name}`,
        item.type.isPlain ? { hashers: [], key: undefined, value: item.type.asPlain.toNumber() } : {
          hashers: item.type.asMap.hashers.map(({ type }) => type.replaceAll("_", "")),
          key: item.type.asMap.key.toNumber(),
          value: item.type.asMap.value.toNumber(),
        },
      );
    }
  }
  const errors = lookup.types.find(({ type }) =>
    type.path.map(String).join("::") === "sp_runtime::DispatchError"
  );
  for (const { index, name } of errors?.type.def.asVariant.variants ?? []) {
    tables.dispatchErrors.set(index.toNumber(), name.toString());
  }
  return tables;
}

Deno.test("metadata: calls, events, errors and storage are those that @polkadot/types reads", () => {
  const { types: _, ...tables } = readMetadata(metadata);
  assert.ok(tables.calls.size > 100);
  assert.deepEqual(tables, expected());
});

Deno.test("metadata: types have the shapes that @polkadot/types reads", () => {
  const { types } = readMetadata(metadata);
  const { lookup } = decoded.asLatest;
  assert.equal(types.size, lookup.types.length);
  for (const { id, type: { def } } of lookup.types) {
    const found = types.get(id.toNumber());
    const shape = def.isPrimitive
      ? { kind: "primitive", name: def.asPrimitive.type.toLowerCase() }
      : def.isSequence
      ? { kind: "list", of: def.asSequence.type.toNumber() }
      : def.isArray
      ? { kind: "array", of: def.asArray.type.toNumber(), length: def.asArray.len.toNumber() }
      : def.isComposite
      ? { kind: "fields", of: def.asComposite.fields.map((field) => field.type.toNumber()) }
      : def.isTuple
      ? { kind: "fields", of: def.asTuple.map((each) => each.toNumber()) }
      : def.isVariant
      ? {
        kind: "variants",
        of: new Map(
          def.asVariant.variants.map((each) => [
            each.index.toNumber(),
            each.fields.map((field) => field.type.toNumber()),
          ]),
        ),
      }
      : def.isBitSequence
      ? { kind: "bits", storeBytes: 1 } // `BitVec<u8, _>` is the only one in it
      : { kind: "compact" };
    assert.deepEqual(found, shape, `type ${id}`);
  }
});

Deno.test("metadata: version 16, as @polkadot/types converts it, says the same as version 14", () => {
  const value = decoded.asV16.toU8a();
  const encoded = concatBytes(metadata.subarray(0, 4), Uint8Array.of(16), value);
  assert.deepEqual(readMetadata(encoded), readMetadata(metadata));
});

Deno.test("metadata: every truncated prefix and every other version is refused", () => {
  for (let length = 0; length < metadata.length; length += 40_009) {
    assert.throws(() => readMetadata(metadata.subarray(0, length)), UnreadableMetadata, `${length} bytes`);
  }
  for (const [at, byte] of [[4, 13], [4, 17], [0, 0]] as const) {
    const changed = metadata.slice();
    changed[at] = byte;
    assert.throws(() => readMetadata(changed), UnreadableMetadata);
  }
});
