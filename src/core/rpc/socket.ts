/**
 * JSON-RPC over a WebSocket that is opened when a call needs one and there is none.
 * Independent of node families: the caller provides the translation of error texts.
 */
import type { Clock } from "../runtime/clock.ts";
import { linkedAbort, orAbort } from "../runtime/linked_abort.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
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

/** Maximum duration of an attempt to connect, milliseconds. */
const CONNECT_TIMEOUT_MS = 8_000;

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
    let asked: { readonly link: SocketLink; readonly heard: number; readonly atMs: number } | undefined;
    try {
      const answer = await withDeadline(clock, { what, afterMs, signal: ended.signal }, async (signal) => {
        const link = this.#link ??= this.#open();
        await orAbort(link.opened, signal);
        asked = { link, heard: link.heard, atMs: clock.now() };
        return await link.send(request, signal);
      });
      const { translate } = this.#options;
      return readRpcAnswers(answer.text, { request, limit: answer.limit, at: this, translate });
    } catch (cause) {
      if (cause instanceof LinkEnded) throw this.fault("unreachable", what, { detail: cause.problem });
      // No honest node answers so.
      if (cause instanceof RpcFault && cause.code === "oversized") {
        asked?.link.end(cause.detail ?? cause.code);
      }
      if (!(cause instanceof DeadlineFault)) throw cause;
      if (asked === undefined) throw this.fault("unreachable", what, { detail: "no connection in time" });
      const { link, heard, atMs } = asked;
      if (link.heard === heard && clock.now() - atMs >= SILENCE_MS) link.end("no answer");
      throw this.fault("timeout", what, { detail: `no answer within ${afterMs} ms` });
    } finally {
      ended.unlink();
    }
  }

  /** Opens a connection, which is the endpoint's until it ends. */
  #open(): SocketLink {
    const { clock, openSocket } = this.#deps;
    const link = new SocketLink({
      open: (events) => openSocket(this.#options.url, events),
      maxMessageBytes: this.#maxPayloadBytes,
      at: this,
      onEnd: () => void (this.#link = undefined),
    });
    const stopTimer = clock.after(CONNECT_TIMEOUT_MS, () => link.end("no connection in time"));
    link.opened.then(stopTimer, stopTimer);
    return link;
  }
}
