/**
 * Runtime as its metadata describes it: indexes of calls, layouts of arguments, events and errors by name. The only
 * file that uses @polkadot/types, which is loaded at first use because loading is slow.
 */
import { concatBytes, toHex } from "../../encoding/bytes.ts";
import type { Reaction } from "../../rpc/fault.ts";
import type { RuntimeVersion } from "../../rpc/substrate_calls.ts";
import { type BlockEvents, type EventType, readEventRecords } from "./event_records.ts";
import { type CallLayout, LayoutComparison, type RuntimeType } from "./layout.ts";

/** Reason why a runtime cannot be used. */
export type RuntimeFaultCode =
  /** The bytes are not metadata of a supported version (14 to 16). */
  | "bad_metadata"
  | "missing_call"
  /** The call has other arguments than this program would send. */
  | "layout_mismatch"
  /** The events of a block do not decode with the metadata of that block, not even as far as their heads. */
  | "bad_events";

/** Runtime incompatible with this program: usually another release of pallet-ismp. */
export class RuntimeFault extends Error {
  override readonly name = "RuntimeFault";
  readonly reaction: Reaction = "stop";
  constructor(
    readonly code: RuntimeFaultCode,
    readonly where: { readonly chain: string; readonly runtime: string },
    /** Expected and found layout. */
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(`Runtime ${where.runtime} of ${where.chain}: ${code} (${detail})`, options);
  }
}

/** Names and indexes of one runtime version. */
export interface Runtime {
  readonly version: RuntimeVersion;
  hasPallet(pallet: string): boolean;
  hasStorage(pallet: string, item: string): boolean;
  /**
   * Encodes the call with its arguments, which are already encoded. @throws {RuntimeFault} when the runtime has
   * others.
   */
  encodeCall(call: CallLayout, encodedArguments: Uint8Array): Uint8Array;
  /**
   * Decodes the value of `System.Events`. @throws {RuntimeFault} `bad_events` when not even the heads of events can
   * be read.
   */
  decodeEvents(value: Uint8Array): BlockEvents;
  /** Name of an encoded `DispatchError`, e.g. `Ismp.InvalidMessage` or `BadOrigin`. */
  dispatchErrorName(encoded: Uint8Array): string;
}

/** Outermost variants of `DispatchError` where the metadata has no such type: paritytech/polkadot-sdk: substrate/primitives/runtime/src/lib.rs. */
const dispatchErrors = [
  "Other",
  "CannotLookup",
  "BadOrigin",
  "Module",
  "ConsumerRemaining",
  "NoProviders",
  "TooManyConsumers",
  "Token",
  "Arithmetic",
  "Transactional",
  "Exhausted",
  "Corruption",
  "Unavailable",
  "RootNotAllowed",
  "Trie",
] as const;

type Types = typeof import("@polkadot/types");
type Registry = InstanceType<Types["TypeRegistry"]>;
type Latest = InstanceType<Types["Metadata"]>["asLatest"];

/**
 * Reads metadata (V14 to V16).
 * @throws {RuntimeFault} `bad_metadata`.
 */
export async function loadRuntime(
  chain: string,
  version: RuntimeVersion,
  metadata: Uint8Array,
): Promise<Runtime> {
  const { Metadata, TypeRegistry } = await import("@polkadot/types");
  const registry = new TypeRegistry();
  try {
    const decoded = new Metadata(registry, toHex(metadata));
    // The last argument keeps the library from writing to the console about extensions it does not know.
    registry.setMetadata(decoded, undefined, undefined, true);
    return new MetadataRuntime({ chain, version }, registry, decoded.asLatest);
  } catch (cause) {
    const where = { chain, runtime: `${version.specName} ${version.specVersion}` };
    const detail = `${metadata.length} bytes that do not decode`;
    throw new RuntimeFault("bad_metadata", where, detail, { cause });
  }
}

/** Variants of `DispatchError` that the runtime knows: releases append to them. */
function dispatchErrorsOf(metadata: Latest): ReadonlyMap<number, string> {
  const found = metadata.lookup.types.find(({ type: { path } }) =>
    path.map(String).join("::") === "sp_runtime::DispatchError"
  );
  if (found === undefined || !found.type.def.isVariant) return new Map(dispatchErrors.entries());
  return new Map(
    found.type.def.asVariant.variants.map(({ index, name }) => [index.toNumber(), name.toString()]),
  );
}

interface CallEntry {
  readonly index: Uint8Array;
  readonly argumentTypes: readonly number[];
}

class MetadataRuntime implements Runtime {
  readonly version: RuntimeVersion;
  readonly #chain: string;
  readonly #registry: Registry;
  readonly #calls = new Map<string, CallEntry>();
  readonly #storage = new Set<string>();
  readonly #pallets = new Map<
    number,
    {
      readonly name: string;
      readonly errors: ReadonlyMap<number, string>;
      readonly events: ReadonlyMap<number, EventType>;
    }
  >();
  readonly #types = new Map<number, RuntimeType>();
  /** Names of the outermost variants of `DispatchError` by index. */
  readonly #dispatchErrors: ReadonlyMap<number, string>;
  /** Layouts that were already compared, with the result. */
  readonly #checked = new Map<CallLayout, CallEntry>();

  constructor(
    identity: { readonly chain: string; readonly version: RuntimeVersion },
    registry: Registry,
    metadata: Latest,
  ) {
    this.version = identity.version;
    this.#chain = identity.chain;
    this.#registry = registry;
    this.#dispatchErrors = dispatchErrorsOf(metadata);
    for (const pallet of metadata.pallets) this.#addPallet(pallet);
  }

