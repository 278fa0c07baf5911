/**
 * Runtime metadata of a Substrate chain with pallet-revive: the pallets `System` and `Timestamp` of a real runtime, and of
 * `Revive` what is needed to read accounts. Source of the types: paritytech/polkadot-sdk:
 * substrate/frame/revive/src/storage.rs.
 */
import { type CodecType, metadata as metadataCodec } from "@polkadot-api/substrate-bindings";
import { RuntimeMetadata } from "../hub/runtime_metadata.ts";

type Metadata = CodecType<typeof metadataCodec>["metadata"];
type V14 = Extract<Metadata, { readonly tag: "v14" }>["value"];
type Lookup = V14["lookup"];
type Definition = Lookup[number]["def"];

/** Pallets that are kept of the real runtime. */
const KEPT: ReadonlySet<string> = new Set(["System", "Timestamp"]);

/** Index that the pallet has on Polkadot Hub. */
const PALLET_INDEX = 60;

/** Encodes the metadata. @param contractVariant index of contracts among the kinds of accounts. */
export function reviveMetadata(contractVariant = 0): Uint8Array {
  const { magicNumber, metadata } = metadataCodec.dec(RuntimeMetadata.load("gargantua").bytes.slice());
  if (metadata.tag !== "v14") throw new Error(`The vector holds metadata of version 14, not ${metadata.tag}`);
  const { lookup, pallets, ...rest } = metadata.value;
  const types = new Types(lookup);
  const [h160, bytes, u32, u128] = [
    types.named("H160"),
    types.find(({ tag, value }) => tag === "sequence" && value === types.primitive("u8")),
    types.primitive("u32"),
    types.primitive("u128"),
  ];
  const hash = types.named("H256");
  const contract = types.add(["pallet_revive", "storage", "ContractInfo"], {
    tag: "composite",
    value: [
      ["trie_id", bytes],
      ["code_hash", hash],
      ["storage_bytes", u32],
      ["storage_items", u32],
      ["storage_byte_deposit", u128],
      ["storage_item_deposit", u128],
      ["storage_base_deposit", u128],
      ["immutable_data_len", u32],
    ].map(field),
  });
  const kind = types.add(["pallet_revive", "storage", "AccountType"], {
    tag: "variant",
    value: [
      { name: "Contract", index: contractVariant, fields: [field([undefined, contract])], docs: [] },
      { name: "EOA", index: contractVariant + 1, fields: [], docs: [] },
    ],
  });
  const account = types.add(["pallet_revive", "storage", "AccountInfo"], {
    tag: "composite",
    value: [["account_type", kind], ["dust", u32]].map(field),
  });
  const revive: V14["pallets"][number] = {
    name: "Revive",
    storage: {
      prefix: "Revive",
      items: [{
        name: "AccountInfoOf",
        modifier: 0,
        type: {
          tag: "map",
          value: { hashers: [{ tag: "Identity", value: undefined }], key: h160, value: account },
        },
        fallback: "0x00",
        docs: [],
      }],
    },
    calls: undefined,
    events: undefined,
    constants: [],
    errors: undefined,
    index: PALLET_INDEX,
    docs: [],
  };
  const kept = pallets.filter(({ name }) => KEPT.has(name));
  const value = { ...rest, lookup: types.all, pallets: [...kept, revive] };
  return metadataCodec.enc({ magicNumber, metadata: { tag: "v14", value } });
}

type Field = Extract<Definition, { readonly tag: "composite" }>["value"][number];

function field([name, type = 0]: readonly (string | number | undefined)[]): Field {
  return {
    name: name === undefined ? undefined : String(name),
    type: Number(type),
    typeName: undefined,
    docs: [],
  };
}

/** Types of a runtime, to which others are added. */
class Types {
  readonly all: Lookup;

  constructor(known: Lookup) {
    this.all = [...known];
  }

  find(isWanted: (definition: Definition) => boolean): number {
    const found = this.all.find(({ def }) => isWanted(def));
    if (found === undefined) throw new Error("The runtime lacks a type");
    return found.id;
  }

  primitive(name: string): number {
    return this.find(({ tag, value }) => tag === "primitive" && value.tag === name);
  }

  named(name: string): number {
    const found = this.all.find(({ path }) => path.at(-1) === name);
    if (found === undefined) throw new Error(`The runtime has no type ${name}`);
    return found.id;
  }

  /** Adds a type. @returns its number. */
  add(path: string[], def: Definition): number {
    const id = this.all.length;
    this.all.push({ id, path, params: [], def, docs: [] });
    return id;
  }
}
