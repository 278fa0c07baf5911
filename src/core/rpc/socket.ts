/**
 * JSON-RPC over a WebSocket that is opened when first needed, tested when idle, and opened again whenever it ends.
 * Independent of node families: the caller provides the translation of error texts.
 */
import { endpointHost } from "../config/redact.ts";
import type { Clock, Randomness } from "../runtime/clock.ts";
import { linkedAbort } from "../runtime/linked_abort.ts";
import { type Backoff, DeadlineFault, nextDelayMs, withDeadline } from "../runtime/retry.ts";
import {
  type CallConditions,
  formatMethods,
  type NodeError,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
  RpcFault,
  type RpcFaultCode,
  type TranslateError,
  WireRequests,
} from "./call.ts";
import { createSafeDetail, type SafeDetail } from "./detail.ts";
import { connectionProblem, splitAuthorization } from "./http_exchange.ts";
import { FRAME_TOO_LARGE, LinkEnded, type OpenSocket, SocketLink } from "./socket_link.ts";

/** Dependencies of a socket endpoint. */
export interface SocketDeps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly openSocket: OpenSocket;
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
}

const MAX_PAYLOAD_BYTES = 150_000_000;

/** Deadline of a call unless it sets one, milliseconds. */
const CALL_TIMEOUT_MS = 30_000;

/** Maximum wait of a call for a connection to a node that was there before, milliseconds. */
const CONNECT_PATIENCE_MS = 10_000;

/** Maximum duration of an attempt to connect, milliseconds. */
const CONNECT_TIMEOUT_MS = 8_000;

/** Pauses between attempts: with the duration of one, a node that is back is connected to within 13 s. */
const RECONNECT: Backoff = { firstMs: 500, maxMs: 5_000, jitter: 0.5 };

/**
 * Interval without a message after which the connection is tested, and the time that the answer may take, milliseconds:
 * together as long as a call waits, since a large answer holds up the one to the test.
 */
const IDLE_MS = 10_000;
const TEST_TIMEOUT_MS = 20_000;

/** Problem of a connection that {@link SocketEndpoint.close} has ended. */
const CLOSED = "closed by this program";

/** Test of a connection, as the runtime's WebSocket has no ping. */
const TEST: RpcCall = { method: "system_health", params: [] };

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

/** Names the problem of a WebSocket. */
function socketProblem(event: ErrorEvent): string {
  const text = event.message.toLowerCase();
  if (text.includes(FRAME_TOO_LARGE)) return FRAME_TOO_LARGE;
  const status = /invalid status code: (\d{3})/.exec(text)?.[1];
  return status === undefined ? connectionProblem(event) : `no WebSocket there (HTTP ${status})`;
}

/** An endpoint behind a WebSocket; it connects at the first call. */
export class SocketEndpoint implements RpcEndpoint {
  readonly host: string;
  readonly #deps: SocketDeps;
  readonly #options: SocketEndpointOptions;
  readonly #maxPayloadBytes: number;
  readonly #safeDetail: SafeDetail;
  readonly #requests = new WireRequests();
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  /** The open connection. */
  #link: SocketLink | undefined;
  #nextLink = awaitedLink();
  /** How the last connection, or the last attempt, ended. */
  #problem = "no connection";
  #hasConnected = false;

  constructor(deps: SocketDeps, options: SocketEndpointOptions) {
    this.host = endpointHost(options.url);
    this.#deps = deps;
    this.#options = options;
    this.#maxPayloadBytes = options.maxPayloadBytes ?? MAX_PAYLOAD_BYTES;
    this.#safeDetail = createSafeDetail(options.url);
  }

  /** Closes the connection and ends all waits. The endpoint must not be used afterwards. */
  async close(): Promise<void> {
    this.#stop.abort(new LinkEnded(CLOSED));
    await this.#loop;
  }

  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    conditions.signal.throwIfAborted();
    if (calls.length === 0) return [];
    const what = formatMethods(calls);
    const request = this.#requests.write(calls);
    if (request.text.length > this.#maxPayloadBytes) {
      throw this.#fault("too_large", what, `the request exceeds ${this.#maxPayloadBytes} bytes`);
    }
    const { clock } = this.#deps;
    const afterMs = conditions.timeoutMs ?? CALL_TIMEOUT_MS;
    const heard = this.#link?.heard;
    const ended = linkedAbort(conditions.signal, this.#stop.signal);
    try {
      return await withDeadline(clock, { what, afterMs, signal: ended.signal }, async (signal) => {
        const link = await this.#connected(signal);
        return await link.send(request, signal);
      });
    } catch (cause) {
      if (cause instanceof LinkEnded) throw this.#fault("unreachable", what, cause.problem);
      if (!(cause instanceof DeadlineFault)) throw cause;
      const link = this.#link;
      if (link === undefined) throw this.#fault("unreachable", what, this.#problem);
      // No message for the whole deadline: test now whether the connection is dead.
      if (link.heard === heard) void this.#test(link);
      throw this.#fault("timeout", what, `no answer within ${afterMs} ms`);
    } finally {
      ended.unlink();
    }
  }

