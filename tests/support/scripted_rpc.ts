/** A JSON-RPC node by script, in memory: answers methods with what the test says, and fails as real endpoints do. */
import { isHex } from "viem";
import type { Fetch } from "../../src/core/rpc/http_exchange.ts";
import { platformFetch } from "../../src/core/rpc/http.ts";
import { orAbort } from "../../src/core/runtime/linked_abort.ts";
import { bundleResult, readsOf } from "./bundle_runner.ts";

/** One call as it arrived. */
export interface ArrivedCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A JSON-RPC error to answer with. */
export class ScriptedError {
  constructor(readonly code: number, readonly message: string, readonly data?: unknown) {}
}

/** Answers one method; return a {@link ScriptedError} to refuse. */
export type Answerer = (params: readonly unknown[], node: ScriptedRpc) => unknown;

/** An answer as it is sent. */
export interface WireAnswer {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** What a request gets instead of the right answers; `undefined`: those. A promise that never settles: silence. */
export type Fault = (
  calls: readonly ArrivedCall[],
  answers: readonly WireAnswer[],
) => Response | undefined | Promise<Response>;

/** A plain HTTP status without JSON. */
export function httpStatus(status: number, headers: Readonly<Record<string, string>> = {}): Fault {
  return () => new Response("no", { status, headers });
}

/** Takes requests and never answers. */
export const hang: Fault = () => new Promise(() => {});

const nodes = new Map<string, ScriptedRpc>();

/** Reaches scripted nodes by their hosts, and everything else by the network. */
export const scriptedFetch: Fetch = (url, init) =>
  nodes.get(new URL(url).hostname)?.answer(init) ?? platformFetch(url, init);

/** See the module's head. */
export class ScriptedRpc {
  readonly host = `node-${nodes.size + 1}.test`;
  /** What {@link scriptedFetch} reaches it by. */
  readonly url = `http://${this.host}`;
  /** Requests, in order of arrival, each with its calls. */
  readonly requests: (readonly ArrivedCall[])[] = [];
  /** The newest request. */
  lastInit: RequestInit = {};
  /** How requests go wrong until further notice. */
  fault: Fault | undefined;
  /**
   * What comes of bundles of contract reads: each read is answered by the script (true), calls without an address are
   * refused as older ones of Besu do (false), or the script answers the bundle.
   */
  runsBundles: boolean | "by script" = true;
  readonly #methods = new Map<string, Answerer>();

  constructor(methods: Readonly<Record<string, Answerer>> = {}) {
    this.onAll(methods);
    nodes.set(this.host, this);
  }

  /** Sets or replaces the answer of a method. */
  on(method: string, answerer: Answerer): void {
    this.#methods.set(method, answerer);
  }

  /** The same, of several. */
  onAll(methods: Readonly<Record<string, Answerer>>): void {
    for (const [method, answerer] of Object.entries(methods)) this.on(method, answerer);
  }

  /** All calls that arrived, over all requests. */
  get calls(): readonly ArrivedCall[] {
    return this.requests.flat();
  }

  /** Parameters of the calls of a method, in order of arrival. */
  paramsOf(method: string): readonly (readonly unknown[])[] {
    return this.calls.filter((call) => call.method === method).map(({ params }) => params);
  }

  /** How many calls of a method arrived. */
  countOf(method: string): number {
    return this.paramsOf(method).length;
  }

  /** Answers a request. */
  async answer(init: RequestInit): Promise<Response> {
    this.lastInit = init;
    const body = JSON.parse(String(init.body));
    const calls: readonly (ArrivedCall & Pick<WireAnswer, "id">)[] = [body].flat();
    this.requests.push(calls.map(({ method, params }) => ({ method, params })));
    const answers = calls.map((call) => this.#answer(call));
    const work = Promise.resolve(this.fault?.(calls, answers));
    const spoilt = await (init.signal ? orAbort(work, init.signal) : work);
    return spoilt ?? Response.json(Array.isArray(body) ? answers : answers[0]);
  }

  #answer({ id, method, params }: ArrivedCall & Pick<WireAnswer, "id">): WireAnswer {
    const answerer = this.#methods.get(method);
    const result = answerer === undefined
      ? new ScriptedError(-32601, `the method ${method} does not exist/is not available`)
      : this.#answerOf(answerer, params);
    if (!(result instanceof ScriptedError)) return { jsonrpc: "2.0", id, result };
    const { code, message, data } = result;
    return { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } };
  }

  /** What the method's script says; of a bundle of reads, what it says of each. */
  #answerOf(answerer: Answerer, params: readonly unknown[]): unknown {
    const [call, ...others] = params;
    const reads = readsOf(call);
    if (reads === undefined || this.runsBundles === "by script") return answerer(params, this);
    if (!this.runsBundles) return new ScriptedError(-32602, "Invalid params");
    const answers = reads.map((read) => answerer([read, ...others], this));
    const fault = answers.find((answer) => answer instanceof ScriptedError && !isRevert(answer));
    return fault ?? bundleResult(answers.map((answer) => isHex(answer) ? answer : undefined));
  }
}

function isRevert({ code, message }: ScriptedError): boolean {
  return code === 3 || message.includes("revert");
}
