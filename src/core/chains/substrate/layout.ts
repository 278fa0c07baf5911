/**
 * Layouts that arguments of calls must have in a runtime's metadata, so that bytes encoded for one layout are never
 * sent to a runtime with another. Names of types and fields do not matter, only their encoding.
 */

/** Encoding of a type. Extra variants of an enum are allowed: they do not change the others. */
export type Layout =
  | "bool"
  | "u8"
  | "u16"
  | "u32"
  | "u64"
  | "u128"
  | { readonly list: Layout }
  | { readonly array: Layout; readonly length: number }
  | { readonly fields: readonly Layout[] }
  /** Fields, of which only the first are read. */
  | { readonly startsWith: readonly Layout[] }
  | { readonly variants: Readonly<Record<number, readonly Layout[]>> };

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

/** Comparison of a runtime's types with layouts. */
export class LayoutComparison {
  readonly #lookup: TypeLookup;

  constructor(lookup: TypeLookup) {
    this.#lookup = lookup;
  }

  /**
   * First difference of a type from the layout, e.g. `[].2.0[].5: expected u64, found list`; `undefined` when it fits.
   */
  findMismatch(
    id: number,
    expected: Layout,
    path = "",
  ): string | undefined {
    const found = this.#lookup(id);
    // A struct of one field encodes as that field (H256, BoundedVec).
    const [only, ...more] = found.kind === "fields" ? found.of : [];
    const isWrapper = only !== undefined && more.length === 0;
    const wantsOne = typeof expected === "object" &&
      ("startsWith" in expected && expected.startsWith.length === 1 ||
        "fields" in expected && expected.fields.length === 1);
    if (isWrapper && !wantsOne) return this.findMismatch(only, expected, path);
    const differs = `${path || "argument"}: expected ${kindOf(expected)}, found ${nameOf(found)}`;
    if (typeof expected === "string") {
      return found.kind === "primitive" && found.name === expected ? undefined : differs;
    }
    if ("list" in expected) {
      return found.kind === "list" ? this.findMismatch(found.of, expected.list, `${path}[]`) : differs;
    }
    if ("array" in expected) {
      const fits = found.kind === "array" && found.length === expected.length;
      return fits ? this.findMismatch(found.of, expected.array, `${path}[]`) : differs;
    }
    if ("fields" in expected) {
      return found.kind === "fields" ? this.findInFields(found.of, expected.fields, path) : differs;
    }
    if ("startsWith" in expected) {
      const { startsWith } = expected;
      return found.kind === "fields"
        ? this.findInFields(found.of.slice(0, startsWith.length), startsWith, path)
        : differs;
    }
    if (found.kind !== "variants") return differs;
    for (const [index, fields] of Object.entries(expected.variants)) {
      const ids = found.of.get(Number(index));
      if (ids === undefined) return `${path || "argument"}: no variant ${index}`;
      const inside = this.findInFields(ids, this.#inVariant(ids, fields), `${path}.${index}`);
      if (inside !== undefined) return inside;
    }
    return undefined;
  }

  /** A variant may hold its fields directly or as one struct of them: the bytes are the same. */
  #inVariant(ids: readonly number[], fields: readonly Layout[]): readonly Layout[] {
    const [only] = ids;
    if (ids.length !== 1 || only === undefined || fields.length === 1) return fields;
    return this.#lookup(only).kind === "fields" ? [{ fields }] : fields;
  }

  /** As {@link findMismatch}, of several types in a row. */
  findInFields(
    ids: readonly number[],
    expected: readonly Layout[],
    path: string,
  ): string | undefined {
    if (ids.length !== expected.length) {
      return `${path || "argument"}: expected ${expected.length} fields, found ${ids.length}`;
    }
    for (const [index, layout] of expected.entries()) {
      const id = ids[index];
      const inside = id === undefined ? undefined : this.findMismatch(id, layout, `${path}.${index}`);
      if (inside !== undefined) return inside;
    }
    return undefined;
  }
}

/**
 * Layout of what is only read: newer versions of a type may have more fields at its end, also of the last field, which
 * are skipped. What is written must fit exactly.
 */
export function asRead(layout: Layout): Layout {
  if (typeof layout !== "object" || !("fields" in layout)) return layout;
  const last = layout.fields.at(-1);
  return last === undefined ? layout : { startsWith: [...layout.fields.slice(0, -1), asRead(last)] };
}

