/**
 * The compiled consensus relayer as a part of a devnet: started when somebody first needs it, stopped and continued by
 * signals, and told about when it ends by itself.
 */
import type { RelayerProcess } from "../../tests/scenario/support/relayer_process.ts";
import type { ConsensusEndpoints } from "./consensus_config.ts";
import { type ConsensusRelayerOptions, startConsensusRelayer } from "./consensus_relayer.ts";

/** How it is started. */
export interface ConsensusProcessOptions extends ConsensusRelayerOptions {
  readonly endpoints: ConsensusEndpoints;
  /** Told when the program ends by itself. */
  readonly onFault: (fault: Error) => void;
  /** Called with the process, so that the caller can end it in a hurry. */
  readonly onStarted?: ((started: RelayerProcess) => void) | undefined;
}

/** A consensus relayer ended by itself; the message holds its last lines. */
export class ConsensusEnded extends Error {
  override readonly name = "ConsensusEnded";
  readonly code = "consensus_ended";
}

/** How long the program may take to end in order. */
const STOP_MS = 5_000;

/** One process, which proves all chains of its configuration. */
export class ConsensusProcess {
  readonly #options: ConsensusProcessOptions;
  #process: Promise<RelayerProcess> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: ConsensusProcessOptions) {
    this.#options = options;
  }

  /** Starts it, or lets it continue. */
  async run(): Promise<void> {
    this.#process ??= this.#launch();
    (await this.#process).signal("SIGCONT");
  }

  /** Stops it where it is, until {@link run}. */
  async hold(): Promise<void> {
    (await this.#process)?.signal("SIGSTOP");
  }

  /** Ends it in order, or at once when that takes long. Safe to call often: the program is told once. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const process = await this.#process?.catch(() => undefined);
    if (process?.isRunning !== true) return;
    process.signal("SIGCONT");
    await process.terminate(STOP_MS).catch(() => process.kill());
  }

  async #launch(): Promise<RelayerProcess> {
    const { endpoints, onFault, onStarted, ...options } = this.#options;
    const process = await startConsensusRelayer(endpoints, options);
    onStarted?.(process);
    void process.ended.then(({ code }) => {
      if (this.#stopped !== undefined) return;
      const { only } = options.changes ?? {};
      const what = only === undefined ? "" : ` of ${only.join(", ")}`;
      onFault(new ConsensusEnded(`The consensus relayer${what} ended with ${code}:\n${process.tail(20)}`));
    });
    return process;
  }
}
