/**
 * JSON-RPC over a WebSocket that reconnects automatically. Calls that do not fit a WebSocket frame go to the same
 * endpoint by HTTP POST. Independent of node families: the caller provides the translation of error texts.
 */
import { endpointHost } from "../config/redact.ts";
import type { Clock, Randomness } from "../runtime/clock.ts";
import { linkedAbort } from "../runtime/linked_abort.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import {
  BATCH_METHOD,
  type CallConditions,
  formatMethods,
  type NodeError,
  reactionTo,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
  RpcFault,
  type RpcFaultCode,
  type TranslateError,
  WireRequests,
} from "./call.ts";
import { createSafeDetail, type SafeDetail } from "./detail.ts";
import { createHttpEndpoint } from "./http.ts";
import { type Fetch } from "./http_exchange.ts";
import { connectionProblem, splitAuthorization } from "./http_exchange.ts";
import { FRAME_TOO_LARGE, ReconnectingSocket } from "./reconnecting_socket.ts";
import { LinkEnded, type OpenSocket } from "./socket_link.ts";
import type { Json } from "./json.ts";

/** Dependencies of a socket endpoint. */
export interface SocketDeps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly openSocket: OpenSocket;
  /** For calls that do not fit a frame. */
  readonly fetch: Fetch;
}

/** Options of a socket endpoint. */
export interface SocketEndpointOptions {
  /** `ws://` or `wss://`. */
  readonly url: string;
  /** Name of the chain in faults. */
  readonly chain: string;
  readonly translate: TranslateError;
  /** Maximum size of a request and of an answer, bytes (`max_rpc_payload_size`). Default 150,000,000. */
  readonly maxPayloadBytes?: number | undefined;
  /** Deadline of a call unless it sets one, milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum wait of a call for a connection before it is `unreachable`, milliseconds. Default 10,000. */
  readonly connectPatienceMs?: number | undefined;
  /** Idle time after which the connection is probed, milliseconds. Default 30,000. */
  readonly idleMs?: number | undefined;
  /**
   * Maximum size of a WebSocket frame, bytes. Default 64 MiB, the limit of Deno's WebSocket (docs/development.md,
   * "Facts about the runtime").
   */
  readonly maxFrameBytes?: number | undefined;
}

/** What to subscribe to. */
export interface Subscription {
  readonly subscribe: string;
  readonly unsubscribe: string;
  readonly params: readonly unknown[];
}

/** Receiver of a subscription. */
export interface SubscriptionListener {
  onNotice(value: Json): void;
  /** The connection has ended: nothing more comes. Not called after the receiver itself has unsubscribed. */
  onEnd(): void;
}

/** An endpoint behind a WebSocket. */
export interface SocketEndpoint extends RpcEndpoint {
  /**
   * Subscribes on the current connection; the listener is told when that ends.
   * @returns a function that unsubscribes.
   * @throws {RpcFault} when the node rejects the subscription, or does not answer.
   */
  subscribe(
    subscription: Subscription,
    listener: SubscriptionListener,
    conditions: CallConditions,
  ): Promise<() => void>;
  /** Closes the connection and ends all waits. The endpoint must not be used afterwards. */
  close(): Promise<void>;
}

const DEFAULTS = {
  maxPayloadBytes: 150_000_000,
  timeoutMs: 30_000,
  connectPatienceMs: 10_000,
  idleMs: 30_000,
  maxFrameBytes: 64 * 1024 * 1024,
};

/** WebSocket of the runtime, for the real program. User name and password of a URL are sent as for HTTP. */
export const platformSocket: OpenSocket = (url, events) => {
  const { url: bare, headers } = splitAuthorization(url);
  const socket = new WebSocket(bare, { headers });
  let problem = "connection closed";
  socket.addEventListener("open", () => events.onOpen());
  socket.addEventListener("message", (event) => events.onMessage(event.data));
  socket.addEventListener("error", (event) => {
    // The runtime's text may contain the URL, so only known phrases are passed on.
    problem = event instanceof ErrorEvent ? socketProblem(event) : problem;
  });
  socket.addEventListener("close", () => events.onClose(problem), { once: true });
  return { send: (text) => socket.send(text), close: () => socket.close() };
};

