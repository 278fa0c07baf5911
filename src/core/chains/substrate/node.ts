/** Shared state of one Substrate chain's adapter: its node, identity and runtimes. */
import type { Codec } from "scale-ts";
import { type Hash256, type Hex, toHex } from "../../encoding/bytes.ts";
import { mapError } from "../../encoding/coded_error.ts";
import { decodePrefix, ScaleError } from "../../encoding/scale.ts";
import type { HashAlgorithm } from "../../ismp/proof.ts";
import type { StateMachineId } from "../../ismp/state_machine.ts";
import { childTrieKey, type ChildTrieName } from "../../ismp/storage_keys.ts";
import { calls, type RuntimeVersion, type StorageValues } from "../../rpc/substrate_calls.ts";
import type { SubstrateClient } from "../../rpc/substrate_client.ts";
import type { Clock } from "../../runtime/clock.ts";
import { orAbort } from "../../runtime/linked_abort.ts";
import { SharedRead } from "../../runtime/refreshed.ts";
import type { Log } from "../../telemetry/log.ts";
import { type ChainUse, findUnmet, type Unmet } from "./assumptions.ts";
import { loadRuntime, type Runtime } from "./runtime.ts";

/** Maximum number of cached runtimes; an upgrade is rare, so two are plenty. */
const MAX_RUNTIMES = 2;

/** Shared context of one Substrate chain. */
export interface SubstrateNode {
  readonly client: SubstrateClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: StateMachineId;
  readonly isHub: boolean;
  /** What is done with the chain: what its runtime must fit. */
  readonly use: ChainUse;
  /** Hash of headers, extrinsics and tries. */
  readonly hashing: HashAlgorithm;
  readonly runtimes: Runtimes;
  readonly childTrie: ChildTrie;
  readonly finalBlocks: FinalBlocks;
  readonly polled: PolledValues;
}

/** Runtimes by version, loaded when first needed. Metadata is large, so only {@link MAX_RUNTIMES} are kept. */
export class Runtimes {
  readonly #byVersion = new Map<number, Promise<Runtime>>();
  readonly #unmet = new WeakMap<Runtime, readonly Unmet[]>();
  #newest: number | undefined;

  constructor(readonly client: SubstrateClient, readonly chain: string, readonly use: ChainUse) {}

  /** Version of the best block as last seen. */
  get newest(): number | undefined {
    return this.#newest;
  }

  /** Lists the purposes that a runtime does not serve; compared once. */
  listUnmet(runtime: Runtime): readonly Unmet[] {
    const known = this.#unmet.get(runtime) ?? findUnmet(runtime, this.use);
    this.#unmet.set(runtime, known);
    return known;
  }

  /** Returns the runtime of the best block as last seen; queries the node only the first time. @throws {RpcFault} */
  async current(signal: AbortSignal): Promise<Runtime> {
    const known = this.#newest === undefined ? undefined : this.#byVersion.get(this.#newest);
    if (known !== undefined) return await orAbort(known, signal);
    return await this.ofVersion(await this.client.call(calls.runtimeVersion(), signal), signal);
  }

