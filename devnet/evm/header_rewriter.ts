/**
 * A node whose headers are made again: a JSON-RPC proxy in front of an anvil that shows the chain of
 * a network. Everything else (states, proofs, transactions, logs) is the node's own.
 * Start reading at {@link startHeaderRewriter}.
 */
import { type Hash256, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { type EvmBlockHeader, hashBlockHeader, parseBlockHeader } from "../../src/core/evm/block_header.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { listenPreferably } from "../kept_port.ts";
import { serveLocally, type TestServer } from "../../tests/support/test_server.ts";

/** A header that was made again. */
export interface RewrittenHeader {
  readonly header: EvmBlockHeader;
  readonly hash: Hash256;
  /** Hash that the node knows it by. */
  readonly nodeHash: Hash256;
}

/**
 * What a header becomes. The parent's hash is put in afterwards.
 * @param earlier the headers made so far, by number; the parent is the last one.
 */
export type HeaderRule = (header: EvmBlockHeader, earlier: readonly RewrittenHeader[]) => EvmBlockHeader;

/** The chain made so far. Block 0 is the first. */
class RewrittenHeaders {
  readonly #rule: HeaderRule;
  readonly #headers: RewrittenHeader[] = [];
  readonly #byHash = new Map<string, RewrittenHeader>();
  readonly #byNodeHash = new Map<string, RewrittenHeader>();

  constructor(rule: HeaderRule) {
    this.#rule = rule;
  }

  /** Number of blocks; the next one has this number. */
  get length(): number {
    return this.#headers.length;
  }

  at(number: number): RewrittenHeader | undefined {
    return this.#headers[number];
  }

  /** Hash by which the node knows a block of ours. */
  nodeHashOf(hash: string): Hash256 | undefined {
    return this.#byHash.get(hash)?.nodeHash;
  }

  /** Our hash of a block of the node. */
  hashOf(nodeHash: string): Hash256 | undefined {
    return this.#byNodeHash.get(nodeHash)?.hash;
  }

  /** Forgets the blocks from `number` on: the node has others now. */
  cut(number: number): void {
    for (const { hash, nodeHash } of this.#headers.splice(number)) {
      this.#byHash.delete(hash);
      this.#byNodeHash.delete(nodeHash);
    }
  }

  /**
   * Adds the node's next block.
   * @returns false when it does not follow the last one: the node's chain was reorganised.
   */
  append(block: unknown, nodeHash: string): boolean {
    const header = parseBlockHeader(block);
    if (header.number !== BigInt(this.length)) throw new RangeError(`Expected block ${this.length}`);
    const parent = this.#headers.at(-1);
    if (parent !== undefined && parent.nodeHash !== header.parentHash) return false;
    const changed = this.#rule(header, this.#headers);
    const linked = { ...changed, parentHash: parent?.hash ?? changed.parentHash };
    const rewritten = { header: linked, hash: hashBlockHeader(linked), nodeHash: toHash256(nodeHash) };
    this.#headers.push(rewritten);
    this.#byHash.set(rewritten.hash, rewritten);
    this.#byNodeHash.set(rewritten.nodeHash, rewritten);
    return true;
  }
}

const quantity = (value: bigint): string => `0x${value.toString(16)}`;

/** Fields of a block's JSON that are those of its header. Absent ones are to be left out. */
function headerJson({ header, hash }: RewrittenHeader): Readonly<Record<string, string | undefined>> {
  const optional = <T>(value: T | undefined, text: (value: T) => string): string | undefined =>
    value === undefined ? undefined : text(value);
  return {
    hash,
    parentHash: header.parentHash,
    sha3Uncles: header.unclesHash,
    miner: header.coinbase,
    stateRoot: header.stateRoot,
    transactionsRoot: header.transactionsRoot,
    receiptsRoot: header.receiptsRoot,
    logsBloom: toHex(header.logsBloom),
    difficulty: quantity(header.difficulty),
    number: quantity(header.number),
    gasLimit: quantity(header.gasLimit),
    gasUsed: quantity(header.gasUsed),
    timestamp: quantity(header.timestampSec),
    extraData: toHex(header.extraData),
    mixHash: header.mixHash,
    nonce: toHex(header.nonce),
    baseFeePerGas: optional(header.baseFeePerGas, quantity),
    withdrawalsRoot: header.withdrawalsRoot,
    blobGasUsed: optional(header.blobGasUsed, quantity),
    excessBlobGas: optional(header.excessBlobGas, quantity),
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
    requestsHash: header.requestsHash,
    blockAccessListHash: header.blockAccessListHash,
    slotNumber: optional(header.slotNumber, quantity),
  };
}

/** When the fork is; may be set while no block of it exists. */
export interface AmsterdamFork {
  /** Number of its first block. */
  fromBlock: number;
}

const noRequests = toHash256("0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");

/** Headers of 21 fields before the fork, and of 23 from it on. */
export function amsterdamHeaderRule(fork: AmsterdamFork): HeaderRule {
  return (header) => {
    const zero = toHash256(new Uint8Array(32));
    const prague = {
      ...header,
      blobGasUsed: header.blobGasUsed ?? 0n,
      excessBlobGas: header.excessBlobGas ?? 0n,
      parentBeaconBlockRoot: header.parentBeaconBlockRoot ?? zero,
      requestsHash: header.requestsHash ?? noRequests,
    };
    if (Number(header.number) < fork.fromBlock) return prague;
    const accesses = keccak256(new TextEncoder().encode(`accesses of block ${header.number}`));
    return { ...prague, blockAccessListHash: toHash256(accesses), slotNumber: header.number };
  };
}

/** What a result of the node becomes. */
export type AnswerRule = (
  call: { readonly method: string; readonly params: readonly unknown[] },
  result: unknown,
) => Promise<unknown>;

/** How a rewriter is started. */
interface HeaderRewriterOptions {
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

/** Starts a rewriter; the chain so far is made at once. */
export async function startHeaderRewriter(options: HeaderRewriterOptions): Promise<HeaderRewriter> {
  const rewriter = new HeaderRewriter(options);
  await rewriter.catchUp();
  return rewriter;
}

type JsonObject = { [name: string]: unknown };

const HASH = /^0x[0-9a-f]{64}$/;
/** Blocks asked for at once. */
const BATCH = 50;

/** A running rewriter. */
export class HeaderRewriter implements AsyncDisposable {
  /** What is shown so far; grows with each request. */
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

  /** `http://127.0.0.1:<port>`. */
  get rpcUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Makes the headers up to the node's head; returns the number of the head. */
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
    const head = Number(await resultHttp(this.#upstream, "eth_blockNumber"));
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

  #blocks(from: number, to: number): Promise<JsonObject[]> {
    return Promise.all(Array.from({ length: to - from + 1 }, async (_, at) => {
      const number = `0x${(from + at).toString(16)}`;
      const block = await resultHttp(this.#upstream, "eth_getBlockByNumber", [number, false]);
      if (!isObject(block)) throw new Error(`The node has no block ${number}`);
      return block;
    }));
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
      // The answer may speak of a block that was not there yet when the question came, nor when others began to catch up.
      await this.#catching?.catch(() => undefined);
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
