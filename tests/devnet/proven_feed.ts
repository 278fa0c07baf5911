/**
 * How the hub of a devnet learns of one of its chains: by the compiled consensus relayer, which a test can hold up by
 * signals. Either each chain has a process of its own, so that just its updates are held up, or all share one.
 */
import type { StateMachineId } from "../../src/core/protocol/ismp/state_machine.ts";
import type { ConsensusProcess } from "./consensus_process.ts";
import type { Hub } from "./hub/hub.ts";
import type { Direction, UpdateFeed } from "./oracle.ts";
import type { ProvenChain } from "./proven_chains.ts";

/** What a feed works with. */
export interface ProvenFeedOptions {
  readonly chain: ProvenChain;
  readonly hub: Hub;
  /** Holding up one that several chains share holds up all of them. */
  readonly process: ConsensusProcess;
}

/** Longest wait for the hub to learn of a block. */
const DEADLINE_MS = 60_000;
/** Blocks after which what was in the hub's pool is in a block. */
const QUIET_BLOCKS = 2;
const LOOK_EVERY_MS = 50;

/** The direction from a chain to the hub. */
export class ProvenFeed implements UpdateFeed {
  readonly direction: Direction;
  readonly #options: ProvenFeedOptions;
  readonly #id: StateMachineId;
  #isPaused = true;

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
    this.resume();
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    const { hub, process } = this.#options;
    await process.hold();
    const from = hub.finalizedHeader.number;
    while (hub.finalizedHeader.number < from + QUIET_BLOCKS) await pause(LOOK_EVERY_MS);
  }

  resume(): void {
    this.#isPaused = false;
    void this.#options.process.run();
  }

  /** Makes the newest block of the chain final, and waits until the hub knows it; paused before, paused afterwards. */
  async step(): Promise<bigint> {
    const wasPaused = this.#isPaused;
    const { chain, process } = this.#options;
    const wanted = await newestOf(chain);
    const until = performance.now() + DEADLINE_MS;
    await process.run();
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
    await this.#options.process.stop();
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
