/**
 * A running Heimdall: a chain that makes blocks, names blocks of a Bor node in milestones, changes its validators, and
 * answers CometBFT's JSON-RPC. Start reading at {@link startHeimdall}.
 */
import { pause } from "../waiting.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { serveLocally } from "../../tests/support/test_server.ts";
import { HeimdallChain, HeimdallRefusal, type NodeJson } from "./heimdall_chain.ts";
import type { HeimdallSigner } from "./signers.ts";

/** How it is started. */
export interface HeimdallOptions {
  readonly borChainId: number;
  /** `http://host:port` of the Bor node. */
  readonly executionUrl: string;
  /** Blocks until a validator changes. Default 20. */
  readonly blocksPerSet?: bigint;
}

/** Changes what is answered to a method. */
export type AlterNodeAnswer = (method: string, result: NodeJson) => NodeJson;

/** A running one. */
export interface Heimdall extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly chain: HeimdallChain;
  /** Blocks until a validator changes. */
  readonly blocksPerSet: bigint;
  /** Changes what the node answers; `undefined`: nothing. */
  alter: AlterNodeAnswer | undefined;
  /** Number of the newest block of Bor that a milestone has made final. */
  readonly finalized: bigint;
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
  const heimdall = new RunningHeimdall(options);
  await heimdall.addBlock();
  await heimdall.addBlock();
  heimdall.run();
  return heimdall;
}

class RunningHeimdall implements Heimdall {
  readonly chain: HeimdallChain;
  readonly blocksPerSet: bigint;
  alter: AlterNodeAnswer | undefined;
  readonly #options: HeimdallOptions;
  readonly #server: ReturnType<typeof serveLocally>;
  readonly #end = new AbortController();
  #isEnding = false;
  #finalized = 0n;
  #work: Promise<void> = Promise.resolve();

  constructor(options: HeimdallOptions) {
    const { borChainId, blocksPerSet = 20n } = options;
    this.#options = options;
    this.blocksPerSet = blocksPerSet;
    const signersOf = (height: bigint): readonly HeimdallSigner[] => changingSigners(height / blocksPerSet);
    this.chain = new HeimdallChain({ borChainId, signersOf, nowMs: () => Date.now() });
    this.#server = serveLocally({}, (request) => this.#serve(request));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  get finalized(): bigint {
    return this.#finalized;
  }

  /** Adds a block, with a milestone if Bor has grown. */
  async addBlock(): Promise<void> {
    const { executionUrl } = this.#options;
    const head = BigInt(String(await resultHttp(executionUrl, "eth_blockNumber", [])));
    const number = head - UNSURE_BLOCKS;
    if (number <= this.#finalized) return this.chain.addBlock();
    const block = await resultHttp(executionUrl, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
    this.#finalized = number;
    this.chain.addBlock({ number, hash: hashOf(block) });
  }

  /** Makes blocks until the end. */
  run(): void {
    this.#work = (async () => {
      while (!this.#isEnding) {
        await this.addBlock();
        await pause(BLOCK_EVERY_MS, this.#end.signal);
      }
    })();
    // Reported at the end.
    this.#work.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
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
      const result = this.chain.answer(method, parametersOf(call));
      return { jsonrpc: "2.0", id, result: this.alter?.(method, result) ?? result };
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
