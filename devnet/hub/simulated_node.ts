/** What every simulated Substrate node does: it makes blocks on a timer and serves RPC on a port that stays its own. */
import type { SimulatedBlock } from "./block_history.ts";
import type { SimulatedHeader } from "./digest.ts";
import type { BlockName } from "./hub_options.ts";
import type { ServedChain } from "./blocks.ts";
import { type AnswerHook, type RpcHooks, RpcServer, type ServedRpc } from "./rpc/server.ts";
import type { FaultHook } from "./rpc/json_rpc.ts";

/** What a node serves. */
export interface Serving extends Omit<ServedRpc, "hooks"> {
  /** Port of 127.0.0.1 to use where it is free; undefined or 0: any. */
  readonly port?: number;
}

/** A node of a chain without forks; see above. */
export abstract class SimulatedNode implements AsyncDisposable, RpcHooks {
  fault: FaultHook | undefined;
  alter: AnswerHook | undefined;
  missingMethods: ReadonlySet<string> = new Set();
  readonly callCounts = new Map<string, number>();
  readonly #blockTimeMs: number | "manual";
  #server!: RpcServer;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param blockTimeMs milliseconds between blocks; "manual": blocks come when they are asked for. */
  constructor(blockTimeMs: number | "manual") {
    this.#blockTimeMs = blockTimeMs;
  }

  /** The chain that is served. */
  protected abstract readonly chain: ServedChain;

  /** Makes one block now. */
  abstract produceBlock(): BlockName;

  /** Names what is served; called once, when the parts of the node exist. */
  protected serve({ port, ...options }: Serving): void {
    this.#server = new RpcServer({ ...options, hooks: this }, port);
  }

  /** Port on 127.0.0.1; the same after a restart. */
  get port(): number {
    return this.#server.port;
  }

  /** Endpoint for HTTP. */
  get httpUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Endpoint for WebSocket. */
  get wsUrl(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  /** Newest block. */
  get best(): BlockName {
    return nameOf(this.chain.best);
  }

  /** Newest final block. */
  get finalized(): BlockName {
    return nameOf(this.chain.finalized);
  }

  /** Header of a block. @throws {ChainError} for blocks that do not exist. */
  header(block: number): SimulatedHeader {
    return this.chain.blockAt(block).header;
  }

  /** Opens the port and begins to make blocks. Also after {@link stop}, with the state as it was. */
  async start(): Promise<void> {
    if (this.#server.isRunning) return;
    await this.#server.start();
    this.resumeBlocks();
  }

  /** Closes the port and all connections and makes no more blocks; the state stays. */
  async stop(): Promise<void> {
    this.pauseBlocks();
    await this.#server.stop();
  }

  /** {@link stop} for good: the port is given back. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.pauseBlocks();
    await this.#server[Symbol.asyncDispose]();
  }

  /** Makes no blocks until {@link resumeBlocks}; the endpoint continues. */
  pauseBlocks(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Makes blocks again (not in manual mode). */
  resumeBlocks(): void {
    const delayMs = this.#blockTimeMs;
    if (delayMs === "manual" || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.produceBlock();
      this.resumeBlocks();
    }, delayMs);
  }
}

/** Number and hash of a block. */
export function nameOf({ header, hash }: SimulatedBlock): BlockName {
  return { number: header.number, hash };
}
