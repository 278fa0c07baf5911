/**
 * Heights, times and the chain's view of a counterparty: plain reads of storage, and reads that may settle a message:
 * there is one node, so what it says must be final and still hold.
 */
import { equalBytes, type Hash256 } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import type { StateCommitment, StateMachineHeight, StateMachineId } from "../../ismp/state_machine.ts";
import { ismpKeys, otherKeys, type Stored } from "../../ismp/storage_keys.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import {
  type Certain,
  type CertainReads,
  type ChainReads,
  type CounterpartyView,
  type ReadSince,
  UNSURE,
} from "../reads.ts";
import { fetchReceiptsAt, fetchRequestMetadata } from "./fees.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchStored, keysOf, pickStored, toSeconds, type Wanted } from "./stored.ts";

const now = otherKeys.timestampNow.of();

/** Values at a block, the best one without its hash. */
type ReadAt<T> = (block: Hash256 | undefined) => Promise<readonly T[]>;

/** Where the chain keeps what it knows of another one. */
function storedView(of: StateMachineId): Wanted<StoredView> {
  return {
    now,
    height: ismpKeys.latestStateMachineHeight.of(of),
    period: ismpKeys.challengePeriod.of(of),
    frozen: ismpKeys.frozenConsensusClients.of(of.consensusStateId),
  };
}

interface StoredView {
  readonly now: bigint;
  readonly height: bigint;
  readonly period: bigint;
  readonly frozen: boolean;
}

/** Reads of the chain's storage at its best block, and certain ones. */
export class SubstrateReads implements ChainReads, CertainReads {
  constructor(readonly node: SubstrateNode) {}

  async fetchHeight(signal: AbortSignal): Promise<bigint> {
    const header = await this.node.client.call(calls.header(), signal);
    if (header === undefined) throw this.node.client.fault("malformed", "chain_getHeader", "no best block");
    return header.height;
  }

  /** Newest final block, for polls. */
  async fetchFinalHeight(signal: AbortSignal): Promise<bigint> {
    return (await this.node.finalBlocks.newest(signal)).height;
  }

  /** Unix seconds of a block; the genesis block has no time and gives 0. */
  async fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint> {
    const block = await fetchBlockHash(this.node, height, signal);
    return toSeconds(await fetchStored(this.node, now, { block, signal }));
  }

  async fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView> {
    const wanted = storedView(counterparty);
    const view = pickStored(this.node, wanted, await this.node.polled.read(keysOf(wanted), signal));
    const { height = 0n, period = 0n, frozen = false } = view;
    return { height, nowSec: toSeconds(view.now), challengePeriodSec: period, isFrozen: frozen };
  }

  async fetchUpdateTime(height: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined> {
    return await fetchStored(this.node, await updateTimeOf(this.node, height, signal), { signal });
  }

  async fetchStateRoot(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined> {
    return (await this.fetchCommitment(of, signal))?.stateRoot;
  }

  async fetchCommitment(of: StateMachineHeight, signal: AbortSignal): Promise<StateCommitment | undefined> {
    const runtime = await this.node.runtimes.current(signal);
    const isBounded = runtime.has(ismpKeys.boundedStateCommitments) ||
      !runtime.has(ismpKeys.stateCommitments);
    const wanted = isBounded
      ? ismpKeys.boundedStateCommitments.of(of.id, of.height)
      : ismpKeys.stateCommitments.of(of);
    return await fetchStored(this.node, wanted, { signal });
  }

  async fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return await fetchReceiptsAt(this.node, { messages }, signal);
  }

  fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    const read: ReadAt<Uint8Array | undefined> = (block) =>
      fetchReceiptsAt(this.node, { messages, block }, signal);
    const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
      a === undefined || b === undefined ? a === b : equalBytes(a, b);
    return this.#compare({ read, isSame }, since, signal);
  }

  fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    const read: ReadAt<bigint | undefined> = async (block) =>
      (await fetchRequestMetadata(this.node, { commitments, block }, signal))
        .map((metadata) => metadata?.fee.fee);
    return this.#compare({ read, isSame: (a, b) => a === b }, since, signal);
  }

  /**
   * Reads at the final block; a value that is another one at the best block is not certain, and none is while the final
   * block is not far enough. Three round trips, five for a time.
   */
  async #compare<T>(
    { read, isSame }: { readonly read: ReadAt<T>; readonly isSame: (a: T, b: T) => boolean },
    { height = 0n, timeSec }: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<T>[]> {
    const newest = await this.node.finalBlocks.fetch(signal);
    const [final, best] = await Promise.all([read(newest.hash), read(undefined)]);
    const isFarEnough = newest.height >= height &&
      (timeSec === undefined || await this.fetchBlockTime(newest.height, signal) >= timeSec);
    return final.map((value, index) => {
      const isCertain = isFarEnough && isSame(value, best[index] as T);
      return isCertain ? { kind: "certain", value } : UNSURE;
    });
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
