/**
 * JSON-RPC over a WebSocket that is opened when a call needs one and there is none.
 * Independent of node families: the caller provides the translation of error texts.
 */
import type { Clock, Randomness } from "../runtime/clock.ts";
import { linkedAbort, orAbort } from "../runtime/linked_abort.ts";
import { type Backoff, DeadlineFault, nextDelayMs, withDeadline } from "../runtime/retry.ts";
import {
  type CallConditions,
  formatMethods,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
  RpcFault,
  type TranslateError,
} from "./call.ts";
import { EndpointFaults } from "./endpoint_faults.ts";
import { connectionProblem, splitAuthorization } from "./http_exchange.ts";
import { readRpcAnswers, WireRequests } from "./json_rpc.ts";
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

/** A connection has ended when a call that waits on it for at least this time hears nothing, milliseconds. */
const SILENCE_MS = 10_000;

/** Maximum wait of a call for a connection to a node that was there before, milliseconds. */
const CONNECT_PATIENCE_MS = 10_000;

/** Maximum duration of an attempt to connect, milliseconds. */
const CONNECT_TIMEOUT_MS = 8_000;

/** Pauses between attempts: with the duration of one, a node that is back can be connected to within 13 s. */
const RECONNECT: Backoff = { firstMs: 500, maxMs: 5_000, jitter: 0.5 };

/** Problem of a connection that {@link SocketEndpoint.close} has ended. */
const CLOSED = "closed by this program";

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
export class SocketEndpoint extends EndpointFaults implements RpcEndpoint {
  readonly #deps: SocketDeps;
  readonly #options: SocketEndpointOptions;
  readonly #maxPayloadBytes: number;
  readonly #requests = new WireRequests();
  readonly #stop = new AbortController();
  /** The connection, open or being opened. */
  #link: SocketLink | undefined;
  /** How the last connection, or the last attempt, ended. */
  #problem = "no connection";
  #hasConnected = false;
  /** Attempts in a row that reached no node, and when the next one may begin, Unix milliseconds. */
  #failures = 0;
  #retryAtMs = 0;

  constructor(deps: SocketDeps, options: SocketEndpointOptions) {
    super(options.url, options.chain);
    this.#deps = deps;
    this.#options = options;
    this.#maxPayloadBytes = options.maxPayloadBytes ?? MAX_PAYLOAD_BYTES;
  }

  /** Closes the connection and ends all waits. The endpoint must not be used afterwards. */
  close(): Promise<void> {
    this.#stop.abort(new LinkEnded(CLOSED));
    this.#link?.end(CLOSED);
    return Promise.resolve();
  }

  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    conditions.signal.throwIfAborted();
    if (calls.length === 0) return [];
    const what = formatMethods(calls);
    const request = this.#requests.write(calls);
    if (request.text.length > this.#maxPayloadBytes) {
      throw this.fault("too_large", what, { detail: `the request exceeds ${this.#maxPayloadBytes} bytes` });
    }
    const { clock } = this.#deps;
    const afterMs = conditions.timeoutMs ?? CALL_TIMEOUT_MS;
    const ended = linkedAbort(conditions.signal, this.#stop.signal);
    let link: SocketLink | undefined;
    let [heard, sinceMs] = [0, 0];
    try {
      const answer = await withDeadline(clock, { what, afterMs, signal: ended.signal }, async (signal) => {
        link = await this.#connected(signal);
        [heard, sinceMs] = [link.heard, clock.now()];
        return await link.send(request, signal);
      });
      const { translate } = this.#options;
      return readRpcAnswers(answer.text, { request, limit: answer.limit, at: this, translate });
    } catch (cause) {
      if (cause instanceof LinkEnded) throw this.fault("unreachable", what, { detail: cause.problem });
      // No honest node answers so.
      if (cause instanceof RpcFault && cause.code === "oversized") link?.end(cause.detail ?? cause.code);
      if (!(cause instanceof DeadlineFault)) throw cause;
      if (link === undefined) throw this.fault("unreachable", what, { detail: this.#problem });
      if (link.heard === heard && clock.now() - sinceMs >= SILENCE_MS) link.end("no answer");
      throw this.fault("timeout", what, { detail: `no answer within ${afterMs} ms` });
    } finally {
      ended.unlink();
    }
  }

  /** The connection, or the next one. @throws {LinkEnded} when there is none in time. */
  async #connected(signal: AbortSignal): Promise<SocketLink> {
    const deadline = { what: "connection", afterMs: CONNECT_PATIENCE_MS, signal };
    try {
      return await withDeadline(this.#deps.clock, deadline, (inner) => this.#connect(inner));
    } catch (cause) {
      if (!(cause instanceof DeadlineFault) || signal.aborted) throw cause;
      throw new LinkEnded(this.#problem);
    }
  }

  async #connect(signal: AbortSignal): Promise<SocketLink> {
    const { clock } = this.#deps;
    for (;;) {
      const pauseMs = this.#link === undefined ? this.#retryAtMs - clock.now() : 0;
      // Only a node that has been there before is worth waiting for: what is wrong with a URL is told at once.
      if (pauseMs > 0 && !this.#hasConnected) throw new LinkEnded(this.#problem);
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
      const link = this.#link ??= this.#open();
      try {
        await orAbort(link.opened, signal);
        this.#hasConnected = true;
        return link;
      } catch (cause) {
        if (signal.aborted || !this.#hasConnected) throw cause;
      }
    }
  }

  /** Opens a connection, which is the endpoint's until it ends. */
  #open(): SocketLink {
    const { clock, randomness, openSocket } = this.#deps;
    const link = new SocketLink({
      open: (events) => openSocket(this.#options.url, events),
      maxMessageBytes: this.#maxPayloadBytes,
      at: this,
      onEnd: (problem) => {
        this.#problem = problem;
        this.#failures = link.hasAnswered ? 1 : this.#failures + 1;
        this.#retryAtMs = clock.now() + nextDelayMs(RECONNECT, this.#failures, randomness.fraction());
        this.#link = undefined;
      },
    });
    const stopTimer = clock.after(CONNECT_TIMEOUT_MS, () => link.end("no connection in time"));
    link.opened.then(stopTimer, stopTimer);
    return link;
  }
}
