/** Shared state of one Substrate chain's adapter: its node, identity and runtimes. */
import type { Codec } from "scale-ts";
import { blake2b256, type Hash256, keccak256 } from "../../encoding/bytes.ts";
import { decodePrefix, ScaleError } from "../../encoding/scale.ts";
import type { HashAlgorithm } from "../../ismp/proof.ts";
import type { StateMachineId } from "../../ismp/state_machine.ts";
import { childTrieKey, type ChildTrieName } from "../../ismp/storage_keys.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { Json } from "../../rpc/json.ts";
import type { SocketEndpoint } from "../../rpc/socket.ts";
import { calls, type Header, type RuntimeVersion } from "../../rpc/substrate_calls.ts";
import type { SubstrateClient } from "../../rpc/substrate_client.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../telemetry/log.ts";
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
  readonly finalHeads: AnnouncedHeads;
}

/** The chain's own hash function. */
export function chainHashFunction(hashing: HashAlgorithm): (data: Uint8Array) => Uint8Array {
  return hashing === "Keccak" ? keccak256 : blake2b256;
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
    return await (known ?? this.ofVersion(await this.client.call(calls.runtimeVersion(), signal), signal));
  }

  /** Returns the runtime of a version that the node just reported, loaded if it is new. @throws {RpcFault} */
  async ofVersion(version: RuntimeVersion, signal: AbortSignal, block?: Hash256): Promise<Runtime> {
    const known = this.#byVersion.get(version.specVersion);
    if (block === undefined) this.#newest = version.specVersion;
    return await (known ?? this.#load(version, signal, block));
  }

  /** Metadata; where the node gives a version that is not known, the newest known one that the runtime has. */
  async #fetchMetadata(signal: AbortSignal, block: Hash256 | undefined): Promise<Uint8Array> {
    const usual = await this.client.call(calls.metadata(block), signal);
    if (!isNewerMetadata(usual)) return usual;
    const known = await this.client.callAllSettled(
      METADATA_VERSIONS.map((each) => calls.metadataAt(each, block)),
      signal,
    );
    return known.findLast((each) => each instanceof Uint8Array) ?? usual;
  }

  #load(version: RuntimeVersion, signal: AbortSignal, block: Hash256 | undefined): Promise<Runtime> {
    const key = version.specVersion;
    const loading = this.#fetchMetadata(signal, block)
      .then((metadata) => loadRuntime(this.chain, version, metadata));
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

/** Final blocks; some may be skipped. Source: paritytech/polkadot-sdk: substrate/client/rpc-api/src/chain/mod.rs. */
const SUBSCRIPTION = {
  subscribe: "chain_subscribeFinalizedHeads",
  unsubscribe: "chain_unsubscribeFinalizedHeads",
} as const;

/** Time for which an announcement is believed, ms: two blocks and more of every known hub. */
const TRUST_MS = 15_000;

/** Silence that is reported, ms. */
const REPORT_AFTER_MS = 60_000;

/** Time after which a node that announces nothing, or refuses subscriptions, is asked for one again, ms. */
const RENEW_AFTER_MS = 300_000;

/** Number of announced blocks that are kept: those of the last quarter of an hour of a chain with blocks of 6 s. */
const MAX_KEPT = 150;

/** What announcements need besides the node's connection. */
interface AnnouncementDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  readonly endpoint: Pick<SocketEndpoint, "subscribe">;
  /** Called with every newest height; must not throw. */
  readonly onHeight: (height: bigint) => void;
}

/** Final blocks that the node announces. */
export class AnnouncedHeads {
  #wasAsked = false;
  /** Announced blocks of this subscription, ascending, the newest last. */
  #recent: readonly Header[] = [];
  /** When a higher block than before was announced. */
  #advancedMs = -Infinity;
  /** When the subscription was last asked for. */
  #subscribedMs = -Infinity;
  #unsubscribe = (): void => {};
  #hasReportedRefusal = false;
  #hasReportedSilence = false;

  constructor(readonly deps: AnnouncementDeps) {}

  /** Announced blocks of the current subscription, ascending; some may be missing. */
  get recent(): readonly Header[] {
    return this.#recent;
  }

  /**
   * Newest announced block; `undefined`: the node has to be asked, since nothing was announced of late. Subscribes from
   * the second question on, since a command asks once.
   */
  get newest(): Header | undefined {
    const nowMs = this.deps.clock.now();
    // The clock may have been set back.
    const isWithin = (sinceMs: number, ms: number): boolean => nowMs >= sinceMs && nowMs - sinceMs <= ms;
    const last = this.#recent.at(-1);
    if (isWithin(this.#advancedMs, TRUST_MS)) return last;
    if (last !== undefined && !this.#hasReportedSilence && !isWithin(this.#advancedMs, REPORT_AFTER_MS)) {
      this.#hasReportedSilence = true;
      const sinceSec = (nowMs - this.#advancedMs) / 1_000;
      this.deps.log.warn("announcements_silent", { block: last.height, sinceSec });
    }
    const isDue = this.#wasAsked && !isWithin(Math.max(this.#subscribedMs, this.#advancedMs), RENEW_AFTER_MS);
    this.#wasAsked = true;
    if (isDue) void this.#subscribe(nowMs);
    return undefined;
  }

  async #subscribe(nowMs: number): Promise<void> {
    this.#unsubscribe();
    this.#forget();
    this.#subscribedMs = nowMs;
    const listener = {
      onNotice: (value: Json): void => this.#take(value),
      onEnd: (): void => {
        this.#subscribedMs = -Infinity;
        this.#forget();
      },
    };
    try {
      this.#unsubscribe = await this.deps.endpoint.subscribe(SUBSCRIPTION, listener);
    } catch (error) {
      // The node is asked for its blocks instead.
      if (!(error instanceof RpcFault)) throw error;
      if (error.code === "unreachable") this.#subscribedMs = -Infinity;
      else if (!this.#hasReportedRefusal) {
        this.#hasReportedRefusal = true;
        this.deps.log.info("endpoint_limited.subscriptions", { error });
      }
    }
  }

  #forget(): void {
    this.#recent = [];
    this.#advancedMs = -Infinity;
  }

  #take(value: Json): void {
    const header = readAnnounced(value);
    if (header === undefined) return;
    const last = this.#recent.at(-1);
    if (last !== undefined && header.height <= last.height) return;
    this.#recent = [...this.#recent, header].slice(-MAX_KEPT);
    this.#advancedMs = this.deps.clock.now();
    if (last !== undefined) this.#hasReportedSilence = false;
    this.deps.onHeight(header.height);
  }
}

/** Reads an announcement; `undefined`: it is none that can be read, as if it had not come. */
function readAnnounced(value: Json): Header | undefined {
  try {
    return calls.header().read(value, (detail) => {
      throw new SyntaxError(detail);
    });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
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
  try {
    return readKnown(node, codec, stored, name);
  } catch (error) {
    if (error instanceof ScaleError) throw node.client.fault("malformed", "state_getStorage", error.message);
    throw error;
  }
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
