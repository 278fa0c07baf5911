/**
 * A direction of updates that the compiled consensus relayer serves, which a test can hold up by signals. What differs
 * between directions is their ends: see `proven_chain_feed.ts` and `hub_follower_feed.ts`.
 */
import type { ConsensusProcess } from "../programs/consensus_process.ts";
import type { Hub } from "../hub/hub.ts";
import type { Direction, UpdateFeed } from "./oracle.ts";
import { Patience, pause, WaitFault } from "../waiting.ts";

/** The ends of a direction. */
export interface FeedEnds {
  readonly direction: Direction;
  /** Chain that receives the proofs. */
  readonly receiver: Pick<Hub, "finalized">;
  /** Height of the sender that the receiver knows, 0 for none. */
  last(): bigint;
  /** The newest height of the sender. */
  newest(): bigint | Promise<bigint>;
  /** Advances the sender step by step until that height can be proved. */
  makeFinal?(wanted: bigint): Promise<void>;
}

/** Blocks of the receiver after which what was in its pool is in a block. */
const QUIET_BLOCKS = 2;
const POLL_EVERY_MS = 50;
/** Between two polls of {@link ProgramFeed.step}: the sender may be advanced each time. */
const STEP_EVERY_MS = 200;

/** A direction with the program that serves it. */
export class ProgramFeed implements UpdateFeed {
  readonly #ends: FeedEnds;
  readonly #process: ConsensusProcess;
  #isPaused = true;

  /** @param process holding up one that several directions share holds up all of them. */
  constructor(ends: FeedEnds, process: ConsensusProcess) {
    this.#ends = ends;
    this.#process = process;
  }

  get direction(): Direction {
    return this.#ends.direction;
  }

  get last(): bigint {
    return this.#ends.last();
  }

  start(): void {
    this.resume();
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    const { receiver } = this.#ends;
    await this.#process.hold();
    const from = receiver.finalized.number;
    while (receiver.finalized.number < from + QUIET_BLOCKS) await pause(POLL_EVERY_MS);
  }

  resume(): void {
    this.#isPaused = false;
    void this.#process.run();
  }

  /** Waits until the receiver knows the sender's newest block; paused before, paused afterwards. */
  async step(): Promise<bigint> {
    const wasPaused = this.#isPaused;
    const { direction, newest, makeFinal } = this.#ends;
    const wanted = await newest();
    const patience = new Patience();
    await this.#process.run();
    while (this.last < wanted) {
      if (patience.isOver) {
        throw new WaitFault(`${direction.to} has block ${wanted} of ${direction.from}`, patience);
      }
      await makeFinal?.(wanted);
      await pause(STEP_EVERY_MS);
    }
    if (wasPaused) await this.pause();
    return this.last;
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }
}
