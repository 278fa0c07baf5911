/** Heights, times and the chain's view of a counterparty: plain reads of storage. */
import { concatBytes, type Hash256 } from "../../encoding/bytes.ts";
import { bool, u64 } from "../../encoding/scale.ts";
import type { Message } from "../../ismp/message.ts";
import {
  type StateCommitment,
  stateCommitmentCodec,
  type StateMachineHeight,
  stateMachineHeightCodec,
  type StateMachineId,
  stateMachineIdKey,
} from "../../ismp/state_machine.ts";
import { blake2Concat, ismpKeys, otherKeys, storagePrefix, twoxConcat } from "../../ismp/storage_keys.ts";
import { calls, type Header, type StorageValues } from "../../rpc/substrate_calls.ts";
import { Limit } from "../../runtime/limit.ts";
import type { Certain, CertainReads, ChainReads, CounterpartyView, ReadSince } from "../reads.ts";
import type { ChainFees } from "../fees.ts";
import { UNSURE } from "../reads.ts";
import { readReceipts, receiptSet } from "./fees.ts";
import { decodeValue, type SubstrateNode, Values } from "./node.ts";

/** Reads of the chain's storage at its best block. */
export class SubstrateReads implements ChainReads {
  readonly #node: SubstrateNode;
  readonly #views: CounterpartyViews;

  constructor(node: SubstrateNode) {
    this.#node = node;
    this.#views = new CounterpartyViews(node);
  }

  /** Best block. */
  async fetchHeight(signal: AbortSignal): Promise<bigint> {
    const header = await this.#node.client.call(calls.header(), signal);
    if (header === undefined) throw this.#node.client.fault("malformed", "chain_getHeader", "no best block");
    return header.height;
  }

  /** Newest finalized block: the one that the node announced, or two round trips, as it names it by hash only. */
  async fetchFinalHeight(signal: AbortSignal): Promise<bigint> {
    const announced = await this.#node.heads.final.newest(signal);
    if (announced !== undefined) return announced.height;
    const hash = await this.#node.client.call(calls.finalizedHash(), signal);
    const header = await this.#node.client.call(calls.header(hash), signal);
    if (header === undefined) {
      throw this.#node.client.fault("lagging", "chain_getHeader", "no header of the final block");
    }
    return header.height;
  }