  /** The connection, or the next one. @throws {LinkEnded} when there is none in time. */
  async #connected(signal: AbortSignal): Promise<SocketLink> {
    this.#loop ??= this.#stayConnected(this.#stop.signal);
    if (this.#link !== undefined) return this.#link;
    const deadline = { what: "connection", afterMs: CONNECT_PATIENCE_MS, signal };
    try {
      return await withDeadline(this.#deps.clock, deadline, () => this.#nextLink.promise);
    } catch (cause) {
      if (!(cause instanceof DeadlineFault) || signal.aborted) throw cause;
      throw new LinkEnded(this.#problem);
    }
  }

  async #stayConnected(signal: AbortSignal): Promise<void> {
    const { clock, randomness } = this.#deps;
    for (let failures = 1; !signal.aborted; failures++) {
      const hasAnswered = await this.#runLink(signal);
      if (hasAnswered) failures = 1;
      try {
        await clock.sleep(nextDelayMs(RECONNECT, failures, randomness.fraction()), signal);
      } catch (cause) {
        if (!signal.aborted) throw cause;
      }
    }
  }

  /** Opens one connection and waits until it ends. True when a node answered on it. */
  async #runLink(signal: AbortSignal): Promise<boolean> {
    const { clock, openSocket } = this.#deps;
    // Only a node that has been there before is worth waiting for: what is wrong with a URL is told at once.
    if (!this.#hasConnected) this.#nextLink = awaitedLink();
    const link = new SocketLink({
      open: (events) => openSocket(this.#options.url, events),
      maxMessageBytes: this.#maxPayloadBytes,
      fault: (code, method, detail) => this.#fault(code, method, detail),
      refusal: (error, method) => this.#refusal(error, method),
    });
    const close = (): void => link.end(CLOSED);
    signal.addEventListener("abort", close, { once: true });
    const giveUp = clock.after(CONNECT_TIMEOUT_MS, () => link.end("no connection in time"));
    try {
      await link.opened;
      giveUp();
      this.#link = link;
      this.#hasConnected = true;
      this.#nextLink.resolve(link);
      await this.#watch(link);
    } catch (cause) {
      if (!(cause instanceof LinkEnded)) throw cause;
      this.#problem = cause.problem;
      if (!this.#hasConnected) this.#nextLink.reject(cause);
    } finally {
      giveUp();
      signal.removeEventListener("abort", close);
      if (this.#link === link) this.#nextLink = awaitedLink();
      this.#link = undefined;
    }
    return link.hasAnswered;
  }

  /** Tests the connection whenever it is silent. @throws {LinkEnded} when it has ended. */
  async #watch(link: SocketLink): Promise<void> {
    for (;;) {
      const { heard } = link;
      await this.#deps.clock.sleep(IDLE_MS, link.signal);
      if (link.heard === heard) await this.#test(link);
    }
  }

  /** Ends a connection on which nothing answers a call in time; what is answered does not matter. */
  async #test(link: SocketLink): Promise<void> {
    const deadline = { what: TEST.method, afterMs: TEST_TIMEOUT_MS, signal: this.#stop.signal };
    const test = this.#requests.write([TEST]);
    try {
      await withDeadline(this.#deps.clock, deadline, (signal) => link.send(test, signal));
    } catch (cause) {
      if (cause instanceof DeadlineFault) link.end(`no answer to ${TEST.method}`);
      else if (!(cause instanceof LinkEnded || cause instanceof RpcFault)) throw cause;
    }
  }

  #refusal(error: NodeError, method: string): RpcFault {
    const { code, data } = this.#options.translate(error, method);
    // Substrate puts the reason for rejecting an extrinsic into `data`.
    const reason = typeof error.data === "string" && !error.data.startsWith("0x") ? `: ${error.data}` : "";
    const detail = this.#safeDetail(error.message + reason);
    return new RpcFault(code, this.#place(method), { detail, data });
  }

  #fault(code: RpcFaultCode, method: string, detail?: string): RpcFault {
    return new RpcFault(code, this.#place(method), { detail });
  }

  #place(method: string): RpcFault["where"] {
    return { chain: this.#options.chain, endpointHost: this.host, method };
  }
}

function awaitedLink(): PromiseWithResolvers<SocketLink> {
  const awaited = Promise.withResolvers<SocketLink>();
  awaited.promise.catch(() => undefined); // nobody may be waiting for it
  return awaited;
}
