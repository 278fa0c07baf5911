/**
 * Runtime as its metadata describes it: indexes of calls, events and errors by name, and how its types differ from the
 * layouts of this program's codecs, so that bytes of one layout are never sent to a runtime with another.
 */
import { concatBytes } from "../../encoding/bytes.ts";
import { mapError } from "../../encoding/coded_error.ts";
import { type Codec, type Layout, layoutOf, type LayoutPart } from "../../encoding/scale.ts";
import type { KnownItem } from "../../ismp/storage_keys.ts";
import type { RuntimeVersion } from "../../rpc/substrate_calls.ts";
import { readEventRecords, type RuntimeEvent } from "./event_records.ts";
import {
  readMetadata,
  type RuntimeTables,
  type RuntimeType,
  type TypeLookup,
  UnreadableMetadata,
} from "./metadata.ts";

/** Reason why a runtime cannot be used. */
export type RuntimeFaultCode =
  /** The bytes are not metadata of a supported version (14 to 16). */
  | "bad_metadata"
  | "missing_call"
  /** The call has other arguments than this program would send. */
  | "layout_mismatch"
  /** The events of a block do not decode with the metadata of that block. */
  | "bad_events";

/** Runtime incompatible with this program: usually another release of pallet-ismp. */
export class RuntimeFault extends Error {
  override readonly name = "RuntimeFault";
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

/** A call by name, `Pallet.call`, with the codec of all its arguments in a row. */
export interface RuntimeCall<Arguments> {
  readonly call: string;
  readonly codec: Codec<Arguments>;
  /** What must fit of the arguments. */
  readonly layout: Layout;
}

/** An event by name, `Pallet.Event`, with the codec of its fields; absent: they are not decoded. */
export interface RuntimeEventType {
  readonly event: string;
  readonly codec?: object;
}

/** What this program assumes of a runtime. */
export type Assumed = Pick<RuntimeCall<unknown>, "call" | "layout"> | KnownItem | RuntimeEventType;

/**
 * Reads metadata (V14 to V16).
 * @throws {RuntimeFault} `bad_metadata`.
 */
export function loadRuntime(chain: string, version: RuntimeVersion, metadata: Uint8Array): Runtime {
  const where = { chain, runtime: `${version.specName} ${version.specVersion}` };
  const detail = `${metadata.length} bytes that do not decode`;
  return mapError(
    UnreadableMetadata,
    () => new Runtime({ chain, version }, readMetadata(metadata)),
    (cause) => new RuntimeFault("bad_metadata", where, detail, { cause }),
  );
}

/** Names and indexes of one runtime version. */
export class Runtime {
  readonly version: RuntimeVersion;
  readonly #chain: string;
  readonly #tables: RuntimeTables;
  /** Types of the fields of events, by `Pallet.Event`. */
  readonly #events: ReadonlyMap<string, readonly number[]>;
  readonly #lookup: TypeLookup;
  readonly #comparison: LayoutComparison;

  constructor(identity: { readonly chain: string; readonly version: RuntimeVersion }, tables: RuntimeTables) {
    this.version = identity.version;
    this.#chain = identity.chain;
    this.#tables = tables;
    this.#lookup = (id) => tables.types.get(id) ?? { kind: "other", name: `type ${id}` };
    this.#comparison = new LayoutComparison(this.#lookup);
    const events = [...tables.pallets.values()].flatMap((pallet) =>
      [...pallet.events.values()].map(({ name, fields }) => [`${pallet.name}.${name}`, fields] as const)
    );
    this.#events = new Map(events);
  }

