/**
 * A running Heimdall: a chain that makes blocks, names blocks of a Bor node in milestones, changes its validators, and
 * answers CometBFT's JSON-RPC. Start reading at {@link startHeimdall}.
 */
import { pause } from "../waiting.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { serveLocally } from "../../tests/support/test_server.ts";
import { HeimdallChain, HeimdallRefusal } from "./heimdall_chain.ts";
import type { HeimdallSigner } from "./signers.ts";

/** How it is started. */
export interface HeimdallOptions {
  readonly borChainId: number;
  /** `http://host:port` of the Bor node. */
  readonly executionUrl: string;
  /** Blocks until a validator changes. Default 20. */
  readonly blocksPerSet?: bigint;
}

/** Milliseconds between blocks. */
const BLOCK_EVERY_MS = 250;
/** Blocks of Bor that are newer than the one of a milestone: a node may still lose them. */
const UNSURE_BLOCKS = 2n;

/** Names of the parameters of the methods, in order. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  commit: ["height"],
  validators: ["height", "page", "per_page"],
  abci_query: ["path", "data", "height", "prove"],
};

/** Starts it; the first milestone is there at once. */
export async function startHeimdall(options: HeimdallOptions): Promise<Heimdall> {
  await resultHttp(options.executionUrl, "anvil_mine", ["0x4"]);
  const heimdall = new Heimdall(options);
  await heimdall.addBlock();
  await heimdall.addBlock();
  heimdall.run();
  return heimdall;
}

/** A running one. */
export class Heimdall implements AsyncDisposable {
  readonly chain: HeimdallChain;
  readonly #executionUrl: string;
  readonly #server: ReturnType<typeof serveLocally>;
  readonly #end = new AbortController();
  /** Number of the newest block of Bor that a milestone has made final. */
  #finalized = 0n;
  #work: Promise<void> = Promise.resolve();

  /** Not for callers: use {@link startHeimdall}. */
  constructor({ borChainId, executionUrl, blocksPerSet = 20n }: HeimdallOptions) {
    this.#executionUrl = executionUrl;
    const signersOf = (height: bigint): readonly HeimdallSigner[] => changingSigners(height / blocksPerSet);
    this.chain = new HeimdallChain({ borChainId, signersOf, nowMs: () => Date.now() });
    this.#server = serveLocally({}, (request) => this.#serve(request));
  }

  /** `http://127.0.0.1:<port>`. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  /** Adds a block, with a milestone if Bor has grown. */
  async addBlock(): Promise<void> {
    const head = BigInt(String(await resultHttp(this.#executionUrl, "eth_blockNumber", [])));
    const number = head - UNSURE_BLOCKS;
    if (number <= this.#finalized) return this.chain.addBlock();
    const tag = `0x${number.toString(16)}`;
    const block = await resultHttp(this.#executionUrl, "eth_getBlockByNumber", [tag, false]);
    this.#finalized = number;
    this.chain.addBlock({ number, hash: hashOf(block) });
  }

  /** Makes blocks until the end. */
  run(): void {
    this.#work = (async () => {
      while (!this.#end.signal.aborted) {
        await this.addBlock();
        await pause(BLOCK_EVERY_MS, this.#end.signal);
      }
    })();
    // Reported at the end.
    this.#work.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#server.stop();
    await this.#work;
  }

  async #serve(request: Request): Promise<Response> {
    const asked: unknown = await request.json();
    const answers = (Array.isArray(asked) ? asked : [asked]).map((call) => this.#answer(call));
    return Response.json(Array.isArray(asked) ? answers : answers[0]);
  }

  #answer(call: Call): unknown {
    const { id, method } = call;
    try {
      return { jsonrpc: "2.0", id, result: this.chain.answer(method, parametersOf(call)) };
    } catch (error) {
      if (!(error instanceof HeimdallRefusal)) throw error;
      const { code, message, data } = error;
      return { jsonrpc: "2.0", id, error: { code, message, data } };
    }
  }
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params?: readonly unknown[] | Readonly<Record<string, unknown>>;
}

/** Parameters in order, whether they were given so or by name. */
function parametersOf({ method, params = [] }: Call): readonly unknown[] {
  if (Array.isArray(params)) return params;
  const byName = new Map(Object.entries(params));
  return (PARAMETERS[method] ?? []).map((name) => byName.get(name));
}

function hashOf(block: unknown): string {
  if (typeof block === "object" && block !== null && "hash" in block) return String(block.hash);
  throw new TypeError("The Bor node has no such block");
}

/** Five validators, one of whom is another in each set. */
function changingSigners(set: bigint): readonly HeimdallSigner[] {
  const others = [1, 2, 3, 4].map((key) => ({ key, power: 100n }));
  return [...others, { key: 5 + Number(set % 32n), power: 60n }];
}
