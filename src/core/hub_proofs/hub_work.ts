/**
 * Index of hub blocks that hold work for a chain: a proof of the hub is worth its gas only where there is work. One
 * instance serves all chains, so events are read once. Source: docs/protocol/hub-consensus.md section 5.10.
 */
import type { ChainEvent, ChainEvents, ChainReads } from "../chains/reads.ts";
import type { StateMachine } from "../ismp/state_machine.ts";
import { lowest } from "../chains/evm/gas.ts";
import { onFault } from "../rpc/call.ts";
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
    const count = range.upTo - range.known;
    if (count <= 0n || count > SEARCHED_BLOCKS) return Promise.resolve(count > 0n);
    return this.#turn.run(() => this.#hasWork(chain, range, signal), signal);
  }

  async #hasWork(chain: StateMachine, { known, upTo }: WorkRange, signal: AbortSignal): Promise<boolean> {
    const final = this.#read.has(upTo) ? upTo : await this.#hub.reads.fetchFinalHeight(signal);
    for (let from = known + 1n; from <= upTo; from++) {
      const read = this.#read.get(from);
      if (read?.includes(chain)) return true;
      if (read !== undefined) continue;
      let to = from;
      while (to < upTo && to - from + 1n < BLOCKS_PER_READ && !this.#read.has(to + 1n)) to++;
      const events = await this.#fetchEvents(from, to, signal);
      // A node that has pruned the events of a block cannot rule out work.
      if (events === undefined) return true;
      // Blocks that are not final on the node are read again each time.
      for (let height = from; height <= lowest(to, final); height++) {
        const chains = events.filter(({ at }) => at.height === height)
          .flatMap((event) => addressee(event) ?? []);
        this.#read.set(height, chains.length === 0 ? NO_CHAINS : chains);
      }
      dropOldest(this.#read, KEPT_BLOCKS);
      if (events.some((event) => addressee(event) === chain)) return true;
      from = to;
    }
    return false;
  }

  /** Reads events; `undefined`: the node has pruned them. */
  async #fetchEvents(
    from: bigint,
    to: bigint,
    signal: AbortSignal,
  ): Promise<readonly ChainEvent[] | undefined> {
    return await this.#hub.events.fetchEvents(from, to, signal).catch(onFault(() => undefined, "pruned"));
  }
}

const NO_CHAINS: readonly StateMachine[] = [];

/** Remembered blocks: twice as many as are searched, since chains know different heights. */
const KEPT_BLOCKS = Number(2n * SEARCHED_BLOCKS);

/** Returns the chain that needs a newer height of the hub because of an event. */
function addressee(event: ChainEvent): StateMachine | undefined {
  if (event.kind === "timeoutHandled") return event.of === "post" ? event.source : undefined;
  if (event.kind !== "message") return undefined;
  const { message } = event;
  if (message.kind === "post") return message.request.dest;
  return message.kind === "getResponse" ? message.response.get.source : undefined;
}