  hasPallet(pallet: string): boolean {
    return [...this.#pallets.values()].some(({ name }) => name === pallet);
  }

  hasStorage(pallet: string, item: string): boolean {
    return this.#storage.has(`${pallet}.${item}`);
  }

  encodeCall(call: CallLayout, encodedArguments: Uint8Array): Uint8Array {
    const entry = this.#checked.get(call) ?? this.#checkCall(call);
    return concatBytes(entry.index, encodedArguments);
  }

  decodeEvents(value: Uint8Array): BlockEvents {
    try {
      return readEventRecords({
        lookup: (id) => this.#typeOf(id),
        palletName: (index) => this.#pallets.get(index)?.name,
        event: (pallet, index) => this.#pallets.get(pallet)?.events.get(index),
      }, value);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      throw this.#fault("bad_events", `${value.length} bytes that do not decode`, { cause });
    }
  }

  dispatchErrorName(encoded: Uint8Array): string {
    const kind = this.#dispatchErrors.get(encoded[0] ?? -1) ?? `DispatchError ${encoded[0] ?? "?"}`;
    if (kind !== "Module") return kind;
    const [, palletIndex = -1, errorIndex = -1] = encoded;
    const pallet = this.#pallets.get(palletIndex);
    return `${pallet?.name ?? `pallet ${palletIndex}`}.${pallet?.errors.get(errorIndex) ?? errorIndex}`;
  }

  #addPallet(pallet: Latest["pallets"][number]): void {
    const name = pallet.name.toString();
    const index = pallet.index.toNumber();
    const errors = pallet.errors.isSome ? this.#variants(pallet.errors.unwrap().type) : [];
    const named = errors.map((each) => [each.index.toNumber(), each.name.toString()] as const);
    const events = pallet.events.isSome ? this.#variants(pallet.events.unwrap().type) : [];
    const typed = events.map((each) => {
      const fields = each.fields.map((field) => field.type.toNumber());
      return [each.index.toNumber(), { name: each.name.toString(), fields }] as const;
    });
    this.#pallets.set(index, { name, errors: new Map(named), events: new Map(typed) });
    for (const call of pallet.calls.isSome ? this.#variants(pallet.calls.unwrap().type) : []) {
      this.#calls.set(`${name}.${call.name.toString()}`, {
        index: Uint8Array.of(index, call.index.toNumber()),
        argumentTypes: call.fields.map((field) => field.type.toNumber()),
      });
    }
    for (const item of pallet.storage.isSome ? pallet.storage.unwrap().items : []) {
      this.#storage.add(`${name}.${item.name.toString()}`);
    }
  }

  #variants(
    type: Parameters<Registry["lookup"]["getSiType"]>[0],
  ): ReturnType<Registry["lookup"]["getSiType"]>["def"]["asVariant"]["variants"] {
    return this.#registry.lookup.getSiType(type).def.asVariant.variants;
  }

  #checkCall(call: CallLayout): CallEntry {
    const name = `${call.pallet}.${call.call}`;
    const entry = this.#calls.get(name);
    if (entry === undefined) throw this.#fault("missing_call", `no call ${name}`);
    if (entry.argumentTypes.length !== call.layout.length) {
      throw this.#fault("layout_mismatch", `${name} takes ${entry.argumentTypes.length} arguments`);
    }
    for (const [position, layout] of call.layout.entries()) {
      const type = entry.argumentTypes[position];
      const mismatch = type === undefined
        ? undefined
        : new LayoutComparison((id) => this.#typeOf(id)).findMismatch(type, layout);
      if (mismatch !== undefined) throw this.#fault("layout_mismatch", `${name}: ${mismatch}`);
    }
    this.#checked.set(call, entry);
    return entry;
  }

  #typeOf(id: number): RuntimeType {
    const known = this.#types.get(id) ?? this.#readType(id);
    this.#types.set(id, known);
    return known;
  }

  #readType(id: number): RuntimeType {
    const { def } = this.#registry.lookup.getSiType(`Lookup${id}`);
    if (def.isPrimitive) return { kind: "primitive", name: def.asPrimitive.type.toLowerCase() };
    if (def.isSequence) return { kind: "list", of: def.asSequence.type.toNumber() };
    if (def.isArray) {
      return { kind: "array", of: def.asArray.type.toNumber(), length: def.asArray.len.toNumber() };
    }
    if (def.isComposite) {
      return { kind: "fields", of: def.asComposite.fields.map((field) => field.type.toNumber()) };
    }
    if (def.isTuple) return { kind: "fields", of: def.asTuple.map((each) => each.toNumber()) };
    if (def.isCompact) return { kind: "compact" };
    if (def.isBitSequence) {
      const store = this.#typeOf(def.asBitSequence.bitStoreType.toNumber());
      const bits = store.kind === "primitive" ? Number(store.name.slice(1)) : 8;
      return { kind: "bits", storeBytes: bits / 8 };
    }
    if (!def.isVariant) return { kind: "other", name: def.type };
    const of = def.asVariant.variants.map((variant) =>
      [variant.index.toNumber(), variant.fields.map((field) => field.type.toNumber())] as const
    );
    return { kind: "variants", of: new Map(of) };
  }

  #fault(code: RuntimeFaultCode, detail: string, options?: ErrorOptions): RuntimeFault {
    const runtime = `${this.version.specName} ${this.version.specVersion}`;
    return new RuntimeFault(code, { chain: this.#chain, runtime }, detail, options);
  }
}
