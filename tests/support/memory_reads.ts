/** What one relayer reads of a {@link MemoryNode}, with the delays and faults of its endpoints. */
import type { Certain, ChainEvent, CounterpartyView, ReadSince } from "../../src/core/chains/reads.ts";
import { UNSURE } from "../../src/core/chains/reads.ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import type { StateMachineHeight, StateMachineId } from "../../src/core/ismp/state_machine.ts";
import { stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import { RpcFault, type RpcFaultCode } from "../../src/core/rpc/call.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import { doFaulty, FaultPlan } from "./fault_plan.ts";
import type { MemoryBlock } from "./memory_block.ts";
import type { HostState } from "./memory_host.ts";
import type { MemoryNode } from "./memory_node.ts";

/** Answers a call of a relayer with the delays and faults of its endpoint. */
export type Ask = <T>(method: string, signal: AbortSignal, work: () => T) => Promise<T>;

/** How a relayer reads a chain. */
export interface ReaderOptions {
  /** Names us in receipts, and is the account that pays on EVM chains. */
  readonly relayer: Uint8Array;
  /** Time that each call takes, ms; none when absent. */
  readonly latencyMs?: () => number;
}

/** The reads of one relayer. */
export class MemoryReads {
  readonly id: StateMachineId;
  readonly family: "evm" | "substrate";
  readonly relayer: Uint8Array;
  readonly faults = new FaultPlan();
  /** Names of the methods that were called, in order. */
  readonly calls: string[] = [];
  /** Changes what {@link MemoryReads.fetchEvents} returns: another order, the same event twice. */
  alterEvents: (events: readonly ChainEvent[]) => readonly ChainEvent[] = (events) => events;
  /** Blocks by which the endpoint that is asked first is behind. */
  readsBehind = 0n;
  /** Blocks by which it is behind whatever it is asked for. */
  blocksBehind = 0n;
  /** Whether an endpoint answers that may be asked to confirm what ends a message. */
  areWitnessesUp = true;
  protected readonly node: MemoryNode;
  protected readonly clock: Clock;
  readonly #latencyMs: () => number;

  constructor(node: MemoryNode, clock: Clock, { relayer, latencyMs = (): number => 0 }: ReaderOptions) {
    this.node = node;
    this.clock = clock;
    this.#latencyMs = latencyMs;
    this.id = node.id;
    this.family = node.family;
    this.relayer = relayer;
  }

  /** How often a method was called. */
  count(method: string): number {
    return this.calls.filter((called) => called === method).length;
  }

  /** The block that plain reads see. */
  protected get seenBlock(): MemoryBlock {
    const { head } = this.node;
    return this.node.block(head.height - this.blocksBehind) ?? head;
  }

  /** The state that receipts and fees are read from. */
  protected get seen(): HostState {
    const { height, state } = this.seenBlock;
    return this.node.block(height - this.readsBehind)?.state ?? state;
  }

  fetchHeight(signal: AbortSignal): Promise<bigint> {
    return this.call("fetchHeight", signal, () => this.seenBlock.height);
  }

  fetchFinalHeight(signal: AbortSignal): Promise<bigint> {
    return this.call("fetchFinalHeight", signal, () => this.node.finalHeight);
  }

  fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint> {
    return this.call("fetchBlockTime", signal, () => this.blockAt(height, "fetchBlockTime").timeSec);
  }

  fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView> {
    return this.call("fetchView", signal, () => {
      const { state, timeSec } = this.seenBlock;
      return {
        height: state.counterparties.get(stateMachineIdKey(counterparty))?.latest ?? 0n,
        nowSec: timeSec,
        challengePeriodSec: this.node.challengePeriodSec,
        isFrozen: state.isFrozen,
      };
    });
  }

  fetchUpdateTime(at: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined> {
    return this.call("fetchUpdateTime", signal, () => {
      const known = this.node.head.state.counterparties.get(stateMachineIdKey(at.id));
      return known?.heights.get(at.height)?.updatedAtSec;
    });
  }

  fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    return this.call("fetchEvents", signal, () => {
      const events: ChainEvent[] = [];
      if (to > this.seenBlock.height) throw this.fault("lagging", "fetchEvents");
      for (let height = from; height <= to; height++) {
        events.push(...this.blockAt(height, "fetchEvents").events);
      }
      return this.alterEvents(events);
    });
  }

  fetchStateRoot(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined> {
    return this.call("fetchStateRoot", signal, () => {
      const known = this.node.head.state.counterparties.get(stateMachineIdKey(of.id));
      return known?.heights.get(of.height)?.root;
    });
  }

  /** True when a request has left this chain at or below a height. */
  hasSent(commitment: Hash256, height: bigint): boolean {
    return this.node.block(height)?.state.sent.has(commitment) ?? false;
  }

  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return this.call("fetchReceipts", signal, () => this.receipts(messages));
  }

  fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    return this.call(
      "fetchCertainReceipts",
      signal,
      () => this.confirmed(since, messages.map((each) => this.receiptNow(each))),
    );
  }

  fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    return this.call(
      "fetchCertainFees",
      signal,
      () => this.confirmed(since, commitments.map((each) => this.feeNow(each))),
    );
  }

  /** The receipt in the newest state. */
  protected receiptNow(message: Message): Uint8Array | undefined {
    return this.node.head.state.receipts.get(toReceiptKey(message));
  }

  /** The fee in the newest state. */
  protected feeNow(commitment: Hash256): bigint | undefined {
    return this.node.head.state.fees.get(commitment);
  }

  /** What endpoints agree on once one of them is far enough. */
  protected confirmed<T>(
    { height = 0n, timeSec = 0n }: ReadSince,
    values: readonly T[],
  ): readonly Certain<T>[] {
    const { head } = this.node;
    const isUnsure = !this.areWitnessesUp || head.height < height || head.timeSec < timeSec;
    return values.map((value) => isUnsure ? UNSURE : { kind: "certain", value });
  }

  protected receipts(messages: readonly Message[]): readonly (Uint8Array | undefined)[] {
    return messages.map((message) => this.seen.receipts.get(toReceiptKey(message)));
  }

  protected blockAt(height: bigint, method: string): MemoryBlock {
    const block = this.node.block(height);
    if (block === undefined) throw this.fault("lagging", method);
    return block;
  }

  protected fault(code: RpcFaultCode, method: string): RpcFault {
    const where = { chain: this.id.stateMachine, endpointHost: "memory", method };
    return new RpcFault(code, where);
  }

  /** Answers as the endpoint does, with its delays and faults. */
  async call<T>(method: string, signal: AbortSignal, work: () => T): Promise<T> {
    signal.throwIfAborted();
    this.calls.push(method);
    const latencyMs = this.#latencyMs();
    if (latencyMs > 0) await this.clock.sleep(latencyMs, signal);
    else await Promise.resolve();
    const where = { chain: this.id.stateMachine, method, clock: this.clock };
    return await doFaulty(this.faults.take(method), where, work, signal);
  }
}
