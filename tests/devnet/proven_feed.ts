/**
 * A compiled consensus relayer of its own for one chain of a devnet, so that a test can hold up what the hub learns of
 * just this chain: the process is stopped and continued by signals.
 */
import type { StateMachineId } from "../../src/core/protocol/ismp/state_machine.ts";
import type { RelayerProcess } from "../scenario/support/relayer_process.ts";
import type { ConsensusEndpoints } from "./consensus_config.ts";
import { startConsensusRelayer } from "./consensus_relayer.ts";
import type { Hub } from "./hub/hub.ts";
import type { Direction, UpdateFeed } from "./oracle.ts";
import type { ProvenChain } from "./proven_chains.ts";

/** What a feed works with. */
export interface ProvenFeedOptions {
  readonly chain: ProvenChain;
  readonly hub: Hub;
  readonly endpoints: ConsensusEndpoints;
  /** Told when the program ends by itself. */
  readonly onFault: (fault: Error) => void;
}

/** Longest wait for the hub to learn of a block. */
const DEADLINE_MS = 60_000;
/** Blocks after which what was in the hub's pool is in a block. */
const QUIET_BLOCKS = 2;
const LOOK_EVERY_MS = 50;
/** How long the program may take to end in order. */
const STOP_MS = 5_000;

/** The direction from a chain to the hub. */
export class ProvenFeed implements UpdateFeed {
  readonly direction: Direction;
  readonly #options: ProvenFeedOptions;
  readonly #id: StateMachineId;
  #process: Promise<RelayerProcess> | undefined;
  #isPaused = true;
  #isStopping = false;

  constructor(options: ProvenFeedOptions) {
    const { chain, hub } = options;
    this.#options = options;
    this.direction = { from: chain.stateMachine, to: hub.identity.stateMachine };
    this.#id = { stateMachine: chain.stateMachine, consensusStateId: chain.consensusStateId };
  }

  get last(): bigint {
    return this.#options.hub.latestHeight(this.#id) ?? 0n;
  }

  start(): void {
    this.#isPaused = false;
    void this.#run();
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    (await this.#process)?.signal("SIGSTOP");
    const { hub } = this.#options;
    const from = hub.finalizedHeader.number;
    while (hub.finalizedHeader.number < from + QUIET_BLOCKS) await pause(LOOK_EVERY_MS);
  }

  resume(): void {
    this.#isPaused = false;
    void this.#run();
  }

  /** Makes the newest block of the chain final, and waits until the hub knows it; paused before, paused afterwards. */
  async step(): Promise<bigint> {
    const wasPaused = this.#isPaused;
    const { chain } = this.#options;
    const wanted = await newestOf(chain);
    const until = performance.now() + DEADLINE_MS;
    await this.#run();
    while (this.last < wanted) {
      if (performance.now() > until) {
        throw new Error(`The hub did not learn of block ${wanted} of ${chain.stateMachine}`);
      }
      await makeFinal(chain, wanted);
      await pause(LOOK_EVERY_MS * 4);
    }
    if (wasPaused) await this.pause();
    return this.last;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const process = await this.#process?.catch(() => undefined);
    if (process?.isRunning !== true) return;
    process.signal("SIGCONT");
    await process.terminate(STOP_MS).catch(() => process.kill());
  }

  /** The process, running. */
  async #run(): Promise<void> {
    this.#process ??= this.#launch();
    const process = await this.#process;
    if (process.isRunning) process.signal("SIGCONT");
  }

  async #launch(): Promise<RelayerProcess> {
    const { chain, endpoints, onFault } = this.#options;
    const process = await startConsensusRelayer(endpoints, { changes: { only: [chain.stateMachine] } });
    void process.ended.then(({ code }) => {
      if (this.#isStopping) return;
      onFault(
        new Error(`The consensus relayer of ${chain.stateMachine} ended with ${code}:\n${process.tail(20)}`),
      );
    });
    return process;
  }
}

async function newestOf({ node }: Pick<ProvenChain, "node">): Promise<bigint> {
  return BigInt(String(await ask(node.rpcUrl, "eth_blockNumber", [])));
}

/** With a block per transaction nobody else makes the blocks on top. */
async function makeFinal({ beacon, node, kind }: ProvenChain, wanted: bigint): Promise<void> {
  if (kind === "beacon") await beacon?.finalize(Number(wanted));
  else if (await newestOf({ node }) < wanted + 4n) await ask(node.rpcUrl, "anvil_mine", ["0x4"]);
}

async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const answer: { readonly result?: unknown } = await response.json();
  return answer.result;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