  hasPallet(pallet: string): boolean {
    return [...this.#tables.pallets.values()].some(({ name }) => name === pallet);
  }

  /** True when there is something of that name. */
  has(assumed: Assumed): boolean {
    // Items first: they are functions, which have a member `call`, too.
    if ("item" in assumed) return this.#tables.storage.has(assumed.item);
    return "event" in assumed ? this.#events.has(assumed.event) : this.#tables.calls.has(assumed.call);
  }

  /** How it differs from what is assumed, e.g. `Relayer.Fees: value: expected u128, found list`; `undefined`: it does not. */
  findDifference(assumed: Assumed): string | undefined {
    const [kind, name, mismatch] = "item" in assumed
      ? ["storage", assumed.item, this.#differenceOfItem(assumed)] as const
      : "event" in assumed
      ? ["event", assumed.event, this.#differenceOfEvent(assumed)] as const
      : ["call", assumed.call, this.#differenceOfCall(assumed)] as const;
    if (!this.has(assumed)) return `no ${kind} ${name}`;
    return mismatch && `${name}: ${mismatch}`;
  }

  #differenceOfCall({ call, layout }: Pick<RuntimeCall<unknown>, "call" | "layout">): string | undefined {
    const { argumentTypes = [] } = this.#tables.calls.get(call) ?? {};
    return this.#comparison.findMismatch(argumentTypes, layout, { path: "", isRead: false });
  }

  #differenceOfEvent({ event, codec }: RuntimeEventType): string | undefined {
    const fields = this.#events.get(event) ?? [];
    return codec && this.#comparison.findMismatch(fields, layoutOf(codec), { path: "", isRead: true });
  }

  #differenceOfItem({ item, keys, value }: KnownItem): string | undefined {
    const found = this.#tables.storage.get(item);
    if (found === undefined) return undefined;
    const [expected, actual] = [keys.map(({ hasher }) => hasher), found.hashers]
      .map((each) => each.join(" and ") || "no map");
    if (expected !== actual) return `expected ${expected}, found ${actual}`;
    const key = keys.flatMap(({ codec }) => layoutOf(codec));
    const keyTypes = found.key === undefined ? [] : [found.key];
    return this.#comparison.findMismatch(keyTypes, key, { path: "key", isRead: false }) ??
      this.#comparison.findMismatch([found.value], layoutOf(value), { path: "value", isRead: true });
  }

  /** Encodes the call with its arguments. @throws {RuntimeFault} when the runtime has others. */
  encodeCall<Arguments>(call: RuntimeCall<Arguments>, value: Arguments): Uint8Array {
    const difference = this.findDifference(call);
    const entry = this.#tables.calls.get(call.call);
    if (entry !== undefined && difference === undefined) {
      return concatBytes(entry.index, call.codec.enc(value));
    }
    throw this.#fault(entry === undefined ? "missing_call" : "layout_mismatch", difference ?? call.call);
  }

  /** Decodes `System.Events`. @throws {RuntimeFault} `bad_events` */
  decodeEvents(value: Uint8Array): readonly RuntimeEvent[] {
    return mapError(
      RangeError,
      () => readEventRecords(value, this.#lookup, this.#tables.pallets),
      (cause) => this.#fault("bad_events", `${value.length} bytes that do not decode`, { cause }),
    );
  }

  /** Name of an encoded `DispatchError`, e.g. `Ismp.InvalidMessage` or `BadOrigin`. */
  dispatchErrorName(encoded: Uint8Array): string {
    const [index = "?", palletIndex = -1, errorIndex = -1] = encoded;
    const kind = this.#tables.dispatchErrors.get(Number(index)) ?? `DispatchError ${index}`;
    if (kind !== "Module") return kind;
    const pallet = this.#tables.pallets.get(palletIndex);
    return `${pallet?.name ?? `pallet ${palletIndex}`}.${pallet?.errors.get(errorIndex) ?? errorIndex}`;
  }

  #fault(code: RuntimeFaultCode, detail: string, options?: ErrorOptions): RuntimeFault {
    const runtime = `${this.version.specName} ${this.version.specVersion}`;
    return new RuntimeFault(code, { chain: this.#chain, runtime }, detail, options);
  }
}

/** More parts in a row, and structs in each other, than any honest type has. */
const MAX_PARTS = 1_000;
const MAX_DEPTH = 200;
const NESTED: readonly RuntimeType[] = [{ kind: "other", name: "a type nested without end" }];

/** How a comparison is made. */
interface Comparison {
  /** Where the types are, for the text. */
  readonly path: string;
  /**
   * True for what is only read: newer versions of a type may have more fields at its end, also of the last field, which
   * are skipped. What is written must fit exactly.
   */
  readonly isRead: boolean;
}

/** Comparison of a runtime's types with layouts: only the encoding matters, not the names of types and fields. */
class LayoutComparison {
  readonly #rows = new Map<number, readonly RuntimeType[]>();

  constructor(readonly lookup: TypeLookup) {}

  /**
   * First difference of types in a row from the layout, e.g. `[].2.0[].5: expected u64, found list`; `undefined` when
   * they fit. Variants that the layout does not have are allowed: they do not change the others.
   */
  findMismatch(ids: readonly number[], expected: Layout, { path, isRead }: Comparison): string | undefined {
    const found = ids.flatMap((id) => this.#rowOf(id));
    const mayContinue = isRead && expected.length > 0;
    const isShort = found.length < expected.length;
    for (const [at, part] of expected.slice(0, found.length).entries()) {
      const isLast = at === expected.length - 1;
      const place = { path: expected.length === 1 ? path : `${path}.${at}`, isRead: isRead && isLast };
      const mismatch = this.#comparePart(found[at], part, place);
      if (mismatch !== undefined) return mismatch;
    }
    if (!isShort && (mayContinue || found.length === expected.length)) return undefined;
    return `${path || "argument"}: expected ${expected.length} fields, found ${found.length}`;
  }

  #comparePart(found: RuntimeType | undefined, part: LayoutPart, at: Comparison): string | undefined {
    const { path } = at;
    const inside = { path: `${path}[]`, isRead: false };
    if (typeof part === "string") {
      if (found?.kind === "primitive" && found.name === part) return undefined;
    } else if ("list" in part) {
      if (found?.kind === "list") return this.findMismatch([found.of], part.list, inside);
    } else if ("array" in part) {
      const isOfLength = found?.kind === "array" && found.length === part.length;
      if (isOfLength) return this.findMismatch([found.of], part.array, inside);
    } else if (found?.kind === "variants") {
      for (const [index, fields] of Object.entries(part.variants)) {
        const ids = found.of.get(Number(index));
        if (ids === undefined) return `${path || "argument"}: no variant ${index}`;
        const mismatch = this.findMismatch(ids, fields, { ...at, path: `${path}.${index}` });
        if (mismatch !== undefined) return mismatch;
      }
      return undefined;
    }
    const kind = typeof part === "string" ? part : Object.keys(part)[0];
    return `${path || "argument"}: expected ${kind}, found ${nameOf(found)}`;
  }

  /** A type with its structs and tuples replaced by their fields; found once, so that none is nested without end. */
  #rowOf(id: number, depth = 0): readonly RuntimeType[] {
    const known = this.#rows.get(id);
    if (known !== undefined) return known;
    if (depth > MAX_DEPTH) return NESTED;
    this.#rows.set(id, NESTED);
    const type = this.lookup(id);
    const all = type.kind === "fields" ? type.of.flatMap((field) => this.#rowOf(field, depth + 1)) : [type];
    const row = all.slice(0, MAX_PARTS);
    this.#rows.set(id, row);
    return row;
  }
}

function nameOf(type: RuntimeType | undefined): string {
  if (type === undefined) return "nothing";
  return type.kind === "primitive" || type.kind === "other" ? type.name : type.kind;
}