  /** Unix seconds of a block; the genesis block has no time and gives 0. */
  async fetchBlockTime(
    height: bigint,
    signal: AbortSignal,
  ): Promise<bigint> {
    const hash = await fetchBlockHash(this.#node, height, signal);
    const stored = await this.#node.client.call(calls.storage(otherKeys.timestampNow(), hash), signal);
    return (decodeValue(this.#node, stored, u64, "Timestamp.Now") ?? 0n) / 1000n;
  }

  /** The chain's view of `counterparty`, at one block in one round trip; none while the best block is the same. */
  fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView> {
    return this.#views.fetch(counterparty, signal);
  }

  /** Fetches when the commitment of `height` was stored, Unix seconds. */
  async fetchUpdateTime(
    height: StateMachineHeight,
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    const key = await updateTimeKey(this.#node, height, signal);
    const stored = await this.#node.client.call(calls.storage(key), signal);
    return decodeValue(this.#node, stored, u64, "StateMachineUpdateTime");
  }

  /** Root in the commitment of a counterparty's block. One round trip. */
  async fetchStateRoot(
    of: StateMachineHeight,
    signal: AbortSignal,
  ): Promise<Hash256 | undefined> {
    return (await this.fetchCommitment(of, signal))?.stateRoot;
  }

  /**
   * Fetches the commitment of one height. Releases up to July 2025 keep it in `StateCommitments` (Blake2_128Concat of
   * the height): docs/protocol/hub.md section 6.
   */
  async fetchCommitment(
    of: StateMachineHeight,
    signal: AbortSignal,
  ): Promise<StateCommitment | undefined> {
    const runtime = await this.#node.runtimes.current(signal);
    const isBounded = runtime.hasStorage("Ismp.BoundedStateCommitments") ||
      !runtime.hasStorage("Ismp.StateCommitments");
    const key = isBounded ? ismpKeys.boundedStateCommitments(of.id, of.height) : olderCommitmentKey(of);
    const stored = await this.#node.client.call(calls.storage(key), signal);
    return decodeValue(this.#node, stored, stateCommitmentCodec, "StateCommitment");
  }

  /** Fetches the relayer per message; one round trip. */
  async fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    if (messages.length === 0) return [];
    const set = await receiptSet(this.#node, messages, signal);
    return readReceipts(this.#node, messages, await this.#node.client.readChild(set, signal));
  }
}

/** Hash of the block at `height`. @throws {RpcFault} `lagging` when the node has none. */
export async function fetchBlockHash(
  node: SubstrateNode,
  height: bigint,
  signal: AbortSignal,
): Promise<Hash256> {
  const hash = await node.client.call(calls.blockHash(height), signal);
  if (hash === undefined) throw node.client.fault("lagging", "chain_getBlockHash", `no block ${height}`);
  return hash;
}

/**
 * Key of the time at which a commitment was stored. Releases up to July 2025 keep it in `StateMachineUpdateTime`
 * (Twox64Concat of the height): docs/protocol/hub.md section 6.
 */
export async function updateTimeKey(
  node: SubstrateNode,
  height: StateMachineHeight,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const runtime = await node.runtimes.current(signal);
  if (!runtime.hasStorage("Ismp.StateMachineUpdateTime")) {
    return ismpKeys.boundedStateMachineUpdateTime(height.id, height.height);
  }
  const key = twoxConcat(stateMachineHeightCodec.enc(height));
  return concatBytes(storagePrefix("Ismp", "StateMachineUpdateTime"), key);
}

function olderCommitmentKey(of: StateMachineHeight): Uint8Array {
  const key = blake2Concat(stateMachineHeightCodec.enc(of));
  return concatBytes(storagePrefix("Ismp", "StateCommitments"), key);
}

/** Reads that count once the node is far enough. */
export class SubstrateCertainReads implements CertainReads {
  readonly #node: SubstrateNode;
  readonly #reads: Pick<ChainReads, "fetchReceipts">;
  readonly #fees: Pick<ChainFees, "fetchFees">;

  constructor(
    node: SubstrateNode,
    parts: { readonly reads: Pick<ChainReads, "fetchReceipts">; readonly fees: Pick<ChainFees, "fetchFees"> },
  ) {
    this.#node = node;
    this.#reads = parts.reads;
    this.#fees = parts.fees;
  }

  /** Relayers of messages; all unsure while the node is not far enough. */
  async fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    if (!await this.#isFarEnough(since, signal)) return messages.map(() => UNSURE);
    return (await this.#reads.fetchReceipts(messages, signal)).map((value) => ({ kind: "certain", value }));
  }

  /** Fees of requests; all unsure while the node is not far enough. */
  async fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    if (!await this.#isFarEnough(since, signal)) return commitments.map(() => UNSURE);
    const { units } = await this.#fees.fetchFees(commitments, signal);
    return units.map((value) => ({ kind: "certain", value }));
  }

  async #isFarEnough(
    { height = 0n, timeSec = 0n }: ReadSince,
    signal: AbortSignal,
  ): Promise<boolean> {
    const [header, stored] = await this.#node.client.callAll(
      [calls.header(), calls.storage(otherKeys.timestampNow())],
      signal,
    );
    const nowSec = (decodeValue(this.#node, stored, u64, "Timestamp.Now") ?? 0n) / 1000n;
    return header !== undefined && header.height >= height && nowSec >= timeSec;
  }
}

/** Time for which a counterparty is read together with the others after somebody asked about it, ms. */
const FOLLOWED_MS = 60_000;

interface Followed {
  readonly keys: ViewKeys;
  /** When it was asked about last, Unix milliseconds. */
  readonly askedMs: number;
}

/** Values of some counterparties, as they were when `head` was the best block, or in a later block. */
interface Kept {
  readonly head: Header;
  readonly ids: ReadonlySet<string>;
  readonly stored: StorageValues;
  /** Clock of the chain, milliseconds. */
  readonly nowMs: bigint;
}

/** Views of one chain. */
class CounterpartyViews {
  readonly #node: SubstrateNode;
  readonly #followed = new Map<string, Followed>();
  readonly #turn = new Limit(1);
  #kept: Kept | undefined;

  constructor(node: SubstrateNode) {
    this.#node = node;
  }

  /** The view at the best block; at most one round trip. @throws {RpcFault} */
  async fetch(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView> {
    const head = await this.#node.heads.best.newest(signal);
    const id = stateMachineIdKey(counterparty);
    const keys = this.#follow(id, counterparty);
    if (head === undefined) return this.#decode(keys, await this.#read([keys], signal));
    const kept = this.#keptAt(head, id);
    if (kept !== undefined) return this.#decode(keys, kept);
    // Those who ask while the block is read wait for what is read.
    return await this.#turn.run(async () => this.#decode(keys, await this.#readAll(id, signal)), signal);
  }

  #keptAt(head: Header | undefined, id: string): StorageValues | undefined {
    return this.#kept?.head === head && this.#kept?.ids.has(id) ? this.#kept.stored : undefined;
  }

  /** Reads all counterparties that are followed, unless somebody has just done so. */
  async #readAll(id: string, signal: AbortSignal): Promise<StorageValues> {
    const head = await this.#node.heads.best.newest(signal);
    const kept = this.#keptAt(head, id);
    if (kept !== undefined) return kept;
    const followed = new Map(this.#followed);
    const stored = await this.#read([...followed.values()].map((each) => each.keys), signal);
    if (head !== undefined) {
      this.#keep({ head, ids: new Set(followed.keys()), stored, nowMs: this.#clockOf(stored) });
    }
    return stored;
  }

  /** Keeps the values, unless another node behind the same address answered that lacks the block. */
  #keep(read: Kept): void {
    const last = this.#kept;
    const isBehind = last !== undefined && read.head.height > last.head.height && read.nowMs <= last.nowMs;
    if (!isBehind) this.#kept = read;
  }

  #follow(id: string, counterparty: StateMachineId): ViewKeys {
    const nowMs = this.#node.clock.now();
    const keys = this.#followed.get(id)?.keys ?? keysOf(counterparty);
    for (const [other, { askedMs }] of this.#followed) {
      if (nowMs - askedMs > FOLLOWED_MS) this.#followed.delete(other);
    }
    this.#followed.set(id, { keys, askedMs: nowMs });
    return keys;
  }

  #read(all: readonly ViewKeys[], signal: AbortSignal): Promise<StorageValues> {
    const keys = all.flatMap((each) => Object.values(each));
    return this.#node.client.readStorage([otherKeys.timestampNow(), ...keys], undefined, signal);
  }

  #decode(keys: ViewKeys, stored: StorageValues): CounterpartyView {
    const values = new Values(this.#node, stored);
    return {
      height: values.read(keys.height, u64, "LatestStateMachineHeight") ?? 0n,
      nowSec: this.#clockOf(stored) / 1000n,
      challengePeriodSec: values.read(keys.period, u64, "ChallengePeriod") ?? 0n,
      isFrozen: values.read(keys.frozen, bool, "FrozenConsensusClients") ?? false,
    };
  }

  #clockOf(stored: StorageValues): bigint {
    return new Values(this.#node, stored).read(otherKeys.timestampNow(), u64, "Timestamp.Now") ?? 0n;
  }
}

type ViewKeys = Readonly<Record<"height" | "period" | "frozen", Uint8Array>>;

function keysOf(counterparty: StateMachineId): ViewKeys {
  return {
    height: ismpKeys.latestStateMachineHeight(counterparty),
    period: ismpKeys.challengePeriod(counterparty),
    frozen: ismpKeys.frozenConsensusClients(counterparty.consensusStateId),
  };
}
