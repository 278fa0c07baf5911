/** Shared state of one Substrate chain's adapter: its node, identity and runtimes. */
import type { Hash256 } from "../../encoding/bytes.ts";
import { blake2b256, keccak256 } from "../../encoding/hash.ts";
import type { HashAlgorithm } from "../../ismp/proof.ts";
import type { StateMachineId } from "../../ismp/state_machine.ts";
import { childTrieKey, type ChildTrieName } from "../../ismp/storage_keys.ts";
import { calls, type RuntimeVersion } from "../../rpc/substrate_calls.ts";
import type { SubstrateClient } from "../../rpc/substrate_client.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AnnouncedHeads } from "./announced_heads.ts";
import { type ChainUse, findUnmet, type Unmet } from "./assumptions.ts";
import { isNewerMetadata, METADATA_VERSIONS } from "./metadata.ts";
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
  readonly heads: Heads;
}

/** Blocks that the node announces. */
export interface Heads {
  readonly best: AnnouncedHeads;
  readonly final: AnnouncedHeads;
}

/** The chain's own hash function. */
export function chainHashFunction(hashing: HashAlgorithm): (data: Uint8Array) => Uint8Array {
  return hashing === "Keccak" ? keccak256 : blake2b256;
}

/** Runtimes by version, loaded when first needed. Metadata is large, so only {@link MAX_RUNTIMES} are kept. */
export class Runtimes {
  readonly #client: SubstrateClient;
  readonly #chain: string;
  readonly #use: ChainUse;
  readonly #byVersion = new Map<number, Promise<Runtime>>();
  readonly #unmet = new WeakMap<Runtime, readonly Unmet[]>();
  #newest: number | undefined;

  constructor(client: SubstrateClient, chain: string, use: ChainUse) {
    this.#client = client;
    this.#chain = chain;
    this.#use = use;
  }

  /** Version of the best block as last seen. */
  get newest(): number | undefined {
    return this.#newest;
  }

  /** Lists the purposes that a runtime does not serve; compared once. */
  listUnmet(runtime: Runtime): readonly Unmet[] {
    const known = this.#unmet.get(runtime) ?? findUnmet(runtime, this.#use);
    this.#unmet.set(runtime, known);
    return known;
  }

  /** Returns the runtime of the best block as last seen; queries the node only the first time. @throws {RpcFault} */
  async current(signal: AbortSignal): Promise<Runtime> {
    const known = this.#newest === undefined ? undefined : this.#byVersion.get(this.#newest);
    return await (known ?? this.ofVersion(await this.#client.call(calls.runtimeVersion(), signal), signal));
  }

  /** Returns the runtime of a version that the node just reported, loaded if it is new. @throws {RpcFault} */
  async ofVersion(version: RuntimeVersion, signal: AbortSignal, block?: Hash256): Promise<Runtime> {
    const known = this.#byVersion.get(version.specVersion);
    if (block === undefined) this.#newest = version.specVersion;
    return await (known ?? this.#load(version, signal, block));
  }

  /** Metadata; where the node gives a version that is not known, the newest known one that the runtime has. */
  async #fetchMetadata(signal: AbortSignal, block: Hash256 | undefined): Promise<Uint8Array> {
    const usual = await this.#client.call(calls.metadata(block), signal);
    if (!isNewerMetadata(usual)) return usual;
    const known = await this.#client.callAllSettled(
      METADATA_VERSIONS.map((each) => calls.metadataAt(each, block)),
      signal,
    );
    return known.findLast((each) => each instanceof Uint8Array) ?? usual;
  }

  #load(version: RuntimeVersion, signal: AbortSignal, block: Hash256 | undefined): Promise<Runtime> {
    const key = version.specVersion;
    const loading = this.#fetchMetadata(signal, block)
      .then((metadata) => loadRuntime(this.#chain, version, metadata));
    // A failed or aborted load must not be remembered.
    loading.catch(() => this.#byVersion.delete(key));
    this.#byVersion.set(key, loading);
    for (const old of this.#byVersion.keys()) {
      if (this.#byVersion.size <= MAX_RUNTIMES) break;
      if (old !== key && old !== this.#newest) this.#byVersion.delete(old);
    }
    return loading;
  }
}

/** Name of the chain's ISMP child trie, one of two; looked up once. */
export class ChildTrie {
  readonly #client: SubstrateClient;
  #known: ChildTrieName | undefined;

  constructor(client: SubstrateClient) {
    this.#client = client;
  }

  /**
   * Returns the trie's key in the main trie. A chain that has stored nothing yet has neither trie: then the newer
   * name is assumed for now. @throws {RpcFault}
   */
  async key(signal: AbortSignal): Promise<Uint8Array> {
    if (this.#known !== undefined) return childTrieKey(this.#known);
    const [newer, older] = await this.#client.callAll(
      [calls.storage(childTrieKey("ISMPv2")), calls.storage(childTrieKey("ISMP"))],
      signal,
    );
    if (newer !== undefined) this.#known = "ISMPv2";
    else if (older !== undefined) this.#known = "ISMP";
    return childTrieKey(this.#known ?? "ISMPv2");
  }
}