/** Creates an endpoint for a `ws://` or `wss://` URL; it connects at the first call. */
export function createSocketEndpoint(deps: SocketDeps, options: SocketEndpointOptions): SocketEndpoint {
  return new WebSocketEndpoint(deps, options);
}

class WebSocketEndpoint implements SocketEndpoint {
  readonly host: string;
  readonly #deps: SocketDeps;
  readonly #options: SocketEndpointOptions;
  readonly #safeDetail: SafeDetail;
  readonly #limits: typeof DEFAULTS;
  readonly #http: RpcEndpoint;
  readonly #requests = new WireRequests();
  readonly #socket: ReconnectingSocket;
  readonly #subscriptions = new Subscriptions();
  #takesBatches = true;

  constructor(deps: SocketDeps, options: SocketEndpointOptions) {
    this.host = endpointHost(options.url);
    this.#deps = deps;
    this.#options = options;
    this.#safeDetail = createSafeDetail(options.url);
    this.#limits = {
      maxPayloadBytes: options.maxPayloadBytes ?? DEFAULTS.maxPayloadBytes,
      timeoutMs: options.timeoutMs ?? DEFAULTS.timeoutMs,
      connectPatienceMs: options.connectPatienceMs ?? DEFAULTS.connectPatienceMs,
      idleMs: options.idleMs ?? DEFAULTS.idleMs,
      maxFrameBytes: options.maxFrameBytes ?? DEFAULTS.maxFrameBytes,
    };
    this.#socket = new ReconnectingSocket(deps, {
      url: options.url,
      faults: this.#faults,
      requests: this.#requests,
      maxMessageBytes: this.#limits.maxPayloadBytes,
      patienceMs: this.#limits.connectPatienceMs,
      idleMs: this.#limits.idleMs,
      onNotice: (id, value) => this.#subscriptions.notify(id, value),
      onLink: (link) => void link.ended.then(() => this.#subscriptions.endAll()),
    });
    this.#http = createHttpEndpoint(deps, {
      url: options.url.replace(/^ws/, "http"),
      chain: options.chain,
      translate: options.translate,
      timeoutMs: this.#limits.timeoutMs,
      maxResponseBytes: this.#limits.maxPayloadBytes,
    });
  }

  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    conditions.signal.throwIfAborted();
    if (calls.length === 0) return [];
    if (calls.length > 1 && !this.#takesBatches) return await this.#sendSingly(calls, conditions);
    try {
      return await this.#exchange(calls, conditions);
    } catch (fault) {
      if (!(fault instanceof RpcFault) || fault.where.method !== BATCH_METHOD) throw fault;
      this.#takesBatches = false;
      return await this.#sendSingly(calls, conditions);
    }
  }

  async subscribe(
    subscription: Subscription,
    listener: SubscriptionListener,
    conditions: CallConditions,
  ): Promise<() => void> {
    const [answer] = await this.send(
      [{ method: subscription.subscribe, params: subscription.params }],
      conditions,
    );
    if (answer?.kind === "fault") throw answer.fault;
    if (answer === undefined || this.#socket.link === undefined) {
      throw this.#fault("unreachable", subscription.subscribe, "the connection ended");
    }
    const end = this.#subscriptions.add(subscription, listener, answer.result);
    return () => {
      const call = end();
      const { link } = this.#socket;
      if (call !== undefined && link !== undefined) void this.#socket.sendOn(link, call);
    };
  }

  close(): Promise<void> {
    return this.#socket.close();
  }

  /** Sends one message with all calls and waits for the answers. */
  async #exchange(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const method = formatMethods(calls);
    const request = this.#requests.write(calls);
    const size = request.text.length;
    if (size > this.#limits.maxPayloadBytes) {
      throw this.#fault("too_large", method, `the request exceeds ${this.#limits.maxPayloadBytes} bytes`);
    }
    if (size > this.#limits.maxFrameBytes) return await this.#http.send(calls, conditions);
    try {
      return await this.#withinDeadline(calls, conditions, async (signal) => {
        const link = await this.#socket.connected(signal);
        return await link.send(request, signal);
      });
    } catch (cause) {
      if (!(cause instanceof LinkEnded)) throw cause;
      if (cause.end.kind === "dropped") throw this.#fault("unreachable", method, cause.end.problem);
      // An answer that does not fit a frame broke the connection: by HTTP it is read as far as it may be long.
      return await this.#http.send(calls, conditions);
    }
  }

  async #withinDeadline(
    calls: readonly RpcCall[],
    conditions: CallConditions,
    work: (signal: AbortSignal) => Promise<readonly RpcAnswer[]>,
  ): Promise<readonly RpcAnswer[]> {
    const afterMs = conditions.timeoutMs ?? this.#limits.timeoutMs;
    const sentAtMs = this.#deps.clock.now();
    const ended = linkedAbort(conditions.signal, this.#socket.signal);
    try {
      return await withDeadline(
        this.#deps.clock,
        { what: formatMethods(calls), afterMs, signal: ended.signal },
        work,
      );
    } catch (cause) {
      if (!(cause instanceof DeadlineFault)) throw cause;
      const { link, problem } = this.#socket;
      if (problem !== undefined) throw this.#fault("unreachable", formatMethods(calls), problem);
      // No message for the whole deadline: check now whether the connection is dead.
      if (link !== undefined && link.lastHeardMs <= sentAtMs) void this.#socket.probe(link);
      throw this.#fault("timeout", formatMethods(calls), `no answer within ${afterMs} ms`);
    } finally {
      ended.unlink();
    }
  }

  async #sendSingly(
    calls: readonly RpcCall[],
    conditions: CallConditions,
  ): Promise<readonly RpcAnswer[]> {
    const exchanges = await Promise.all(calls.map((call) => this.#exchange([call], conditions)));
    return exchanges.flat();
  }

  readonly #faults = {
    make: (code: RpcFaultCode, method: string, detail?: string): RpcFault =>
      this.#fault(code, method, detail),
    translate: (error: NodeError, method: string): RpcFault => {
      const { code, data } = this.#options.translate(error, method);
      return new RpcFault(code, reactionTo(code), this.#place(method), {
        detail: this.#safeDetail(wordsOf(error)),
        data,
      });
    },
  };

  #fault(code: RpcFaultCode, method: string, detail?: string): RpcFault {
    return new RpcFault(code, reactionTo(code), this.#place(method), { detail });
  }

  #place(method: string): RpcFault["where"] {
    return { chain: this.#options.chain, endpointHost: this.host, method };
  }
}

