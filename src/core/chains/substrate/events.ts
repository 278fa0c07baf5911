/** Events of a range of blocks, in order and without gaps. */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { IsmpEvent } from "../../ismp/event.ts";
import {
  type DecodedEvent,
  type EventMetadata,
  type EventWithMetadata,
  IsmpJsonError,
  parseEvent,
} from "../../ismp/rpc_json.ts";
import { RpcFault } from "../../rpc/call.ts";
import { calls, type TypedCall } from "../../rpc/substrate_calls.ts";
import { SharedRead } from "../../runtime/refreshed.ts";
import { mapInSlices } from "../../runtime/slices.ts";
import type { ChainEvent, ChainEvents, EventPosition } from "../reads.ts";
import { counterOf, isDispatched, messageOf, MissingMessages } from "./dispatched.ts";
import { ismpCalls } from "./ismp_calls.ts";
import type { SubstrateNode } from "./node.ts";
import { storedCall } from "./stored.ts";
import { StoredEvents } from "./stored_events.ts";

/** Blocks per query, as in upstream's relayer (tesseract/messaging/substrate/src/provider.rs). */
export const BLOCKS_PER_QUERY = 100n;

/** Events read at once, about 5 ms. */
const EVENTS_AT_ONCE = 100;

const METHOD = "ismp_queryEventsWithMetadata";
const NO_TRANSACTION: Hash256 = `0x${"00".repeat(32)}`;

/** Time for which legs share the events of a range, ms: all legs of a source reach the same height at the same time. */
const SHARED_MS = 1_000;

/** Events of one chain. */
export class SubstrateEvents implements ChainEvents {
  /** The range that was requested last. */
  #shared: { readonly range: string; readonly events: SharedRead<readonly ChainEvent[]> } | undefined;

  constructor(
    readonly node: SubstrateNode,
    readonly stored: StoredEvents = new StoredEvents(node),
    readonly missing: MissingMessages = new MissingMessages(node.clock),
  ) {}

