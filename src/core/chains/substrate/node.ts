/** Shared state of one Substrate chain's adapter: its node, identity and runtimes. */
import type { Codec } from "scale-ts";
import { blake2b256, type Hash256, keccak256 } from "../../encoding/bytes.ts";
import { decodePrefix, ScaleError } from "../../encoding/scale.ts";
import type { HashAlgorithm } from "../../ismp/proof.ts";
import type { StateMachineId } from "../../ismp/state_machine.ts";
import { childTrieKey, type ChildTrieName } from "../../ismp/storage_keys.ts";
import { RpcFault, type RpcFaultCode } from "../../rpc/call.ts";
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

/** Which blocks are announced: the best ones, or those that became final. Final ones may be skipped. */
export type HeadKind = "best" | "final";

/** Methods by kind. Source: paritytech/polkadot-sdk: substrate/client/rpc-api/src/chain/mod.rs. */
const SUBSCRIPTIONS = {
  best: { subscribe: "chain_subscribeNewHeads", unsubscribe: "chain_unsubscribeNewHeads", params: [] },
  final: {
    subscribe: "chain_subscribeFinalizedHeads",
    unsubscribe: "chain_unsubscribeFinalizedHeads",
    params: [],
  },
} as const;

/** Maximum wait for the answer to a subscription, ms. */
const SUBSCRIBE_PATIENCE_MS = 5_000;

/** Maximum time for which an announcement is believed, ms, however slow the chain is. */
const MAX_TRUST_MS = 30_000;

/** How long the next announcement may take: a share of the longest recent pause between two, and a little more, ms. */
const TRUSTED_SHARE = 1.25;
const TRUSTED_SLACK_MS = 1_000;

/** The longest pause is forgotten slowly: with each announcement it counts for this much less. */
const PAUSE_DECAY = 0.9;

/** Time after which a silent subscription is replaced, ms; twice as long with each one, up to the maximum. */
const RENEW_AFTER_MS = 30_000;
const MAX_RENEW_AFTER_MS = 600_000;

/** Time after which a node that refuses subscriptions, or does not answer to them, is asked again, ms. */
const REFUSED_MS = 600_000;

const REFUSALS: ReadonlySet<RpcFaultCode> = new Set(["missing_method", "refused", "timeout"]);

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

type State =
  | { readonly kind: "closed"; readonly againAtMs: number }
  | { readonly kind: "opening" }
  | { readonly kind: "open"; readonly sinceMs: number; readonly end: () => void };

/** Announced blocks of one kind. */
export class AnnouncedHeads {
  readonly #deps: AnnouncementDeps;
  readonly #kind: HeadKind;
  #state: State = { kind: "closed", againAtMs: 0 };
  #wasAsked = false;
  /** Announced blocks of this subscription, ascending, the newest last. */
  #recent: readonly Header[] = [];
  /** When the newest block was announced; `undefined`: only the one with which the subscription began. */
  #advancedMs: number | undefined;
  #noticedMs = 0;
  #longestPauseMs = 0;
  /** Subscriptions in a row that fell silent. */
  #silences = 0;
  #hasReportedRefusal = false;

  constructor(deps: AnnouncementDeps, kind: HeadKind) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /** Announced blocks of the current subscription, ascending; some may be missing. */
  get recent(): readonly Header[] {
    return this.#recent;
  }

