/** Runtime as its metadata describes it: indexes of calls, layouts of arguments, events and errors by name. */
import { concatBytes } from "../../encoding/bytes.ts";
import type { Reaction } from "../../rpc/call.ts";
import type { RuntimeVersion } from "../../rpc/substrate_calls.ts";
import { type BlockEvents, type EventType, readEventRecords } from "./event_records.ts";
import {
  asRead,
  type CallLayout,
  LayoutComparison,
  type RuntimeEventLayout,
  type RuntimeType,
  type StorageLayout,
} from "./layout.ts";
import { type CallEntry, readMetadata, type RuntimeTables, UnreadableMetadata } from "./metadata.ts";

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
  hasCall(pallet: string, call: string): boolean;
  /** Storage as `Pallet.Item`, events as `Pallet.Event`. */
  hasStorage(item: string): boolean;
  hasEvent(event: string): boolean;
  /** Says how a call, storage item or event differs from what this program knows; `undefined`: it does not. */
  findCallMismatch(call: CallLayout): string | undefined;
  findStorageMismatch(item: StorageLayout): string | undefined;
  findEventMismatch(event: RuntimeEventLayout): string | undefined;
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

/**
 * Reads metadata (V14 to V16).
 * @throws {RuntimeFault} `bad_metadata`.
 */
export function loadRuntime(chain: string, version: RuntimeVersion, metadata: Uint8Array): Runtime {
  try {
    return new MetadataRuntime({ chain, version }, readMetadata(metadata));
  } catch (cause) {
    if (!(cause instanceof UnreadableMetadata)) throw cause;
    const where = { chain, runtime: `${version.specName} ${version.specVersion}` };
    const detail = `${metadata.length} bytes that do not decode`;
    throw new RuntimeFault("bad_metadata", where, detail, { cause });
  }
}

class MetadataRuntime implements Runtime {
  readonly version: RuntimeVersion;
  readonly #chain: string;
  readonly #tables: RuntimeTables;
  /** Layouts that were already compared, with the result. */
  readonly #checked = new Map<CallLayout, CallEntry>();
  readonly #comparison = new LayoutComparison((id) => this.#typeOf(id));

  constructor(
    identity: { readonly chain: string; readonly version: RuntimeVersion },
    tables: RuntimeTables,
  ) {
    this.version = identity.version;
    this.#chain = identity.chain;
    this.#tables = tables;
  }

  hasPallet(pallet: string): boolean {
    return [...this.#tables.pallets.values()].some(({ name }) => name === pallet);
  }

  hasCall(pallet: string, call: string): boolean {
    return this.#tables.calls.has(`${pallet}.${call}`);
  }

  hasStorage(item: string): boolean {
    return this.#tables.storage.has(item);
  }

  hasEvent(event: string): boolean {
    return this.#findEvent(event) !== undefined;
  }

  findCallMismatch(call: CallLayout): string | undefined {
    try {
      if (!this.#checked.has(call)) this.#checkCall(call);
      return undefined;
    } catch (fault) {
      if (!(fault instanceof RuntimeFault)) throw fault;
      return fault.detail;
    }
  }

  findStorageMismatch({ item, hashers, key, value }: StorageLayout): string | undefined {
    const entry = this.#tables.storage.get(item);
    if (entry === undefined) return `no storage ${item}`;
    if (entry.hashers.join() !== hashers.join()) {
      const [expected, found] = [hashers, entry.hashers].map((each) => each.join(" and ") || "no map");
      return `${item}: expected ${expected}, found ${found}`;
    }
    const ofKey = key === undefined || entry.key === undefined
      ? undefined
      : this.#comparison.findMismatch(entry.key, key, "key");
    const mismatch = ofKey ?? this.#comparison.findMismatch(entry.value, asRead(value), "value");
    return mismatch === undefined ? undefined : `${item}: ${mismatch}`;
  }

  findEventMismatch({ event, fields }: RuntimeEventLayout): string | undefined {
    const entry = this.#findEvent(event);
    if (entry === undefined) return `no event ${event}`;
    const last = fields?.at(-1);
    const mismatch = fields && last && this.#comparison.findInFields(
      entry.fields.slice(0, fields.length),
      [...fields.slice(0, -1), asRead(last)],
      "",
    );
    return mismatch === undefined ? undefined : `${event}: ${mismatch}`;
  }

  encodeCall(call: CallLayout, encodedArguments: Uint8Array): Uint8Array {
    const entry = this.#checked.get(call) ?? this.#checkCall(call);
    return concatBytes(entry.index, encodedArguments);
  }

  decodeEvents(value: Uint8Array): BlockEvents {
    try {
      return readEventRecords({
        lookup: (id) => this.#typeOf(id),
        palletName: (index) => this.#tables.pallets.get(index)?.name,
        event: (pallet, index) => this.#tables.pallets.get(pallet)?.events.get(index),
      }, value);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      throw this.#fault("bad_events", `${value.length} bytes that do not decode`, { cause });
    }
  }

  dispatchErrorName(encoded: Uint8Array): string {
    const kind = this.#tables.dispatchErrors.get(encoded[0] ?? -1) ?? `DispatchError ${encoded[0] ?? "?"}`;
    if (kind !== "Module") return kind;
    const [, palletIndex = -1, errorIndex = -1] = encoded;
    const pallet = this.#tables.pallets.get(palletIndex);
    return `${pallet?.name ?? `pallet ${palletIndex}`}.${pallet?.errors.get(errorIndex) ?? errorIndex}`;
  }

  #checkCall(call: CallLayout): CallEntry {
    const name = `${call.pallet}.${call.call}`;
    const entry = this.#tables.calls.get(name);
    if (entry === undefined) throw this.#fault("missing_call", `no call ${name}`);
    if (entry.argumentTypes.length !== call.layout.length) {
      throw this.#fault("layout_mismatch", `${name} takes ${entry.argumentTypes.length} arguments`);
    }
    for (const [position, layout] of call.layout.entries()) {
      const type = entry.argumentTypes[position];
      const mismatch = type === undefined ? undefined : this.#comparison.findMismatch(type, layout);
      if (mismatch !== undefined) throw this.#fault("layout_mismatch", `${name}: ${mismatch}`);
    }
    this.#checked.set(call, entry);
    return entry;
  }

  #findEvent(event: string): EventType | undefined {
    const [palletName, name] = event.split(".");
    const pallet = [...this.#tables.pallets.values()].find((each) => each.name === palletName);
    return [...pallet?.events.values() ?? []].find((each) => each.name === name);
  }

  #typeOf(id: number): RuntimeType {
    return this.#tables.types.get(id) ?? { kind: "other", name: `type ${id}` };
  }

  #fault(code: RuntimeFaultCode, detail: string, options?: ErrorOptions): RuntimeFault {
    const runtime = `${this.version.specName} ${this.version.specVersion}`;
    return new RuntimeFault(code, { chain: this.#chain, runtime }, detail, options);
  }
}
