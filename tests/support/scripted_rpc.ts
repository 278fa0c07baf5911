/**
 * A JSON-RPC node by script: a real HTTP server on 127.0.0.1 that answers methods with what the test says and
 * can be made to fail in the ways real endpoints do.
 */

import { isHex } from "viem";
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

/** How the next requests go wrong. */
export type Fault =
  /** Answers, but only after `ms`. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Takes the request and never answers. */
  | { readonly kind: "hang" }
  /** Plain HTTP status without JSON. */
  | { readonly kind: "status"; readonly status: number; readonly headers?: Record<string, string> }
  /** HTTP 429 with `Retry-After` in seconds. */
  | { readonly kind: "throttle"; readonly retryAfterSec?: number }
  /** Half of the right answer, then the end of the body. */
  | { readonly kind: "half" }
  /** The connection breaks within the answer. */
  | { readonly kind: "cut" }
  /** A web page instead of JSON. */
  | { readonly kind: "page" }
  /** The right answer with other ids. */
  | { readonly kind: "wrongIds" }
  /** All answers carry the id of the first. */
  | { readonly kind: "sameIds" }
  /** The last answer of a batch is missing. */
  | { readonly kind: "oneMissing" }
  /** Batches are answered by one error object; single calls work. */
  | { readonly kind: "noBatches"; readonly error: ScriptedError }
  /** Batches of more than `max` are refused; as Geth does it: in an array, with the id of the first call. */
  | { readonly kind: "batchLimit"; readonly max: number; readonly asGeth?: boolean }
  /** Every call is answered with this error. */
  | { readonly kind: "error"; readonly error: ScriptedError }
  /** Sends the caller to another address. */
  | { readonly kind: "redirect"; readonly to: string };

/** A running scripted node. */
export class ScriptedRpc implements AsyncDisposable {
  /** HTTP requests, in order of arrival, each with its calls. */
  readonly requests: (readonly ArrivedCall[])[] = [];
  /** Headers of the newest request. */
  lastHeaders = new Headers();
  readonly #methods = new Map<string, Answerer>();
  readonly #once: Fault[] = [];
  #always: Fault | undefined;
  /**
   * What comes of bundles of contract reads: each read is answered by the script (true), calls without an address are
   * refused as older ones of Besu do (false), or the script answers the bundle.
   */
  runsBundles: boolean | "by script" = true;
  #ofBatch: (calls: readonly ArrivedCall[]) => Fault | undefined = () => undefined;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #stop = new AbortController();