  /**
   * Fetches events of blocks `from` to `to`. A query that is too large, or takes too long, is split, and the events of
   * one block that are still too large are read from its state, then without the transactions that caused them. A
   * query that lacks messages is split, too, until their blocks are known, and those are skipped when the node keeps
   * lacking them. So are blocks whose states it has discarded, and those of which it gives no events that can be read.
   * @throws {RpcFault} `lagging` when the node has not reached `to`; `pruned` when it lacks bodies of requests or
   * states.
   */
  fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    const range = `${from} ${to}`;
    if (this.#shared?.range !== range) {
      const read = (ending: AbortSignal): Promise<readonly ChainEvent[]> =>
        this.#fetchRange(from, to, ending);
      this.#shared = { range, events: new SharedRead(this.node.clock, { forMs: SHARED_MS, read }) };
    }
    return this.#shared.events.get(signal);
  }

  async #fetchRange(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    const events: ChainEvent[] = [];
    // The node walks back to the parent of `from`, which the genesis block does not have; it has no events either.
    for (let start = from === 0n ? 1n : from; start <= to; start += BLOCKS_PER_QUERY) {
      const end = start + BLOCKS_PER_QUERY - 1n;
      events.push(...await this.#fetchChunk(start, end < to ? end : to, signal));
    }
    return events;
  }

  async #fetchChunk(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    const middle = (from + to) / 2n;
    const halves = async (): Promise<readonly ChainEvent[]> => {
      const lower = await this.#fetchChunk(from, middle, signal);
      return [...lower, ...await this.#fetchChunk(middle + 1n, to, signal)];
    };
    let found: Range;
    try {
      found = await this.#queryRange(from, to, signal);
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      if (fault.code === "pruned") return await this.#fetchKept(from, to, signal);
      const isTooMuch = fault.code === "too_large" || fault.code === "timeout";
      if (!isTooMuch) throw fault;
      if (from !== to) return await halves();
      if (fault.code !== "too_large") throw fault;
      found = await this.#fetchManyStored(from, signal).catch((unreadable) =>
        this.#passBlock(from, unreadable)
      );
    }
    if (found.missing > 0n) {
      if (from !== to) return await halves();
      this.#reportMissing(from, found.missing);
    } else if (found.dispatched > 0n) this.missing.noteComplete(from);
    return await this.#toChainEvents(found.events);
  }

  /**
   * Fetches the part of a range whose states the node still has. Nodes discard the oldest states first, 256 blocks
   * behind the head by default (paritytech/polkadot-sdk: substrate/client/cli/src/params/pruning_params.rs).
   * @throws {RpcFault} `pruned` while the other blocks may be requested again.
   */
  async #fetchKept(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    const kept = await this.#findKept(from, to, signal);
    const last = kept - 1n;
    const what = from === last ? `block ${from}` : `blocks ${from} to ${last}`;
    if (!this.missing.mayPass(from)) {
      const cure = "use a node with --state-pruning archive (the default keeps 256 blocks)";
      throw this.node.client.fault("pruned", METHOD, `the states of ${what} are discarded; ${cure}`);
    }
    this.node.log.error("blocks_skipped.states_missing", { endpoint: this.node.client.host, from, to: last });
    return kept > to ? [] : await this.#fetchChunk(kept, to, signal);
  }

  /** First block after `from` whose events can be read and counted, which needs its parent's state; `to` + 1: none. */
  async #findKept(from: bigint, to: bigint, signal: AbortSignal): Promise<bigint> {
    let [lost, kept] = [from, to + 1n];
    while (kept - lost > 1n) {
      const middle = (lost + kept) / 2n;
      if (await this.#hasState(middle - 1n, signal)) kept = middle;
      else lost = middle;
    }
    return kept;
  }

  async #hasState(block: bigint, signal: AbortSignal): Promise<boolean> {
    const [hash] = await this.node.client.callAll([calls.blockHash(block)], signal);
    const [value] = await this.node.client.callAllSettled(
      [storedCall(this.node, counterOf(this.node), hash)],
      signal,
    );
    if (!(value instanceof RpcFault)) return true;
    if (value.code !== "pruned") throw value;
    return false;
  }

  /** Reports missing messages. @throws {RpcFault} `pruned` while the block may be requested again. */
  #reportMissing(block: bigint, count: bigint): void {
    const detail = `${count} messages of block ${block} are missing from the node's offchain database`;
    if (!this.missing.mayPass(block)) throw this.node.client.fault("pruned", METHOD, detail);
    this.node.log.error(
      "messages_skipped.bodies_missing",
      { endpoint: this.node.client.host, block, messages: count },
    );
  }

  /** Passes over a block of which no events can be read. @throws the fault while the block may be requested again. */
  #passBlock(block: bigint, fault: unknown): Range {
    const isUnreadable = fault instanceof RpcFault &&
      (fault.code === "too_large" || fault.code === "malformed");
    if (!isUnreadable || !this.missing.mayPass(block)) throw fault;
    const { log, client } = this.node;
    log.error("blocks_skipped.unreadable", { endpoint: client.host, from: block, to: block, error: fault });
    return { events: [], dispatched: 0n, missing: 0n };
  }

  async #queryRange(from: bigint, to: bigint, signal: AbortSignal): Promise<Range> {
    // One message: a second small one right behind it would wait for the first one's TCP acknowledgement (RFC 896).
    const [header, answer, before, last] = await this.node.client.callAllSettled(
      [calls.header(), ismpCalls.eventBlocks(from, to), calls.blockHash(from - 1n), calls.blockHash(to)],
      signal,
    );
    if (header instanceof RpcFault) throw header;
    if (header === undefined || header.height < to) {
      throw this.node.client.fault("lagging", METHOD, `best block ${header?.height}, requested up to ${to}`);
    }
    if (answer instanceof RpcFault) throw answer;
    const blocks = await this.#readEvents(answer);
    this.#requireEveryBlock(blocks, from, to);
    const dispatched = await this.#countDispatched([before, last], blocks, signal);
    // Undecodable events count as dispatched ones: they are reported below and cannot be fetched again.
    return toRange(inOrder(blocks), dispatched);
  }

  /** Reads a block whose events are more than the node answers with. */
  async #fetchManyStored(block: bigint, signal: AbortSignal): Promise<Range> {
    const [parent, hash] = await this.node.client.callAll(
      [calls.blockHash(block - 1n), calls.blockHash(block)],
      signal,
    );
    if (parent === undefined || hash === undefined) {
      throw this.node.client.fault("lagging", METHOD, `no block ${block}`);
    }
    const meta = { blockHash: hash, transactionHash: NO_TRANSACTION, blockNumber: block };
    const events = (await this.stored.fetchEvents({ height: block, hash, parent }, signal))
      .map((decoded) => ({ meta, decoded }));
    const dispatched = await this.#countDispatched([parent, hash], new Map([[hash, events]]), signal);
    return toRange(events, dispatched);
  }

  /** Reads the events of an answer. @throws {RpcFault} `malformed`. */
  async #readEvents(
    answer: ReadonlyMap<Hash256, readonly unknown[]>,
  ): Promise<ReadonlyMap<Hash256, readonly EventWithMetadata[]>> {
    const all = [...answer].flatMap(([block, events]) => events.map((json) => ({ block, json })));
    try {
      const read = await mapInSlices(
        all,
        EVENTS_AT_ONCE,
        ({ block, json }) => ({ block, event: parseEvent(json) }),
      );
      const found = new Map<Hash256, EventWithMetadata[]>([...answer.keys()].map((block) => [block, []]));
      for (const { block, event } of read) found.get(block)?.push(event);
      return found;
    } catch (error) {
      if (error instanceof IsmpJsonError) throw this.node.client.fault("malformed", METHOD, error.message);
      throw error;
    }
  }

  #requireEveryBlock(
    blocks: ReadonlyMap<Hash256, readonly EventWithMetadata[]>,
    from: bigint,
    to: bigint,
  ): void {
    const expected = to - from + 1n;
    if (BigInt(blocks.size) !== expected) {
      throw this.node.client.fault("malformed", METHOD, `${blocks.size} of ${expected} blocks`);
    }
    for (const [hash, events] of blocks) {
      for (const { meta } of events) {
        const isHere = meta.blockHash === hash && meta.blockNumber >= from && meta.blockNumber <= to;
        if (!isHere) {
          throw this.node.client.fault("malformed", METHOD, "an event of a block that was not requested");
        }
      }
    }
  }

  /**
   * Counts dispatched messages (requests and, on the hub, responses) by the chain's own counter: leaves of the MMR on
   * the hub, the nonce elsewhere (only the hub routes requests of others). A node that lost bodies from its offchain
   * database omits their events silently (polytope-labs/hyperbridge: modules/pallets/ismp/src/impls.rs,
   * block_events_with_metadata). 0 when the runtime does not keep the counter.
   */
  async #countDispatched(
    [before, last]: readonly [Hash256 | RpcFault | undefined, Hash256 | RpcFault | undefined],
    blocks: ReadonlyMap<Hash256, unknown>,
    signal: AbortSignal,
  ): Promise<bigint> {
    if (before instanceof RpcFault) throw before;
    if (last instanceof RpcFault) throw last;
    const isSameChain = before !== undefined && last !== undefined && blocks.has(last);
    if (!isSameChain) throw this.node.client.fault("lagging", METHOD, "the chain was reorganised meanwhile");
    const at = (block: Hash256): TypedCall<bigint | undefined> =>
      storedCall(this.node, counterOf(this.node), block);
    const [atStart, atEnd] = await this.node.client.callAll([at(before), at(last)], signal);
    return atEnd === undefined ? 0n : atEnd - (atStart ?? 0n);
  }

  async #toChainEvents(events: readonly EventWithMetadata[]): Promise<readonly ChainEvent[]> {
    const converted = await mapInSlices(events, EVENTS_AT_ONCE, ({ meta, decoded }) => {
      this.#reportUnknown(decoded, meta);
      if (decoded.kind === "undecodable") return undefined;
      const transaction = meta.transactionHash === NO_TRANSACTION ? undefined : meta.transactionHash;
      return toChainEvent(decoded.event, { height: meta.blockNumber, transaction });
    });
    return converted.filter((event) => event !== undefined);
  }

  /** Names what cannot be read of an event; stopping there would stop everything else. */
  #reportUnknown(decoded: DecodedEvent, { blockNumber, transactionHash }: EventMetadata): void {
    const { log } = this.node;
    if (decoded.kind === "event") {
      for (const field of decoded.unknownFields ?? []) {
        log.warn("unknown_met", {
          what: `field ${field} of ISMP event ${decoded.event.tag}`,
          cost: "the other fields are used; if it is part of the commitment, such messages cannot be proved",
        });
      }
    } else if (decoded.error.code === "unknown_kind") {
      log.warn("unknown_met", {
        what: `ISMP event ${decoded.error.field}`,
        cost: "such events, and messages that they stand for, are skipped",
      });
    } else {
      // E.g. a destination that is not UTF-8: it cannot be delivered.
      const at = { height: blockNumber, transaction: transactionHash };
      log.warn("messages_skipped.undecodable", { ...at, error: decoded.error });
    }
  }
}

