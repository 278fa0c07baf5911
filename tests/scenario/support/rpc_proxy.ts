/**
 * A proxy in front of one JSON-RPC endpoint that counts what passes and misbehaves on request: HTTP and WebSocket on
 * the same port. Start reading at {@link startRpcProxy}.
 */
import { type AlterAnswer, alteringFetch } from "../../support/altered_answers.ts";
import { serveLocally, type TestServer } from "../../support/test_server.ts";
import { KeptPort } from "../../../devnet/kept_port.ts";
import { answerLagging } from "../../../devnet/profiles/lagging_node.ts";
import { pause } from "../../../devnet/waiting.ts";
import { SocketRelay } from "./socket_relay.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** The longest wait of a timer. */
const FOREVER_MS = 2 ** 31 - 1;

/** How the endpoint behaves from now on. */
export type ProxyMode =
  | { readonly kind: "pass" }
  /** Nobody listens: connections are refused, open ones are cut. */
  | { readonly kind: "refuse" }
  /** Requests are taken and never answered. */
  | { readonly kind: "hang" }
  /** Status 429. */
  | { readonly kind: "throttle"; readonly retryAfterSec?: number }
  /** A 5xx answer with a page of HTML, as gateways send it. Default status 502. */
  | { readonly kind: "serverError"; readonly status?: number }
  /**
   * Half an answer. `transfer`: the connection breaks in the middle. `json`: a complete transfer of half the text.
   * `batch`: only the first half of a batch is answered (single calls pass).
   */
  | { readonly kind: "truncate"; readonly what: "transfer" | "json" | "batch" }
  | { readonly kind: "delay"; readonly delayMs: number }
  /** HTTP only: passes on what is not so. */
  | { readonly kind: "alter"; readonly alter: AlterAnswer }
  /** HTTP only: answers as a node that is so many blocks behind; transactions reach the real one. */
  | { readonly kind: "lag"; readonly blocks: number };

/** One JSON-RPC call inside of a request. */
export interface ProxiedCall {
  readonly id?: unknown;
  readonly method: string;
  readonly params: unknown;
}

/** One HTTP request or one WebSocket message of the client. Times are milliseconds since 1970. */
export interface ProxiedRequest {
  readonly atMs: number;
  /** When the answer was passed on; `undefined` while it is not, and for sockets unless answers are kept. */
  endedAtMs: number | undefined;
  /** Text of the answer; only with {@link ProxyOptions.keepsAnswers}. */
  answer?: string;
  readonly isBatch: boolean;
  readonly calls: readonly ProxiedCall[];
}

/** Where to pass on to. */
export interface ProxyOptions {
  /** `http://host:port` of the endpoint; WebSockets go to the same host and port. */
  readonly upstream: string;
  /** Keeps the text of every answer, and finds the answers of socket messages by their ids. Default false. */
  readonly keepsAnswers?: boolean;
  /** Each answer is held back for so long, as a network does; requests made together then overlap. Default 0. */
  readonly latencyMs?: number;
}

/** Starts a proxy on 127.0.0.1. */
export async function startRpcProxy(options: ProxyOptions): Promise<RpcProxy> {
  const proxy = new RpcProxy(options);
  await proxy.listen();
  return proxy;
}

/** A running proxy. */
export class RpcProxy implements AsyncDisposable {
  readonly #upstream: string;
  readonly #keepsAnswers: boolean;
  readonly #latencyMs: number;
  readonly #port = new KeptPort();
  #server: TestServer | undefined;
  #mode: ProxyMode = { kind: "pass" };
  #methods: readonly string[] | undefined;
  #requests: ProxiedRequest[] = [];
  /** Ends hanging and delayed requests when the behaviour changes. */
  #modeChange = new AbortController();
  readonly #relays = new Set<SocketRelay>();

