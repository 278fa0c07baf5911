/**
 * Index of hub blocks that hold work for a chain: a proof of the hub is worth its gas only where there is work. One
 * instance serves all chains, so events are read once. Source: docs/protocol/hub-consensus.md section 5.10.
 */
import type { ChainEvent, ChainEvents, ChainReads } from "../../../core/chains/reads.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { Limit } from "../../../core/runtime/limit.ts";

/** Blocks per event query. */
const BLOCKS_PER_READ = 100n;

/**
 * Maximum number of blocks searched below the newest one: a day at 6 s. Older blocks count as work, so that a chain
 * that was not served for long gets its pending messages.
 */
export const SEARCHED_BLOCKS = 14_400n;

/** Reads of the hub's events. */
export interface WorkHub {
  readonly events: ChainEvents;
  readonly reads: Pick<ChainReads, "fetchFinalHeight">;
}

/** Blocks of the hub that may hold work. */
export interface WorkRange {
  /** Height that the chain knows. */
  readonly known: bigint;
  /** Last block of the range. */
  readonly upTo: bigint;
}

/** Finds blocks with work. */
export class HubWork {
  readonly #hub: WorkHub;
  readonly #turn = new Limit(1);
  /** Blocks with work, ascending; only for chains passed to {@link hasWork}. */
  readonly #blocks = new Map<StateMachine, bigint[]>();
  /** First and last block that was read, all of them final; `undefined`: none yet. */
  #read: { readonly from: bigint; readonly to: bigint } | undefined;

  constructor(hub: WorkHub, chains: Iterable<StateMachine>) {
    this.#hub = hub;
    for (const chain of chains) this.#blocks.set(chain, []);
  }

  /** True when blocks above `known` up to `upTo` hold work for `chain`, or are too many to read. */
  hasWork(chain: StateMachine, range: WorkRange, signal: AbortSignal): Promise<boolean> {
    const { known, upTo } = range;
    const blocks = this.#blocks.get(chain);
    if (blocks === undefined) throw new Error(`${chain} was not announced`);
    if (known >= upTo) return Promise.resolve(false);
    return this.#turn.run(async () => {
      if (isAmong(blocks, range)) return true;
      const final = await this.#finalUpTo(upTo, signal);
      return known < final && await this.#isInFinal(blocks, { known, upTo: final }, signal) ||
        final < upTo && await this.#isInBest(chain, { known: highest(known, final), upTo }, signal);
    }, signal);
  }

  /** Returns the newest final block up to `upTo`: later blocks of a node may be on a fork. */
  async #finalUpTo(upTo: bigint, signal: AbortSignal): Promise<bigint> {
    if (this.#read !== undefined && this.#read.to >= upTo) return upTo;
    const final = await this.#hub.reads.fetchFinalHeight(signal);
    return final < upTo ? final : upTo;
  }

  async #isInFinal(blocks: readonly bigint[], range: WorkRange, signal: AbortSignal): Promise<boolean> {
    while (!isAmong(blocks, range)) {
      const next = nextRead(this.#read, range.known + 1n, range.upTo);
      if (next === "all") return false;
      if (next === "too_many") return true;
      // A node that has pruned the events of a block cannot rule out work.
      if (!await this.#readBlocks(next.from, next.to, signal)) return true;
    }
    return true;
  }

  /** Reads blocks that are not final on the node; they are read again each time. */
  async #isInBest(chain: StateMachine, { known, upTo }: WorkRange, signal: AbortSignal): Promise<boolean> {
    if (upTo - known > SEARCHED_BLOCKS) return true;
    for (let from = known + 1n; from <= upTo; from += BLOCKS_PER_READ) {
      const end = from + BLOCKS_PER_READ - 1n;
      const events = await this.#fetchEvents(from, end < upTo ? end : upTo, signal);
      if (events === undefined || events.some((event) => addressee(event) === chain)) return true;
    }
    return false;
  }

  /** False when the node has pruned them. */
  async #readBlocks(from: bigint, to: bigint, signal: AbortSignal): Promise<boolean> {
    const events = await this.#fetchEvents(from, to, signal);
    if (events === undefined) return false;
    const isAbove = this.#read === undefined || from > this.#read.to;
    for (const event of events) {
      const chain = addressee(event);
      const blocks = chain === undefined ? undefined : this.#blocks.get(chain);
      if (blocks === undefined || blocks.includes(event.at.height)) continue;
      blocks.push(event.at.height);
    }
    for (const blocks of this.#blocks.values()) {
      blocks.sort((a, b) => a < b ? -1 : 1);
      const old = blocks.findIndex((block) => block + SEARCHED_BLOCKS > to);
      if (isAbove) blocks.splice(0, old === -1 ? blocks.length : old);
    }
    const read = this.#read ?? { from, to };
    this.#read = { from: from < read.from ? from : read.from, to: to > read.to ? to : read.to };
    return true;
  }

  async #fetchEvents(
    from: bigint,
    to: bigint,
    signal: AbortSignal,
  ): Promise<readonly ChainEvent[] | undefined> {
    try {
      return await this.#hub.events.fetchEvents(from, to, signal);
    } catch (error) {
      if (!(error instanceof RpcFault) || error.code !== "pruned") throw error;
      return undefined;
    }
  }
}

/** Returns the next blocks to read so that everything from `from` to `to` is known: upwards first, then downwards. */
function nextRead(
  read: { readonly from: bigint; readonly to: bigint } | undefined,
  from: bigint,
  to: bigint,
): { readonly from: bigint; readonly to: bigint } | "all" | "too_many" {
  const lowest = to > SEARCHED_BLOCKS ? to - SEARCHED_BLOCKS + 1n : 1n;
  const start = from > lowest ? from : lowest;
  if (read === undefined) return { from: highest(start, to - BLOCKS_PER_READ + 1n), to };
  if (to > read.to) {
    const end = read.to + BLOCKS_PER_READ;
    return { from: read.to + 1n, to: end < to ? end : to };
  }
  if (start < read.from) return { from: highest(start, read.from - BLOCKS_PER_READ), to: read.from - 1n };
  return from < start ? "too_many" : "all";
}

function isAmong(blocks: readonly bigint[], { known, upTo }: WorkRange): boolean {
  return blocks.some((block) => block > known && block <= upTo);
}

function highest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Returns the chain that needs a newer height of the hub because of an event. */
function addressee(event: ChainEvent): StateMachine | undefined {
  if (event.kind === "timeoutHandled") return event.of === "post" ? event.source : undefined;
  if (event.kind !== "message") return undefined;
  const { message } = event;
  if (message.kind === "post") return message.request.dest;
  return message.kind === "getResponse" ? message.response.get.source : undefined;
}
