/** What the hub has accepted about each chain, read from its events: how many updates, and up to which height. */
import { parseEvents } from "../hub/rpc/ismp_json.ts";
import { stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import type { Devnet, DevnetChain } from "../devnet.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { table } from "./progress.ts";
import type { DevnetSubstrateChain } from "../chains/substrate_chains.ts";

/** Time between two polls at the hub's events. */
const POLL_EVERY_MS = 500;

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
      await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
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
