/**
 * State of the simulated hub while a block, a pool check or a dry run executes: both tries as immutable
 * snapshots, the offchain index and the events, all of which a failed transaction takes back.
 */
import { fromHex, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import { childTrieKey, type ChildTrieName } from "../../src/core/ismp/storage_keys.ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import { createCodec } from "scale-ts";
import { type Codec, decodeStrict, hash256, ScaleError, u32, u64 } from "../../src/core/encoding/scale.ts";
import { SubstrateTrie, type TrieKind } from "../trie/substrate_trie.ts";
import type { RuntimeMetadata } from "./runtime_metadata.ts";
import type { IsmpPalletEvent } from "./pallets/ismp_events.ts";

/** How a chain hashes and where it keeps its ISMP child trie. All chains here have state version 1. */
export interface StateRules {
  readonly hasher: HashAlgorithm;
  readonly childTrie: ChildTrieName;
}

/** The hub's rules. */
export const hubRules: StateRules = { hasher: "Keccak", childTrie: "ISMPv2" };

/** The state after a block. */
export interface Snapshot {
  readonly main: SubstrateTrie;
  readonly child: SubstrateTrie;
}

/** The state before anything was written. */
export function emptySnapshot({ hasher }: StateRules): Snapshot {
  const kind: TrieKind = { layout: "V1", hasher };
  return { main: SubstrateTrie.empty(kind), child: SubstrateTrie.empty(kind) };
}

/** An entry for the node's offchain database; `undefined` deletes. */
export type OffchainWrite = readonly [key: Hex, value: Uint8Array | undefined];

/** An event of the block under execution. */
export interface EventEntry {
  /** SCALE `EventRecord`. */
  readonly record: Uint8Array;
  /** The extrinsic it belongs to; undefined outside of extrinsics. */
  readonly extrinsicIndex: number | undefined;
  /** The event itself where it is one of pallet `Ismp`. */
  readonly ismp: IsmpPalletEvent | undefined;
}

/** Mutable view of a {@link Snapshot}. */
export class Overlay {
  #main: SubstrateTrie;
  #child: SubstrateTrie;
  #offchain: OffchainWrite[] = [];
  #events: EventEntry[] = [];

  readonly #childKey: Uint8Array;

  constructor(snapshot: Snapshot, rules: StateRules) {
    this.#childKey = childTrieKey(rules.childTrie);
    this.#main = snapshot.main;
    this.#child = snapshot.child;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#main.get(key);
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#main = this.#main.set(key, value);
  }

  remove(key: Uint8Array): void {
    this.#main = this.#main.delete(key);
  }

  getChild(key: Uint8Array): Uint8Array | undefined {
    return this.#child.get(key);
  }

  putChild(key: Uint8Array, value: Uint8Array): void {
    this.#child = this.#child.set(key, value);
  }

  /** Root of the child trie as it is now. */
  childRoot(): Hex {
    return this.#child.root();
  }

  /** Main-trie entries below `prefix`, keys rising. */
  entries(prefix: Uint8Array): Iterable<[key: Uint8Array, value: Uint8Array]> {
    return this.#main.entries(prefix);
  }

  /** Writes of the offchain index so far, in order. */
  get offchain(): readonly OffchainWrite[] {
    return this.#offchain;
  }

  writeOffchain(key: Uint8Array, value: Uint8Array): void {
    this.#offchain.push([toHex(key), value]);
  }

  clearOffchain(key: Uint8Array): void {
    this.#offchain.push([toHex(key), undefined]);
  }

  /** Events so far, in order. */
  get events(): readonly EventEntry[] {
    return this.#events;
  }

  pushEvent(event: EventEntry): void {
    this.#events.push(event);
  }

  /** Runs `action`; when it throws, nothing of it remains and the error propagates. */
  transaction<T>(action: () => T): T {
    const [main, child] = [this.#main, this.#child];
    const [offchain, events] = [this.#offchain.length, this.#events.length];
    try {
      return action();
    } catch (error) {
      this.#main = main;
      this.#child = child;
      this.#offchain.length = offchain;
      this.#events.length = events;
      throw error;
    }
  }

  /** Ends the block: the child root goes into the main trie, unless the child trie is empty. */
  finish(childRoot: Hex): Snapshot {
    if (this.#child.size === 0) this.remove(this.#childKey);
    else this.put(this.#childKey, fromHex(childRoot));
    return { main: this.#main, child: this.#child };
  }
}

/** What reads storage: an {@link Overlay} or a snapshot's main trie. */
export interface StorageReader {
  get(key: Uint8Array): Uint8Array | undefined;
}

/** One storage item: keys of a type, each with a value. */
export class StorageItem<Keys extends readonly unknown[], Value> {
  readonly #name: string;
  readonly #key: (...keys: Keys) => Uint8Array;
  readonly #value: Codec<Value>;

  /** @param key storage key of one entry. */
  constructor(name: string, key: (...keys: Keys) => Uint8Array, value: Codec<Value>) {
    this.#name = name;
    this.#key = key;
    this.#value = value;
  }

  /** The stored value, undefined when there is none (also where the runtime has a default). */
  get(reader: StorageReader, ...keys: Keys): Value | undefined {
    const found = reader.get(this.#key(...keys));
    return found === undefined ? undefined : decodeStrict(this.#value, found, this.#name);
  }

  /** Whether there is an entry, also one without a value. */
  has(reader: StorageReader, ...keys: Keys): boolean {
    return reader.get(this.#key(...keys)) !== undefined;
  }

  put(overlay: Overlay, value: Value, ...keys: Keys): void {
    overlay.put(this.#key(...keys), this.#value.enc(value));
  }

  remove(overlay: Overlay, ...keys: Keys): void {
    overlay.remove(this.#key(...keys));
  }

  /** The write of a value, for governance to make in a block. */
  to(value: Value, ...keys: Keys): (execution: { readonly overlay: Overlay }) => void {
    return ({ overlay }) => this.put(overlay, value, ...keys);
  }

  /** Puts a value, or removes the entry where there is none. */
  set(overlay: Overlay, value: Value | undefined, ...keys: Keys): void {
    if (value === undefined) this.remove(overlay, ...keys);
    else this.put(overlay, value, ...keys);
  }
}

/** Codecs of the keys of an item. */
type KeyCodecs<Keys extends readonly unknown[]> = { readonly [Index in keyof Keys]: Codec<Keys[Index]> };

/** A pallet of the metadata, which declares its storage items as fields by {@link PalletStorage.item}. */
export abstract class PalletStorage {
  readonly #metadata: RuntimeMetadata;
  readonly #pallet: string;

  constructor(metadata: RuntimeMetadata, pallet: string) {
    this.#metadata = metadata;
    this.#pallet = pallet;
  }

  /** @throws {MetadataError} when the runtime has no such item. */
  protected item<Keys extends readonly unknown[] | [], Value>(
    item: string,
    codecs: KeyCodecs<Keys>,
    value: Codec<Value>,
    pallet: string = this.#pallet,
  ): StorageItem<Keys, Value> {
    const metadata = this.#metadata;
    metadata.storagePrefix(pallet, item);
    return new StorageItem(
      `${pallet}.${item}`,
      (...keys) =>
        metadata.storageKey(pallet, item, codecs.map((codec: Codec<unknown>, at) => codec.enc(keys[at]))),
      value,
    );
  }
}

/** A value that is bytes already; decoding takes all that is left. */
const raw: Codec<Uint8Array> = createCodec(
  (value) => value,
  (input) => {
    if (input instanceof Uint8Array) return input;
    throw new ScaleError("invalid", "raw bytes");
  },
);

/** Storage of System, Timestamp and ParachainInfo. */
export class SystemStorage extends PalletStorage {
  readonly number = this.item("Number", [], u32);
  readonly parentHash = this.item("ParentHash", [], hash256);
  readonly blockHash = this.item("BlockHash", [u32], hash256);
  /** Already encoded: `Vec<EventRecord>`. */
  readonly events = this.item("Events", [], raw);
  readonly eventCount = this.item("EventCount", [], u32);
  readonly digest = this.item("Digest", [], raw);
  /** Unix milliseconds. */
  readonly now = this.item("Now", [], u64, "Timestamp");
  readonly parachainId = this.item("ParachainId", [], u32, "ParachainInfo");

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "System");
  }
}