/** Events of a range, and how many of its messages the node left out. */
interface Range {
  readonly events: readonly EventWithMetadata[];
  readonly dispatched: bigint;
  readonly missing: bigint;
}

/** @param dispatched messages by the chain's counter */
function toRange(events: readonly EventWithMetadata[], dispatched: bigint): Range {
  const missing = dispatched - BigInt(events.filter(isDispatched).length);
  return { events, dispatched, missing: missing > 0n ? missing : 0n };
}

/** Orders the events: the answer is in the order of a hash map; only events contain their block number. */
function inOrder(blocks: ReadonlyMap<Hash256, readonly EventWithMetadata[]>): readonly EventWithMetadata[] {
  const withEvents = [...blocks.values()].filter((events) => events.length > 0);
  const numberOf = (events: readonly EventWithMetadata[]): bigint => events[0]?.meta.blockNumber ?? 0n;
  return withEvents.sort((a, b) => Number(numberOf(a) - numberOf(b))).flat();
}

function toChainEvent(event: IsmpEvent, at: EventPosition): ChainEvent {
  switch (event.tag) {
    case "PostRequest":
    case "GetRequest":
    case "GetResponse":
      return { kind: "message", message: messageOf(event), at };
    case "PostRequestHandled":
    case "GetRequestHandled":
      return { kind: "handled", of: event.tag === "GetRequestHandled" ? "get" : "post", ...event.value, at };
    case "PostRequestTimeoutHandled":
    case "GetRequestTimeoutHandled": {
      const of = event.tag === "GetRequestTimeoutHandled" ? "get" : "post";
      const { commitment, source } = event.value;
      return { kind: "timeoutHandled", of, commitment, source, at };
    }
    case "StateMachineUpdated": {
      const { stateMachineId: id, latestHeight: height } = event.value;
      return { kind: "updated", stateMachine: id.stateMachine, id, height, at };
    }
    case "StateCommitmentVetoed": {
      const { id, height } = event.value.height;
      return { kind: "vetoed", stateMachine: id.stateMachine, height, at };
    }
  }
}
