/**
 * Messages that the logs of a simulated transaction report as delivered. The host swallows failing callbacks, so only
 * its own event shows that a delivery happens. Source: polytope-labs/hyperbridge: evm/src/core/EvmHost.sol.
 */
import { type Hash256, toHash256 } from "../encoding/bytes.ts";
import type { Address } from "./address.ts";
import { hostEventTopics } from "./host_abi.ts";

/** Messages that a host reports as delivered. */
export interface HandledMessages {
  /** Commitments of post requests. */
  readonly posts: ReadonlySet<Hash256>;
  /** Commitments of get REQUESTS whose responses were delivered. */
  readonly gets: ReadonlySet<Hash256>;
}

/** Fields of a log that matter here; hex in any case. */
export interface PlainLog {
  readonly address: string;
  readonly topics: readonly string[];
}

/** Collects the deliveries that one host reports. */
export class HandledLogs implements HandledMessages {
  readonly posts = new Set<Hash256>();
  readonly gets = new Set<Hash256>();
  readonly #host: Address;
  #count = 0;

  constructor(host: Address) {
    this.#host = host;
  }

  /** Number of logs seen, of any contract. */
  get count(): number {
    return this.#count;
  }

  /** Adds a log; those of other contracts and other events are only counted. */
  add(log: PlainLog): void {
    this.#count++;
    const [topic, commitment] = log.topics;
    if (log.address.toLowerCase() !== this.#host || topic === undefined || commitment?.length !== 66) return;
    if (topic.toLowerCase() === hostEventTopics.PostRequestHandled) this.posts.add(toHash256(commitment));
    if (topic.toLowerCase() === hostEventTopics.GetRequestHandled) this.gets.add(toHash256(commitment));
  }
}
