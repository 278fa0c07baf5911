/**
 * The compiled consensus relayer on a devnet: the hub's clients are created with the states that it would print, then
 * it alone tells the hub of the chains. Start reading at {@link createClients} and {@link startConsensusRelayer}.
 */
import { connectChains } from "../../src/consensus/connect.ts";
import { renderDiagnostic } from "../../src/core/config/diagnostics.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import { systemRandomness } from "../../src/core/runtime/clock.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import {
  type RelayerOptions,
  type RelayerProcess,
  startRelayer,
} from "../../tests/scenario/support/relayer_process.ts";
import { isPolkadotHub } from "../../src/core/ismp/polkadot_hub.ts";
import { toConsensusClientId } from "../../src/core/ismp/state_machine.ts";
import { RecordedLog } from "../../tests/support/recorded_log.ts";
import { type ConsensusChanges, consensusConfig, type ConsensusEndpoints } from "./consensus_config.ts";
import type { Hub } from "../hub/hub.ts";
import { clientOf } from "../hub/initial_clients.ts";

/** Rollups are proved by the client of their L1, which has a list of the chains that it proves. */
const beaconClients = [toConsensusClientId("BEAC"), toConsensusClientId("GNOS")];

/**
 * Creates a client of every chain on the hub, as its governance would from what `log-consensus-state` prints, but without
 * challenge periods. That of Polkadot Hub is there from the start.
 */
export async function createClients(
  hub: Hub,
  endpoints: ConsensusEndpoints,
): Promise<void> {
  const text = consensusConfig(endpoints);
  const { config, problems } = parseConsensusConfig({ readFile: (path) => Deno.readFileSync(path) }, text);
  if (config === undefined) {
    throw new Error(problems.map((problem) => renderDiagnostic("devnet", problem)).join("\n"));
  }
  const deps = { clock: systemClock, random: systemRandomness, log: new RecordedLog() };
  const { hub: asked, proved } = connectChains(deps, config);
  try {
    const { signal } = new AbortController();
    await Promise.all(
      proved.filter(({ chain }) => !isPolkadotHub(chain)).map(async (prover) => {
        const initial = await prover.fetchInitialState(signal);
        await Promise.all([
          hub.createConsensusClient(clientOf(prover.consensusStateId, initial)),
          hub.setChallengePeriod(prover.commitmentId, 0n),
          ...beaconClients.map((client) => hub.acceptMessages(client, prover.chain)),
        ]);
      }),
    );
  } finally {
    await Promise.allSettled([...proved.map((prover) => prover.close()), asked.close()]);
  }
}

/** How the program is started. */
interface ConsensusRelayerOptions {
  readonly changes?: ConsensusChanges;
  /** Folder of the configuration; made and taken away again when left out. */
  readonly folder?: string;
  readonly logLevel?: RelayerOptions["logLevel"];
  /** Default `json`. */
  readonly logFormat?: RelayerOptions["logFormat"];
  /** Default the program in `build`. */
  readonly executable?: string;
  /** Told each line as it comes. */
  readonly onLine?: RelayerOptions["onLine"];
  /** E.g. `["--base", "EVM-97"]`. */
  readonly extraArguments?: readonly string[];
}

/** Starts the compiled program; resolves when it works. Dispose it to end it. */
export async function startConsensusRelayer(
  endpoints: ConsensusEndpoints,
  options: ConsensusRelayerOptions = {},
): Promise<RelayerProcess> {
  const folder = options.folder ?? await Deno.makeTempDir({ prefix: "consensus-" });
  const relayer = await startRelayer({
    program: "causeway-consensus",
    config: consensusConfig(endpoints, options.changes),
    folder,
    logLevel: options.logLevel ?? "debug",
    ...options.logFormat && { logFormat: options.logFormat },
    ...options.executable && { executable: options.executable },
    ...options.onLine && { onLine: options.onLine },
    ...options.extraArguments && { extraArguments: options.extraArguments },
  });
  void relayer.ended.finally(async () => {
    if (options.folder === undefined) await Deno.remove(folder, { recursive: true });
  });
  return relayer;
}

/** How it is started. */
export interface ConsensusProcessOptions extends ConsensusRelayerOptions {
  readonly endpoints: ConsensusEndpoints;
  /** Told when the program ends by itself. */
  readonly onFault: (fault: Error) => void;
  /** Called with the process, so that the caller can end it in a hurry. */
  readonly onStarted?: ((started: RelayerProcess) => void) | undefined;
}

/** A consensus relayer ended by itself; the message holds its last lines. */
class ConsensusEnded extends Error {
  override readonly name = "ConsensusEnded";
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
