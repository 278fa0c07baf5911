/**
 * What the chain's storage says about its counterparties. While the node announces its blocks, all counterparties that
 * somebody follows are read by one call for each new best block, and nothing is read while there is none.
 */
import { bool, u64 } from "../../encoding/scale.ts";
import { type StateMachineId, stateMachineIdKey } from "../../ismp/state_machine.ts";
import { ismpKeys, otherKeys } from "../../ismp/storage_keys.ts";
import type { Header, StorageValues } from "../../rpc/substrate_calls.ts";
import { Limit } from "../../runtime/limit.ts";
import type { CounterpartyView } from "../reads.ts";
import type { SubstrateNode } from "./node.ts";
import { Values } from "./storage_values.ts";

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
export class CounterpartyViews {
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
