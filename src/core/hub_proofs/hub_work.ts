/**
 * Index of hub blocks that hold work for a chain: a proof of the hub is worth its gas only where there is work. One
 * instance serves all chains, so events are read once. Source: docs/protocol/hub-consensus.md section 5.10.
 */
import type { ChainEvent, ChainEvents, ChainReads } from "../chains/reads.ts";
import type { StateMachine } from "../ismp/state_machine.ts";
import { highest, lowest } from "../chains/evm/gas.ts";
import { RpcFault } from "../rpc/call.ts";
import { Limit } from "../runtime/limit.ts";
import { dropOldest } from "../runtime/slices.ts";

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
  /** Final blocks that were read, with the chains for which they hold work. */
  readonly #read = new Map<bigint, readonly StateMachine[]>();

  constructor(hub: WorkHub) {
    this.#hub = hub;
  }

  /** True when blocks above `known` up to `upTo` hold work for `chain`, or are too many to read. */
  hasWork(chain: StateMachine, range: WorkRange, signal: AbortSignal): Promise<boolean> {
    if (range.known >= range.upTo) return Promise.resolve(false);
    return this.#turn.run(() => this.#hasWork(chain, range, signal), signal);
  }

  async #hasWork(chain: StateMachine, { known, upTo }: WorkRange, signal: AbortSignal): Promise<boolean> {
    const since = highest(known, upTo - SEARCHED_BLOCKS);
    const newest = this.#read.has(upTo) ? upTo : await this.#hub.reads.fetchFinalHeight(signal);
    for (let to = lowest(newest, upTo); to > since;) {
      const read = this.#read.get(to) ?? await this.#readDown(to, since, signal);
      // A node that has pruned the events of a block cannot rule out work.
      if (read === undefined || read.includes(chain)) return true;
      to--;
    }
    // Blocks that are not final on the node are read again each time.
    const unread = highest(newest, known);
    if (known < since && unread < since) return true;
    for (let from = unread + 1n; from <= upTo; from += BLOCKS_PER_READ) {
      const events = await this.#fetchEvents(from, lowest(from + BLOCKS_PER_READ - 1n, upTo), signal);
      if (events === undefined || events.some((event) => addressee(event) === chain)) return true;
    }
    return known < since;
  }

  /** Reads a page of blocks down from `to`, without those that are known; returns what `to` holds. */
  async #readDown(
    to: bigint,
    since: bigint,
    signal: AbortSignal,
  ): Promise<readonly StateMachine[] | undefined> {
    let from = to;
    while (from - 1n > since && to - from + 1n < BLOCKS_PER_READ && !this.#read.has(from - 1n)) from--;
    const events = await this.#fetchEvents(from, to, signal);
    if (events === undefined) return undefined;
    for (let height = from; height <= to; height++) {
      const chains = events.filter(({ at }) => at.height === height).flatMap((event) =>
        addressee(event) ?? []
      );
      this.#read.set(height, chains.length === 0 ? NO_CHAINS : chains);
    }
    dropOldest(this.#read, KEPT_BLOCKS);
    return this.#read.get(to);
  }

  /** Reads events; `undefined`: the node has pruned them. */
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

const NO_CHAINS: readonly StateMachine[] = [];

/** Remembered blocks: twice as many as are searched, since they are not read in order. */
const KEPT_BLOCKS = Number(2n * SEARCHED_BLOCKS);

/** Returns the chain that needs a newer height of the hub because of an event. */
function addressee(event: ChainEvent): StateMachine | undefined {
  if (event.kind === "timeoutHandled") return event.of === "post" ? event.source : undefined;
  if (event.kind !== "message") return undefined;
  const { message } = event;
  if (message.kind === "post") return message.request.dest;
  return message.kind === "getResponse" ? message.response.get.source : undefined;
}