  /** Returns the runtime of a version that the node just reported, loaded if it is new. @throws {RpcFault} */
  async ofVersion(version: RuntimeVersion, signal: AbortSignal, block?: Hash256): Promise<Runtime> {
    const known = this.#byVersion.get(version.specVersion);
    if (block === undefined) this.#newest = version.specVersion;
    return await orAbort(known ?? this.#load(version, block), signal);
  }

  /** Loads a runtime for all who wait for it: it ends by its own limits, not with one of them. */
  #load(version: RuntimeVersion, block: Hash256 | undefined): Promise<Runtime> {
    const key = version.specVersion;
    const loading = this.client.call(calls.metadata(block), new AbortController().signal)
      .then((metadata) => loadRuntime(this.chain, version, metadata));
    // A failed load must not be remembered.
    loading.catch(() => this.#byVersion.delete(key));
    this.#byVersion.set(key, loading);
    for (const old of this.#byVersion.keys()) {
      if (this.#byVersion.size <= MAX_RUNTIMES) break;
      if (old !== key && old !== this.#newest) this.#byVersion.delete(old);
    }
    return loading;
  }
}

/** Time after which the name of a child trie is looked up again, ms: one odd answer must not count for good. */
const TRIE_MS = 600_000;

/** Name of the chain's ISMP child trie, one of two. */
export class ChildTrie {
  #known: { readonly name: ChildTrieName; readonly atMs: number } | undefined;

  constructor(readonly client: SubstrateClient, readonly clock: Pick<Clock, "now">) {}

  /**
   * Returns the trie's key in the main trie. A chain that has stored nothing yet has neither trie: then the newer
   * name is assumed for now. @throws {RpcFault}
   */
  async key(signal: AbortSignal): Promise<Uint8Array> {
    const nowMs = this.clock.now();
    const known = this.#known;
    if (known !== undefined && nowMs - known.atMs < TRIE_MS) return childTrieKey(known.name);
    const [newer, older] = await this.client.callAll(
      [calls.storage(childTrieKey("ISMPv2")), calls.storage(childTrieKey("ISMP"))],
      signal,
    );
    const name = newer === undefined && older !== undefined ? "ISMP" : "ISMPv2";
    if (newer !== undefined || older !== undefined) this.#known = { name, atMs: nowMs };
    return childTrieKey(name);
  }
}

/** Time for which a final block counts as the newest, ms: workers that poll at the same time ask once. */
const FINAL_MS = 500;

/** A final block. */
export interface FinalBlock {
  readonly height: bigint;
  readonly hash: Hash256;
}

/** Final blocks of the node. */
export class FinalBlocks {
  #last: FinalBlock | undefined;
  readonly #newest: SharedRead<FinalBlock>;

  constructor(readonly client: SubstrateClient, clock: Pick<Clock, "now">) {
    this.#newest = new SharedRead(clock, { forMs: FINAL_MS, read: (signal) => this.fetch(signal) });
  }

  /** The newest final block, at most {@link FINAL_MS} old: for polls. @throws {RpcFault} as {@link fetch}. */
  async newest(signal: AbortSignal): Promise<FinalBlock> {
    const read = await this.#newest.get(signal);
    return this.#last ?? read;
  }

  /** Fetches the newest final block: one round trip, two for another one than before. @throws {RpcFault} `lagging` */
  async fetch(signal: AbortSignal): Promise<FinalBlock> {
    return await this.at(await this.client.call(calls.finalizedHash(), signal), signal);
  }

  /** The final block that the node has just named, by its hash only. One round trip for another one than before. */
  async at(hash: Hash256, signal: AbortSignal): Promise<FinalBlock> {
    if (hash === this.#last?.hash) return this.#last;
    const header = await this.client.call(calls.header(hash), signal);
    if (header !== undefined) return this.#last = { height: header.height, hash };
    throw this.client.fault("lagging", "chain_getHeader", "no header of the final block");
  }
}

/** Time for which polled values are shared, ms: legs that poll at the same time ask once. */
const POLLED_MS = 100;

/** Values at the best block that are polled: all who ask within a moment are answered by one read of all their keys. */
export class PolledValues {
  /** Keys that were asked for. */
  readonly #keys = new Map<Hex, Uint8Array>();
  readonly #shared: SharedRead<StorageValues>;

  constructor(client: SubstrateClient, clock: Pick<Clock, "now">) {
    this.#shared = new SharedRead(clock, {
      forMs: POLLED_MS,
      read: (signal) => client.call(calls.storageAt([...this.#keys.values()]), signal),
    });
  }

  /** Reads the values of these keys, and of others. @throws {RpcFault} */
  read(keys: readonly Uint8Array[], signal: AbortSignal): Promise<StorageValues> {
    const known = this.#keys.size;
    for (const key of keys) this.#keys.set(toHex(key), key);
    if (this.#keys.size > known) this.#shared.drop();
    return this.#shared.get(signal);
  }
}

/**
 * A stored value. What a newer runtime has appended to it is named and skipped. @throws {RpcFault} `malformed` when
 * it is no value of the type.
 */
export function decodeValue<T>(
  node: SubstrateNode,
  stored: Uint8Array | undefined,
  codec: Codec<T>,
  name: string,
): T | undefined {
  if (stored === undefined) return undefined;
  return mapError(
    ScaleError,
    () => readKnown(node, codec, stored, name),
    ({ message }) => node.client.fault("malformed", "state_getStorage", message),
  );
}

/** The known part of what a runtime stores or reports; what follows it is named. @throws {ScaleError} */
export function readKnown<T>(
  { log }: Pick<SubstrateNode, "log">,
  codec: Codec<T>,
  encoded: Uint8Array,
  name: string,
): T {
  return decodePrefix(codec, encoded, name, () =>
    log.warn("unknown_met", {
      what: `a field at the end of ${name}`,
      cost: "it is skipped, and the fields before it are used",
    }));
}
