/**
 * A node whose headers are made again: a JSON-RPC proxy in front of an anvil that shows the chain of
 * `rewritten_headers.ts`. Everything else (states, proofs, transactions, logs) is the node's own.
 * Start reading at {@link startHeaderRewriter}.
 */
import { headerJson, type HeaderRule, RewrittenHeaders } from "./rewritten_headers.ts";
import { listenPreferably } from "../kept_port.ts";
import { serveLocally, type TestServer } from "../../tests/support/test_server.ts";

/** What a result of the node becomes. */
export type AnswerRule = (
  call: { readonly method: string; readonly params: readonly unknown[] },
  result: unknown,
) => Promise<unknown>;

/** How a rewriter is started. */
export interface HeaderRewriterOptions {
  /** `http://host:port` of the node. */
  readonly upstream: string;
  readonly rule: HeaderRule;
  /** What else is told in another way than by the node. */
  readonly answers?: AnswerRule;
  /** Methods that the shown node does not have. */
  readonly lacks?: ReadonlySet<string>;
  /** One to use where it is free. Unset: any. */
  readonly port?: number;
}

/** A running rewriter. */
export interface HeaderRewriter extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:<port>`. */
  readonly rpcUrl: string;
  /** What is shown so far; grows with each request. */
  readonly headers: RewrittenHeaders;
  /** Makes the headers up to the node's head; returns the number of the head. */
  catchUp(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a rewriter; the chain so far is made at once. */
export async function startHeaderRewriter(options: HeaderRewriterOptions): Promise<HeaderRewriter> {
  const rewriter = new RunningRewriter(options);
  await rewriter.catchUp();
  return rewriter;
}

type JsonObject = { [name: string]: unknown };

const HASH = /^0x[0-9a-f]{64}$/;
/** Blocks asked for in one request. */
const BATCH = 200;

class RunningRewriter implements HeaderRewriter {
  readonly headers: RewrittenHeaders;
  readonly #upstream: string;
  readonly #answers: AnswerRule | undefined;
  readonly #lacks: ReadonlySet<string>;
  readonly #server: TestServer;
  #catching: Promise<number> | undefined;

  constructor({ upstream, rule, answers, lacks, port }: HeaderRewriterOptions) {
    this.#upstream = upstream;
    this.#answers = answers;
    this.#lacks = lacks ?? new Set();
    this.headers = new RewrittenHeaders(rule);
    this.#server = listenPreferably(
      port ?? 0,
      (port) => serveLocally({ port }, (request) => this.#serve(request)),
    );
  }

  get port(): number {
    return this.#server.port;
  }

  get rpcUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  catchUp(): Promise<number> {
    this.#catching ??= this.#follow().finally(() => this.#catching = undefined);
    return this.#catching;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #follow(): Promise<number> {
    const head = Number(await this.#ask("eth_blockNumber", []));
    const last = Math.min(head, this.headers.length - 1);
    if (last >= 0) {
      const [block] = await this.#blocks(last, last);
      if (block?.hash !== this.headers.at(last)?.nodeHash) await this.#cutToFork(last);
    }
    this.headers.cut(head + 1);
    while (this.headers.length <= head) {
      const from = this.headers.length;
      for (const block of await this.#blocks(from, Math.min(head, from + BATCH - 1))) {
        if (this.headers.append(block, String(block.hash))) continue;
        await this.#cutToFork(this.headers.length - 1);
        break;
      }
    }
    return head;
  }

  /** Forgets what the node does not have any more. */
  async #cutToFork(from: number): Promise<void> {
    for (let number = from; number >= 0; number--) {
      const [block] = await this.#blocks(number, number);
      if (block?.hash === this.headers.at(number)?.nodeHash) return;
      this.headers.cut(number);
    }
  }

  async #blocks(from: number, to: number): Promise<JsonObject[]> {
    const calls = Array.from({ length: to - from + 1 }, (_, at) => ({
      jsonrpc: "2.0",
      id: at,
      method: "eth_getBlockByNumber",
      params: [`0x${(from + at).toString(16)}`, false],
    }));
    const answers: unknown = JSON.parse(await this.#post(JSON.stringify(calls)));
    if (!Array.isArray(answers)) throw new Error("The node does not answer batches");
    return answers.map((answer: unknown) => {
      const block = isObject(answer) ? answer["result"] : undefined;
      if (!isObject(block)) throw new Error(`The node has no block between ${from} and ${to}`);
      return block;
    });
  }

  async #ask(method: string, params: readonly unknown[]): Promise<unknown> {
    const answer: unknown = JSON.parse(
      await this.#post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })),
    );
    if (!isObject(answer) || !("result" in answer)) throw new Error(`The node refused ${method}`);
    return answer["result"];
  }

  async #post(body: string): Promise<string> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(this.#upstream, { method: "POST", headers, body });
    return await response.text();
  }

  async #serve(request: Request): Promise<Response> {
    try {
      const asked: unknown = JSON.parse(await request.text());
      const answer: unknown = JSON.parse(await this.#post(JSON.stringify(this.#toNode(asked))));
      // The answer may speak of a block that was not there yet when the question came.
      await this.catchUp();
      return Response.json(this.#fromNode(await this.#changed(asked, answer)));
    } catch (error) {
      // As a gateway whose node is gone.
      return new Response(error instanceof Error ? error.message : String(error), { status: 502 });
    }
  }

  /** The answer with the results that are told in another way. */
  async #changed(asked: unknown, answer: unknown): Promise<unknown> {
    if (this.#answers === undefined && this.#lacks.size === 0) return answer;
    if (Array.isArray(asked) && Array.isArray(answer)) {
      const answers: readonly unknown[] = answer;
      const ofCall = (call: unknown): unknown =>
        answers.find((each) => isObject(each) && isObject(call) && each["id"] === call["id"]);
      return await Promise.all(asked.map((call: unknown) => this.#changed(call, ofCall(call))));
    }
    if (!isObject(asked) || !isObject(answer)) return answer;
    const { method, params } = asked;
    if (this.#lacks.has(String(method))) {
      return { jsonrpc: "2.0", id: asked["id"], error: { code: -32601, message: "Method not found" } };
    }
    if (this.#answers === undefined || !("result" in answer)) return answer;
    const call = { method: String(method), params: Array.isArray(params) ? params : [] };
    return { ...answer, result: await this.#answers(call, answer["result"]) };
  }

  /** Hashes of ours become those of the node. */
  #toNode(value: unknown): unknown {
    if (typeof value === "string") return HASH.test(value) ? this.headers.nodeHashOf(value) ?? value : value;
    if (Array.isArray(value)) return value.map((each) => this.#toNode(each));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.#toNode(each)]));
  }

  /** Hashes of the node become ours, and blocks get our headers. */
  #fromNode(value: unknown): unknown {
    if (typeof value === "string") return HASH.test(value) ? this.headers.hashOf(value) ?? value : value;
    if (Array.isArray(value)) return value.map((each) => this.#fromNode(each));
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(([name, each]) => [name, this.#fromNode(each)] as const);
    const isBlock = "stateRoot" in value && "parentHash" in value && typeof value["number"] === "string";
    const own = isBlock ? this.headers.at(Number(value["number"])) : undefined;
    if (own === undefined || own.nodeHash !== value["hash"]) return Object.fromEntries(entries);
    const shown = new Map<string, unknown>(entries);
    for (const [name, text] of Object.entries(headerJson(own))) {
      if (text === undefined) shown.delete(name);
      else shown.set(name, text);
    }
    return Object.fromEntries(shown);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