/** Message and, if it is text, data: Substrate puts the reason for rejecting an extrinsic into `data`. */
function wordsOf(error: NodeError): string {
  return typeof error.data === "string" && !error.data.startsWith("0x")
    ? `${error.message}: ${error.data}`
    : error.message;
}

/** Names the problem of a WebSocket. */
function socketProblem(event: ErrorEvent): string {
  const text = event.message.toLowerCase();
  if (text.includes(FRAME_TOO_LARGE)) return FRAME_TOO_LARGE;
  const status = /invalid status code: (\d{3})/.exec(text)?.[1];
  return status === undefined ? connectionProblem(event) : `no WebSocket there (HTTP ${status})`;
}

/**
 * Subscriptions of one connection, by the ids that the node gave them. They end with the connection; whoever needs them
 * subscribes again, and meanwhile has to ask.
 */
class Subscriptions {
  readonly #listeners = new Map<string, SubscriptionListener>();

  /**
   * Adds a subscription that the node accepted as `id`. The returned function removes it and returns the call that
   * unsubscribes; `undefined` when it has ended already.
   */
  add(
    subscription: Subscription,
    listener: SubscriptionListener,
    id: Json,
  ): () => RpcCall | undefined {
    const key = String(id);
    this.#listeners.set(key, listener);
    return () => {
      if (this.#listeners.get(key) !== listener) return undefined;
      this.#listeners.delete(key);
      return { method: subscription.unsubscribe, params: [id] };
    };
  }

  /** Passes a notification to the subscription with this id. */
  notify(id: string, value: Json): void {
    this.#listeners.get(id)?.onNotice(value);
  }

  /** Ends all of them: the connection is gone. */
  endAll(): void {
    const ended = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of ended) listener.onEnd();
  }
}
