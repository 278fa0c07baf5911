/** How a Substrate chain of a devnet learns of the hub by the compiled consensus relayer, which a test can hold up. */
import type { ConsensusProcess } from "./consensus_process.ts";
import type { Hub } from "./hub/hub.ts";
import type { Direction, UpdateFeed } from "./oracle.ts";
import type { DevnetSubstrateChain } from "./substrate_chains.ts";

/** What a feed works with. */
export interface ToldFeedOptions {
  readonly chain: DevnetSubstrateChain;
  readonly hub: Hub;
  /** Holding up one that several chains share holds up all of them. */
  readonly process: ConsensusProcess;
}

/** Longest wait for the chain to learn of a block of the hub. */
const DEADLINE_MS = 60_000;
/** Blocks after which what was in the chain's pool is in a block. */
const QUIET_BLOCKS = 2;
const LOOK_EVERY_MS = 50;

/** The direction from the hub to a chain. */
export class ToldFeed implements UpdateFeed {
  readonly direction: Direction;
  readonly #options: ToldFeedOptions;
  #isPaused = true;

  constructor(options: ToldFeedOptions) {
    this.#options = options;
    this.direction = { from: options.hub.identity.stateMachine, to: options.chain.stateMachine };
  }

  get last(): bigint {
    const { chain, hub } = this.#options;
    return chain.node.latestHeight(hub.identity) ?? 0n;
  }

  start(): void {
    this.resume();
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    const { node } = this.#options.chain;
    await this.#options.process.hold();
    const from = node.best.number;
    while (node.best.number < from + QUIET_BLOCKS) await pause(LOOK_EVERY_MS);
  }

  resume(): void {
    this.#isPaused = false;
    void this.#options.process.run();
  }

  /** Waits until the chain knows what is final on the hub now; paused before, paused afterwards. */
  async step(): Promise<bigint> {
    const wasPaused = this.#isPaused;
    const { chain, hub, process } = this.#options;
    const wanted = BigInt(hub.finalized.number);
    const until = performance.now() + DEADLINE_MS;
    await process.run();
    while (this.last < wanted) {
      if (performance.now() > until) {
        throw new Error(`${chain.stateMachine} did not learn of block ${wanted} of the hub`);
      }
      await pause(LOOK_EVERY_MS);
    }
    if (wasPaused) await this.pause();
    return this.last;
  }

  async stop(): Promise<void> {
    await this.#options.process.stop();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