function kindOf(layout: Layout): string {
  if (typeof layout === "string") return layout;
  return "startsWith" in layout ? "fields" : Object.keys(layout)[0] ?? "nothing";
}

function nameOf(type: RuntimeType): string {
  return type.kind === "primitive" || type.kind === "other" ? type.name : type.kind;
}

const bytes: Layout = { list: "u8" };
const id4: Layout = { array: "u8", length: 4 };
const hash: Layout = { array: "u8", length: 32 };

/** `StateMachine` without `Relay`, which July 2025 releases lack and no relayer sends. */
export const stateMachineLayout: Layout = {
  variants: { 0: ["u32"], 1: ["u32"], 2: ["u32"], 3: [id4], 4: [id4] },
};
const stateMachineHeight: Layout = { fields: [{ fields: [stateMachineLayout, id4] }, "u64"] };
const proof: Layout = { fields: [stateMachineHeight, bytes] };
const postRequest: Layout = {
  fields: [stateMachineLayout, stateMachineLayout, "u64", bytes, bytes, "u64", bytes],
};
const getRequest: Layout = {
  fields: [stateMachineLayout, stateMachineLayout, "u64", bytes, { list: bytes }, "u64", bytes, "u64"],
};
const signature: Layout = { variants: { 0: [bytes, bytes], 1: [bytes, bytes], 2: [bytes, bytes] } };

/** `Option<T>`. */
function option(inner: Layout): Layout {
  return { variants: { 0: [], 1: [inner] } };
}

/** An element of `Ismp.handle_unsigned`'s list. */
function oneMessage(index: number, fields: readonly Layout[]): readonly Layout[] {
  return [{ list: { variants: { [index]: fields } } }];
}

/**
 * Arguments of the calls that relayers send, by content. Same layouts as the codecs of
 * `core/ismp/{ismp_message,fees,hub_calls}.ts`; see there for sources.
 */
export const callLayouts = {
  consensus: { pallet: "Ismp", call: "handle_unsigned", layout: oneMessage(0, [bytes, id4, bytes]) },
  requests: {
    pallet: "Ismp",
    call: "handle_unsigned",
    layout: oneMessage(2, [{ list: postRequest }, proof, bytes]),
  },
  getRequests: {
    pallet: "StateCoprocessor",
    call: "handle_unsigned",
    layout: [{ fields: [{ list: getRequest }, proof, proof, bytes] }],
  },
  accumulateFees: {
    pallet: "Relayer",
    call: "accumulate_fees",
    layout: [{ fields: [{ list: hash }, proof, proof, option({ fields: [bytes, signature] })] }],
  },
  withdrawFees: {
    pallet: "Relayer",
    call: "withdraw_fees",
    layout: [{ fields: [signature, stateMachineLayout, option(bytes)] }],
  },
  claimRotation: {
    pallet: "Relayer",
    call: "claim_outbound_consensus_delivery_reward",
    layout: [{ fields: [proof, "u64", hash, signature] }],
  },
  claimRequest: {
    pallet: "Relayer",
    call: "claim_outbound_request_delivery_reward",
    layout: [{ fields: [postRequest, proof, hash, signature] }],
  },
  decompress: { pallet: "CallDecompressor", call: "decompress_call", layout: [bytes, "u32"] },
} as const satisfies Readonly<Record<string, CallLayout>>;

/** A call by name, with the layout of its arguments. */
export interface CallLayout {
  readonly pallet: string;
  readonly call: string;
  readonly layout: readonly Layout[];
}

/** How a key is hashed, as metadata names it. */
export type StorageHasher = "Blake2128Concat" | "Twox64Concat" | "Identity";

/** A storage item, `Pallet.Item`: a value without hashers, else a map. */
export interface StorageLayout {
  readonly item: string;
  readonly hashers: readonly StorageHasher[];
  /** Keys of several hashers are fields. */
  readonly key?: Layout;
  readonly value: Layout;
}

/** An event, `Pallet.Event`, with its fields in order; absent: they are not decoded. */
export interface RuntimeEventLayout {
  readonly event: string;
  readonly fields?: readonly Layout[];
}