  constructor({ upstream, keepsAnswers, latencyMs }: ProxyOptions) {
    this.#upstream = upstream.replace(/\/$/, "");
    this.#keepsAnswers = keepsAnswers ?? false;
    this.#latencyMs = latencyMs ?? 0;
  }

  get port(): number {
    return this.#port.number;
  }

  /** `http://127.0.0.1:<port>`. */
  get httpUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** `ws://127.0.0.1:<port>`. */
  get wsUrl(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  /** Everything since the start or the last {@link clear}, in order of arrival. */
  get requests(): readonly ProxiedRequest[] {
    return this.#requests;
  }

  /** Number of JSON-RPC calls, batches taken apart; of one method if named. */
  countCalls(method?: string): number {
    return this.#requests
      .flatMap(({ calls }) => calls)
      .filter((call) => method === undefined || call.method === method)
      .length;
  }

  /** Forgets the requests seen so far. */
  clear(): void {
    this.#requests = [];
  }

  async listen(): Promise<void> {
    const onError = (): Response => new Response(null, { status: 502 });
    this.#server = await this.#port.listen((port) =>
      serveLocally({ port, onError }, (request) => this.#answer(request))
    );
  }

  /**
   * Changes the behaviour. With `methods` only requests that hold one of them are affected; not for `refuse`.
   * Resolves once the new behaviour is in force.
   */
  async setMode(mode: ProxyMode, methods?: readonly string[]): Promise<void> {
    this.#mode = mode;
    this.#methods = methods;
    const change = this.#modeChange;
    this.#modeChange = new AbortController();
    change.abort();
    for (const relay of this.#relays) relay.isHanging = mode.kind === "hang";
    if (mode.kind === "refuse") await this.#stopListening();
    else if (this.#server === undefined) await this.listen();
  }

  /** Cuts every open WebSocket; new ones are taken. */
  cutSockets(): void {
    for (const relay of this.#relays) relay.cut();
  }

  async stop(): Promise<void> {
    this.#modeChange.abort();
    await this.#stopListening();
    this.#port[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stopListening(): Promise<void> {
    this.cutSockets();
    const server = this.#server;
    this.#server = undefined;
    await server?.stop();
  }

  async #answer(request: Request): Promise<Response> {
    if (request.headers.get("upgrade")?.toLowerCase() === "websocket") return this.#upgrade(request);
    const body = await request.text();
    const seen = this.#note(body);
    const isAffected = this.#methods === undefined ||
      seen.calls.some(({ method }) => this.#methods?.includes(method));
    const mode: ProxyMode = isAffected ? this.#mode : { kind: "pass" };
    const response = await this.#respond(mode, body, seen.isBatch);
    if (this.#latencyMs > 0) await pause(this.#latencyMs, this.#modeChange.signal);
    if (this.#keepsAnswers) seen.answer = await response.clone().text();
    seen.endedAtMs = performance.timeOrigin + performance.now();
    return response;
  }

  async #respond(mode: ProxyMode, body: string, isBatch: boolean): Promise<Response> {
    switch (mode.kind) {
      case "pass":
        return await this.#forward(body);
      case "refuse":
      case "hang":
        await pause(FOREVER_MS, this.#modeChange.signal);
        return new Response(null, { status: 502 });
      case "delay":
        await pause(mode.delayMs, this.#modeChange.signal);
        return await this.#forward(body);
      case "alter":
        return await alteringFetch(mode.alter)(this.#upstream, { method: "POST", headers: JSON_TYPE, body });
      case "lag":
        return await this.#answerBehind(body, BigInt(mode.blocks));
      case "throttle":
        return new Response("Too many requests", {
          status: 429,
          headers: mode.retryAfterSec === undefined ? {} : { "retry-after": `${mode.retryAfterSec}` },
        });
      case "serverError":
        return new Response("<html><body>Bad gateway</body></html>", {
          status: mode.status ?? 502,
          headers: { "content-type": "text/html" },
        });
      case "truncate":
        return truncated(await this.#forward(body), mode.what, isBatch);
    }
  }

  async #forward(body: string): Promise<Response> {
    const response = await fetch(this.#upstream, {
      method: "POST",
      headers: JSON_TYPE,
      body,
    });
    const text = await response.text();
    return new Response(text, {
      status: response.status,
      headers: { "content-type": response.headers.get("content-type") ?? "application/json" },
    });
  }

  async #answerBehind(body: string, blocks: bigint): Promise<Response> {
    const answer = await answerLagging(
      body,
      blocks,
      async (text) => await (await this.#forward(text)).text(),
    );
    return new Response(answer, { headers: JSON_TYPE });
  }

  #upgrade(request: Request): Response {
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    const open = new Map<string, ProxiedRequest>();
    const relay = new SocketRelay(socket, this.#upstream.replace(/^http/, "ws"), {
      onRequest: (text) => {
        const seen = this.#note(text);
        if (this.#keepsAnswers) { for (const { id } of seen.calls) open.set(`${id}`, seen); }
      },
      latencyMs: this.#latencyMs,
      onAnswer: (text) => {
        if (this.#keepsAnswers) noteAnswer(open, text);
      },
    });
    relay.isHanging = this.#mode.kind === "hang";
    this.#relays.add(relay);
    void relay.ended.then(() => this.#relays.delete(relay));
    return response;
  }

  #note(text: string): ProxiedRequest {
    const { calls, isBatch } = readCalls(text);
    const atMs = performance.timeOrigin + performance.now();
    const seen = { atMs, endedAtMs: undefined, isBatch, calls };
    this.#requests.push(seen);
    return seen;
  }
}

/** Files a message of the endpoint with the request that it answers; notices of subscriptions answer none. */
function noteAnswer(open: Map<string, ProxiedRequest>, text: string): void {
  const parsed: unknown = JSON.parse(text);
  const first: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (typeof first !== "object" || first === null || !("id" in first)) return;
  const seen = open.get(`${first.id}`);
  if (seen === undefined) return;
  for (const call of seen.calls) open.delete(`${call.id}`);
  seen.answer = text;
  seen.endedAtMs = performance.timeOrigin + performance.now();
}

/** Takes a JSON-RPC body apart; text that is none has no calls. */
function readCalls(text: string): { calls: ProxiedCall[]; isBatch: boolean } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { calls: [], isBatch: false };
  }
  const isBatch = Array.isArray(parsed);
  const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  return { calls: list.flatMap(readCall), isBatch };
}

function readCall(value: unknown): ProxiedCall[] {
  if (typeof value !== "object" || value === null || !("method" in value)) return [];
  if (typeof value.method !== "string") return [];
  return [{
    ...("id" in value ? { id: value.id } : {}),
    method: value.method,
    params: "params" in value ? value.params : undefined,
  }];
}

async function truncated(
  response: Response,
  what: "transfer" | "json" | "batch",
  isBatch: boolean,
): Promise<Response> {
  const text = await response.text();
  const headers = JSON_TYPE;
  const half = text.slice(0, Math.ceil(text.length / 2));
  switch (what) {
    case "json":
      return new Response(half, { headers });
    case "transfer":
      return new Response(brokenOffAfter(half), { headers });
    case "batch": {
      if (!isBatch) return new Response(text, { headers });
      const answers: unknown = JSON.parse(text);
      const list: readonly unknown[] = Array.isArray(answers) ? answers : [];
      return new Response(JSON.stringify(list.slice(0, Math.floor(list.length / 2))), { headers });
    }
  }
}

/** A body whose transfer fails after `text`. */
function brokenOffAfter(text: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isSent = false;
  return new ReadableStream({
    async pull(controller): Promise<void> {
      if (!isSent) {
        isSent = true;
        controller.enqueue(new TextEncoder().encode(text));
        return;
      }
      // The first part has to be on its way before the connection is cut.
      await pause(20);
      controller.error(new Error("Cut by the proxy"));
    },
  });
}
