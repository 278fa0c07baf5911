/** Counts and times of messages per route, read from the receipts of the destinations. */
import { parseEvents } from "../hub/rpc/ismp_json.ts";
import { stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import type { Devnet, DevnetChain } from "../devnet.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { table } from "./progress.ts";
import type { DevnetSubstrateChain } from "../chains/substrate_chains.ts";
import {
  delivered,
  DeliveryFault,
  type PingOptions,
  sendPing,
  type SentMessage,
} from "../traffic/messages.ts";
import { Patience, pause } from "../waiting.ts";

/** Time between two polls at the hub's events. */
const POLL_HUB_EVERY_MS = 500;

/** What is known of one chain. */
interface Accepted {
  updates: number;
  newest: bigint;
}

/** Counts updates from the hub's first block on. */
export class UpdateBoard {
  readonly #devnet: Pick<Devnet, "hub" | "chains" | "substrateChains" | "idOnHub">;
  readonly #accepted = new Map<string, Accepted>();
  /** Last block of the hub that was read. */
  #read = 0;
  /** Looks do not overlap: each block counts once. */
  #looking: Promise<void> = Promise.resolve();

  constructor(devnet: Pick<Devnet, "hub" | "chains" | "substrateChains" | "idOnHub">) {
    this.#devnet = devnet;
  }

  /** Reads what is new. */
  look(): Promise<void> {
    const look = this.#looking.then(() => this.#poll());
    this.#looking = look.catch(() => undefined);
    return look;
  }

  /** Looks until `signal` is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      await new Promise((resolve) => setTimeout(resolve, POLL_HUB_EVERY_MS));
    }
  }

  get #chains(): readonly (DevnetChain | DevnetSubstrateChain)[] {
    return [...this.#devnet.chains, ...this.#devnet.substrateChains];
  }

  /** Number of updates of a chain that gave the hub a newer height. */
  updatesOf(chain: DevnetChain | DevnetSubstrateChain): number {
    return this.#of(chain).updates;
  }

  /** A line per chain. */
  lines(): string[] {
    return this.#chains.map((chain) => {
      const { updates, newest } = this.#of(chain);
      return `hub's view of ${chain.name}  updates ${updates}, height ${newest}`;
    });
  }

  /** The table at the end. */
  summary(): string[] {
    return table([
      ["the hub's view of", "accepted updates", "newest height"],
      ...this.#chains.map((chain) => {
        const { updates, newest } = this.#of(chain);
        return [`${chain.name} (${chain.stateMachine})`, `${updates}`, `${newest}`];
      }),
    ]);
  }

  #of(chain: DevnetChain | DevnetSubstrateChain): Accepted {
    return this.#accepted.get(stateMachineIdKey(this.#devnet.idOnHub(chain))) ?? { updates: 0, newest: 0n };
  }

  async #poll(): Promise<void> {
    const { hub } = this.#devnet;
    const last = hub.best.number;
    if (last <= this.#read) return;
    const events = parseEvents(
      await resultHttp(hub.httpUrl, "ismp_queryEventsWithMetadata", [this.#read + 1, last]),
    );
    this.#read = last;
    for (const { decoded } of events) {
      if (decoded.kind !== "event" || decoded.event.tag !== "StateMachineUpdated") continue;
      const { stateMachineId, latestHeight } = decoded.event.value;
      const key = stateMachineIdKey(stateMachineId);
      const known = this.#accepted.get(key) ?? { updates: 0, newest: 0n };
      const newest = latestHeight > known.newest ? latestHeight : known.newest;
      this.#accepted.set(key, { updates: known.updates + 1, newest });
    }
  }
}

/** Time between two polls at the receipts. */
const POLL_EVERY_MS = 250;
const END_GRACE_MS = 200;

/** One way that messages go. */
interface Route {
  readonly name: string;
  /** How many there will be at least. */
  planned: number;
  readonly sent: SentMessage[];
  readonly open: Set<SentMessage>;
  /** Seconds from mined to seen delivered. */
  readonly seconds: number[];
}

/** Smallest, middle and largest of some numbers. */
export function spreadOf(
  numbers: readonly number[],
): { readonly min: number; readonly median: number; readonly max: number } | undefined {
  const sorted = [...numbers].sort((a, b) => a - b);
  const [min] = sorted;
  const [max] = sorted.slice(-1);
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  const high = sorted[Math.ceil((sorted.length - 1) / 2)];
  if (min === undefined || max === undefined || low === undefined || high === undefined) return undefined;
  return { min, median: (low + high) / 2, max };
}

/** Sends messages and keeps count of them. */
export class RouteBoard {
  readonly #devnet: Devnet;
  readonly #routes = new Map<string, Route>();

  constructor(devnet: Devnet) {
    this.#devnet = devnet;
  }

  /** Puts a route on the board before its messages are sent. */
  plan(options: Pick<PingOptions, "from" | "to"> & { readonly count: number }): void {
    this.#route(options).planned += options.count;
  }

  /** Sends messages; they are on the board when it resolves. */
  async send(options: PingOptions): Promise<void> {
    const route = this.#route(options);
    for (const message of await sendPing(this.#devnet, options)) {
      route.sent.push(message);
      route.open.add(message);
    }
  }

  /** Looks at the receipts until `signal` is aborted; rejects when a chain cannot be read. */
  async follow(
    options: { readonly signal: AbortSignal; readonly onChange: () => void },
  ): Promise<void> {
    while (!options.signal.aborted) {
      try {
        await this.#poll();
      } catch (error) {
        // Ctrl-C on a terminal ends the nodes at the same moment, perhaps a little earlier.
        await pause(END_GRACE_MS);
        if (!options.signal.aborted) throw error;
      }
      options.onChange();
      await pause(POLL_EVERY_MS);
    }
  }

  /**
   * Resolves when every message that was sent so far is delivered; {@link follow} looks.
   * @throws {DeliveryFault} when none arrives for a while.
   */
  async untilAllDelivered(): Promise<void> {
    const patience = new Patience();
    for (let before = Infinity;;) {
      const open = this.#open();
      if (open.length === 0) return;
      if (open.length < before) patience.renew();
      before = open.length;
      if (patience.isOver) throw new DeliveryFault(open, patience.limitMs);
      await pause(POLL_EVERY_MS);
    }
  }

  /** A line per route. */
  lines(): string[] {
    const routes = [...this.#routes.values()];
    const width = Math.max(0, ...routes.map(({ name }) => name.length));
    return routes.map(({ name, planned, sent, seconds }) =>
      `${name.padEnd(width)}  delivered ${seconds.length}/${Math.max(planned, sent.length)}`
    );
  }

  /** The table at the end. */
  summary(): string[] {
    const routes = [...this.#routes.values()];
    return table([
      ["route", "sent", "delivered", "seconds each: min", "median", "max"],
      ...routes.map(({ name, sent, seconds }) => {
        const times = spreadOf(seconds);
        return [
          name,
          `${sent.length}`,
          `${seconds.length}`,
          ...[times?.min, times?.median, times?.max].map((each) => each?.toFixed(1) ?? "-"),
        ];
      }),
    ]);
  }

  #route({ from, to }: Pick<PingOptions, "from" | "to">): Route {
    const name = `${from} -> ${to}`;
    const known = this.#routes.get(name);
    if (known !== undefined) return known;
    const route: Route = { name, planned: 0, sent: [], open: new Set(), seconds: [] };
    this.#routes.set(name, route);
    return route;
  }

  #open(): SentMessage[] {
    return [...this.#routes.values()].flatMap(({ open }) => [...open]);
  }

  async #poll(): Promise<void> {
    const arrived = new Set(await delivered(this.#devnet, this.#open()));
    const nowMs = Date.now();
    for (const route of this.#routes.values()) {
      for (const message of route.open) {
        if (!arrived.has(message)) continue;
        route.open.delete(message);
        route.seconds.push((nowMs - message.sentAtMs) / 1000);
      }
    }
  }
}