  /**
   * Newest announced block; `undefined`: the node has to be asked. Subscribes from the second question on, since a
   * command asks once.
   */
  async newest(signal: AbortSignal): Promise<Header | undefined> {
    const trusted = this.#trusted();
    if (trusted !== undefined) return trusted;
    if (this.#wasAsked) await this.#renew(signal);
    this.#wasAsked = true;
    return this.#trusted();
  }

  #trusted(): Header | undefined {
    if (this.#state.kind !== "open" || this.#advancedMs === undefined) return undefined;
    // The clock may have been set back.
    const silentMs = this.#deps.clock.now() - this.#advancedMs;
    return silentMs >= 0 && silentMs <= this.#trustMs ? this.#recent.at(-1) : undefined;
  }

  get #trustMs(): number {
    return Math.min(this.#longestPauseMs * TRUSTED_SHARE + TRUSTED_SLACK_MS, MAX_TRUST_MS);
  }

  /** Subscribes if there is no subscription, or none that announces anything. */
  async #renew(signal: AbortSignal): Promise<void> {
    const nowMs = this.#deps.clock.now();
    const state = this.#state;
    if (state.kind === "opening" || (state.kind === "closed" && nowMs < state.againAtMs)) return;
    if (state.kind === "open") {
      const silentMs = nowMs - (this.#advancedMs ?? state.sinceMs);
      const patienceMs = Math.min(RENEW_AFTER_MS * 2 ** this.#silences, MAX_RENEW_AFTER_MS);
      if (silentMs >= 0 && silentMs < patienceMs) return;
      if (this.#silences === 0) {
        this.#deps.log.info("announcements_silent", { blocks: this.#kind, sinceSec: silentMs / 1_000 });
      }
      this.#silences++;
      state.end();
    }
    await this.#open(signal);
  }

  async #open(signal: AbortSignal): Promise<void> {
    this.#state = { kind: "opening" };
    this.#forget();
    const listener = {
      onNotice: (value: Json): void => this.#take(value),
      onEnd: (): void => this.#close(0),
    };
    try {
      const conditions = { signal, timeoutMs: SUBSCRIBE_PATIENCE_MS };
      const end = await this.#deps.endpoint.subscribe(SUBSCRIPTIONS[this.#kind], listener, conditions);
      this.#state = { kind: "open", sinceMs: this.#deps.clock.now(), end };
    } catch (fault) {
      if (!(fault instanceof RpcFault)) {
        this.#close(0);
        throw fault;
      }
      // One that is not answered is not worth another wait soon, either.
      const isRefusal = REFUSALS.has(fault.code);
      this.#close(isRefusal ? REFUSED_MS : RENEW_AFTER_MS);
      if (isRefusal && !this.#hasReportedRefusal) {
        this.#hasReportedRefusal = true;
        this.#deps.log.info("announcements_refused", { blocks: this.#kind, error: fault });
      }
    }
  }

  #close(pauseMs: number): void {
    this.#state = { kind: "closed", againAtMs: this.#deps.clock.now() + pauseMs };
    this.#forget();
  }

  #forget(): void {
    this.#recent = [];
    this.#advancedMs = undefined;
  }

  #take(value: Json): void {
    const header = readAnnounced(value);
    if (header === undefined) return;
    const last = this.#recent.at(-1);
    const isHigher = last === undefined || header.height > last.height;
    // Final blocks stay; a best block may be replaced by another one, which is no sign of progress.
    if (!isHigher && this.#kind === "final") return;
    this.#recent = [...this.#recent.filter(({ height }) => height < header.height), header].slice(-MAX_KEPT);
    if (!isHigher) return;
    const nowMs = this.#deps.clock.now();
    if (last !== undefined) {
      this.#longestPauseMs = Math.max(nowMs - this.#noticedMs, this.#longestPauseMs * PAUSE_DECAY);
      this.#advancedMs = nowMs;
      this.#silences = 0;
    }
    this.#noticedMs = nowMs;
    this.#deps.onHeight(header.height);
  }
}

/** Reads an announcement; `undefined`: it is none that can be read, as if it had not come. */
function readAnnounced(value: Json): Header | undefined {
  try {
    return calls.header().read(value, (detail) => {
      throw new UnreadableHeader(detail);
    });
  } catch (error) {
    if (error instanceof UnreadableHeader) return undefined;
    throw error;
  }
}

class UnreadableHeader extends Error {
  override readonly name = "UnreadableHeader";
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
