/** Counts and times of messages per route, read from the receipts of the destinations. */
import type { Devnet } from "../devnet.ts";
import { table } from "./progress.ts";
import {
  delivered,
  DeliveryFault,
  type PingOptions,
  sendPing,
  type SentMessage,
} from "../traffic/messages.ts";
import { Patience, pause } from "../waiting.ts";

/** A chain as the hub knows it. */
export interface HubView {
  readonly chain: string;
  /** Newest height that the hub has accepted; 0: none. */
  readonly height: bigint;
}

/** What the hub knows of all chains, in their order. */
export function hubViews(devnet: Devnet): readonly HubView[] {
  return [...devnet.chains, ...devnet.substrateChains].map((chain) => ({
    chain: `${chain.name} (${chain.stateMachine})`,
    height: devnet.hub.latestHeight(devnet.idOnHub(chain)) ?? 0n,
  }));
}

/** The table of what the hub has learned. */
export function hubViewTable(before: readonly HubView[], now: readonly HubView[]): string[] {
  return table([
    ["the hub's view of", "height at the start", "newest height"],
    ...now.map(({ chain, height }, at) => [chain, `${before[at]?.height}`, `${height}`]),
  ]);
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
