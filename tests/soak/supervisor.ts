/** Keeps a relayer's process running, as systemd does: one that ends is started again unless somebody holds it down. */
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { pause } from "../../devnet/waiting.ts";
import type { RelayerOptions } from "../scenario/support/relayer_process.ts";
import type { SceneRelayer } from "../scenario/support/scene.ts";

/** Between two looks at whether the process runs. */
const EVERY_MS = 500;

/** How a process ended that nobody had ended. */
export interface UnaskedEnd {
  readonly code: number;
  readonly lastLine: string;
}

/** See the head of the file. */
export class Supervisor implements AsyncDisposable {
  /** Ends that nobody asked for, in order. */
  readonly unasked: UnaskedEnd[] = [];
  readonly #relayer: SceneRelayer;
  readonly #changes: ConfigChanges;
  readonly #options: Partial<RelayerOptions>;
  readonly #stopped = new AbortController();
  #watching: Promise<void> = Promise.resolve();
  /** Troubles that keep the process down. */
  #holds = 0;

  constructor(relayer: SceneRelayer, changes: ConfigChanges, options: Partial<RelayerOptions>) {
    this.#relayer = relayer;
    this.#changes = changes;
    this.#options = options;
  }

  /** Starts the first process and waits until it works. */
  async start(): Promise<void> {
    await this.#relayer.startAndWait(this.#changes, this.#options);
    this.#watching = this.#watch();
  }

  /** Ends the process, in order or at once, and holds it down. */
  async takeDown(how: "stop" | "kill"): Promise<void> {
    this.#holds++;
    const { process } = this.#relayer;
    if (how === "kill") await process.kill();
    else if (process.isRunning) await process.terminate();
  }

  /** Undoes {@link takeDown}. */
  letUp(): void {
    this.#holds--;
  }

  async #watch(): Promise<void> {
    for (; !this.#stopped.signal.aborted; await pause(EVERY_MS)) {
      const { process } = this.#relayer;
      if (process.isRunning || this.#holds > 0) continue;
      const { code } = await process.ended;
      if (code !== 0 && code !== 137) this.unasked.push({ code, lastLine: process.tail(1) });
      await this.#relayer.start(this.#changes, this.#options);
    }
  }

  /** Starts no process any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#watching;
  }
}
