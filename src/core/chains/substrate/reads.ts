/** Heights, times and the chain's view of a counterparty: plain reads of storage. */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import {
  type StateCommitment,
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdKey,
} from "../../ismp/state_machine.ts";
import { ismpKeys, otherKeys, type Stored } from "../../ismp/storage_keys.ts";
import { calls, type Header, type StorageValues } from "../../rpc/substrate_calls.ts";
import { Limit } from "../../runtime/limit.ts";
import type { ChainReads, CounterpartyView } from "../reads.ts";
import { fetchReceiptsAt } from "./fees.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchStored, keysOf, pickStored, toSeconds, type Wanted } from "./stored.ts";

const now = otherKeys.timestampNow.of();

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
    const announced = this.#node.heads.final.newest;
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
    const block = await fetchBlockHash(this.#node, height, signal);
    return toSeconds(await fetchStored(this.#node, now, { block, signal }));
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
    return await fetchStored(this.#node, await updateTimeOf(this.#node, height, signal), { signal });
  }

  /** Root in the commitment of a counterparty's block. One round trip. */
  async fetchStateRoot(
    of: StateMachineHeight,
    signal: AbortSignal,
  ): Promise<Hash256 | undefined> {
    return (await this.fetchCommitment(of, signal))?.stateRoot;
  }

  /** Fetches the commitment of one height, where the runtime has it. */
  async fetchCommitment(
    of: StateMachineHeight,
    signal: AbortSignal,
  ): Promise<StateCommitment | undefined> {
    const runtime = await this.#node.runtimes.current(signal);
    const isBounded = runtime.has(ismpKeys.boundedStateCommitments) ||
      !runtime.has(ismpKeys.stateCommitments);
    const wanted = isBounded
      ? ismpKeys.boundedStateCommitments.of(of.id, of.height)
      : ismpKeys.stateCommitments.of(of);
    return await fetchStored(this.#node, wanted, { signal });
  }

  /** Fetches the relayer per message; one round trip. */
  async fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return await fetchReceiptsAt(this.#node, { messages }, signal);
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

/** Where the runtime keeps the time at which a commitment was stored. */
export async function updateTimeOf(
  node: SubstrateNode,
  height: StateMachineHeight,
  signal: AbortSignal,
): Promise<Stored<bigint>> {
  const runtime = await node.runtimes.current(signal);
  return runtime.has(ismpKeys.stateMachineUpdateTime)
    ? ismpKeys.stateMachineUpdateTime.of(height)
    : ismpKeys.boundedStateMachineUpdateTime.of(height.id, height.height);
}

/** Time for which a counterparty is read together with the others after somebody asked about it, ms. */
const FOLLOWED_MS = 60_000;

interface Followed {
  readonly wanted: WantedView;
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
    const head = this.#node.heads.best.newest;
    const id = stateMachineIdKey(counterparty);
    const wanted = this.#follow(id, counterparty);
    if (head === undefined) return this.#decode(wanted, await this.#read([wanted], signal));
    const kept = this.#keptAt(head, id);
    if (kept !== undefined) return this.#decode(wanted, kept);
    // Those who ask while the block is read wait for what is read.
    return await this.#turn.run(async () => this.#decode(wanted, await this.#readAll(id, signal)), signal);
  }

  #keptAt(head: Header | undefined, id: string): StorageValues | undefined {
    return this.#kept?.head === head && this.#kept?.ids.has(id) ? this.#kept.stored : undefined;
  }

  /** Reads all counterparties that are followed, unless somebody has just done so. */
  async #readAll(id: string, signal: AbortSignal): Promise<StorageValues> {
    const head = this.#node.heads.best.newest;
    const kept = this.#keptAt(head, id);
    if (kept !== undefined) return kept;
    const followed = new Map(this.#followed);
    const stored = await this.#read([...followed.values()].map((each) => each.wanted), signal);
    if (head !== undefined) {
      const { now: nowMs = 0n } = pickStored(this.#node, { now }, stored);
      this.#keep({ head, ids: new Set(followed.keys()), stored, nowMs });
    }
    return stored;
  }

  /** Keeps the values, unless another node behind the same address answered that lacks the block. */
  #keep(read: Kept): void {
    const last = this.#kept;
    const isBehind = last !== undefined && read.head.height > last.head.height && read.nowMs <= last.nowMs;
    if (!isBehind) this.#kept = read;
  }

  #follow(id: string, counterparty: StateMachineId): WantedView {
    const nowMs = this.#node.clock.now();
    const wanted = this.#followed.get(id)?.wanted ?? viewOf(counterparty);
    for (const [other, { askedMs }] of this.#followed) {
      if (nowMs - askedMs > FOLLOWED_MS) this.#followed.delete(other);
    }
    this.#followed.set(id, { wanted, askedMs: nowMs });
    return wanted;
  }

  #read(all: readonly WantedView[], signal: AbortSignal): Promise<StorageValues> {
    const keys = new Set(all.flatMap(keysOf));
    return this.#node.client.readStorage([...keys], undefined, signal);
  }

  #decode(wanted: WantedView, stored: StorageValues): CounterpartyView {
    const { now, height = 0n, period = 0n, frozen = false } = pickStored(this.#node, wanted, stored);
    return { height, nowSec: toSeconds(now), challengePeriodSec: period, isFrozen: frozen };
  }
}

type WantedView = Wanted<{ now: bigint; height: bigint; period: bigint; frozen: boolean }>;

function viewOf(counterparty: StateMachineId): WantedView {
  return {
    now,
    height: ismpKeys.latestStateMachineHeight.of(counterparty),
    period: ismpKeys.challengePeriod.of(counterparty),
    frozen: ismpKeys.frozenConsensusClients.of(counterparty.consensusStateId),
  };
}