  constructor(methods: Readonly<Record<string, Answerer>> = {}) {
    for (const [method, answerer] of Object.entries(methods)) this.#methods.set(method, answerer);
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
      (request) => this.#serve(request),
    );
  }

  /** `http://127.0.0.1:<port>`. */
  get url(): string {
    return `http://${this.host}`;
  }

  /** `127.0.0.1:<port>`. */
  get host(): string {
    return `127.0.0.1:${this.#server.addr.port}`;
  }

  /** Sets or replaces the answer of a method. */
  on(method: string, answerer: Answerer): void {
    this.#methods.set(method, answerer);
  }

  /** The next requests fail like this, one after the other. */
  failNext(...faults: readonly Fault[]): void {
    this.#once.push(...faults);
  }

  /** Every request fails like this until further notice. */
  failAlways(fault: Fault | undefined): void {
    this.#always = fault;
  }

  /** Requests fail as `decide` says by their calls. */
  onBatch(decide: (calls: readonly ArrivedCall[]) => Fault | undefined): void {
    this.#ofBatch = decide;
  }

  /** All calls that arrived, over all requests. */
  get calls(): readonly ArrivedCall[] {
    return this.requests.flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#server.shutdown();
  }

  async #serve(request: Request): Promise<Response> {
    this.lastHeaders = request.headers;
    const body = await request.json();
    const calls: readonly WireCall[] = Array.isArray(body) ? body : [body];
    this.requests.push(calls.map(({ method, params }) => ({ method, params })));
    const fault = this.#once.shift() ?? this.#always ?? this.#ofBatch(calls);
    const answers = calls.map((call) => this.#answer(call, fault));
    return await this.#respond(Array.isArray(body) ? answers : answers[0], fault, calls.length);
  }

  #answer(call: WireCall, fault: Fault | undefined): WireAnswer {
    const answerer = this.#methods.get(call.method);
    const result = fault?.kind === "error"
      ? fault.error
      : answerer === undefined
      ? new ScriptedError(-32601, `the method ${call.method} does not exist/is not available`)
      : this.#answerOf(answerer, call.params);
    if (!(result instanceof ScriptedError)) return { jsonrpc: "2.0", id: call.id, result };
    const { code, message, data } = result;
    return { jsonrpc: "2.0", id: call.id, error: { code, message, ...(data === undefined ? {} : { data }) } };
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

  async #respond(
    answer: WireAnswer | readonly WireAnswer[] | undefined,
    fault: Fault | undefined,
    calls: number,
  ): Promise<Response> {
    const list: readonly WireAnswer[] = Array.isArray(answer) ? answer : [];
    const refuseBatch = (error: ScriptedError): Response =>
      json({ jsonrpc: "2.0", id: null, error: { code: error.code, message: error.message } });
    switch (fault?.kind) {
      case undefined:
      case "error":
        return json(answer);
      case "delay":
        await pause(fault.ms, this.#stop.signal);
        return json(answer);
      case "hang":
        await pause(60_000, this.#stop.signal);
        return json(answer);
      case "status":
        return new Response("no", { status: fault.status, headers: fault.headers ?? {} });
      case "throttle": {
        const headers: Record<string, string> = fault.retryAfterSec === undefined
          ? {}
          : { "retry-after": String(fault.retryAfterSec) };
        return new Response("slow down", { status: 429, headers });
      }
      case "half": {
        const text = JSON.stringify(answer);
        return new Response(text.slice(0, text.length / 2));
      }
      case "cut":
        return new Response(brokenBody(JSON.stringify(answer), this.#stop.signal));
      case "page":
        return new Response("<html><body>Welcome</body></html>", {
          headers: { "content-type": "text/html" },
        });
      case "wrongIds":
        return json(
          Array.isArray(answer) ? list.map(moveId) : answer === undefined ? answer : moveId(single(answer)),
        );
      case "sameIds":
        return json(list.map((each) => ({ ...each, id: list[0]?.id })));
      case "oneMissing":
        return json(list.slice(0, -1));
      case "noBatches":
        return calls > 1 ? refuseBatch(fault.error) : json(answer);
      case "batchLimit":
        if (calls > fault.max && fault.asGeth === true) {
          return json([{
            jsonrpc: "2.0",
            id: list[0]?.id,
            error: { code: -32600, message: "batch too large" },
          }]);
        }
        return calls > fault.max
          ? refuseBatch(new ScriptedError(-32600, `maximum batch size is ${fault.max}`))
          : json(answer);
      case "redirect":
        return new Response(null, { status: 307, headers: { location: fault.to } });
    }
  }
}

function isRevert({ code, message }: ScriptedError): boolean {
  return code === 3 || message.includes("revert");
}

interface WireCall extends ArrivedCall {
  readonly id: number;
}

interface WireAnswer {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

function single(answer: WireAnswer | readonly WireAnswer[]): WireAnswer {
  if (!("id" in answer)) throw new Error("Expected the answer of a single call");
  return answer;
}

function moveId(answer: WireAnswer): WireAnswer {
  return { ...answer, id: answer.id + 1_000_000 };
}

function json(value: unknown): Response {
  return new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });
}

/** The error comes later than the first half, else the server sends nothing and the client asks again. */
function brokenBody(text: string, signal: AbortSignal): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    async pull(controller): Promise<void> {
      if (!sent) controller.enqueue(new TextEncoder().encode(text.slice(0, text.length / 2)));
      else {
        await pause(20, signal);
        controller.error(new Error("cut"));
      }
      sent = true;
    },
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const id = setTimeout(done, ms);
    function done(): void {
      clearTimeout(id);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done, { once: true });
  });
}
