/**
 * One WebSocket connection and the requests in flight on it. It is used until it ends; the next call opens another one
 * (socket.ts).
 */
import { linkedAbort, orAbort } from "../runtime/linked_abort.ts";
import { type AnswerLimit, answerLimit } from "./answer_limits.ts";
import { formatMethods, type RpcFault } from "./call.ts";
import type { EndpointFaults } from "./endpoint_faults.ts";
import { isJsonObject, type Json, parseJson } from "./json.ts";
import { readNodeError, type WireRequest } from "./json_rpc.ts";

/** Events of a connection. */
export interface SocketEvents {
  onOpen(): void;
  onMessage(data: unknown): void;
  /** The connection ended or was never established; `problem` is safe to log. Called once. */
  onClose(problem: string): void;
}

/** Subset of a WebSocket that is used. */
export interface OpenedSocket {
  send(text: string): void;
  close(): void;
}

/** Opens a WebSocket. Never throws; a failure is reported by `onClose`, and no event fires before this returns. */
export type OpenSocket = (url: string, events: SocketEvents) => OpenedSocket;

/** What a connection needs of its owner. */
export interface LinkOptions {
  readonly open: (events: SocketEvents) => OpenedSocket;
  /** Maximum size of an answer whatever its method, bytes. */
  readonly maxMessageBytes: number;
  readonly at: EndpointFaults;
  /** Called once, when the connection has ended or was never established. */
  readonly onEnd: () => void;
}

/** Problem of a connection that the runtime ended at a frame above its limit of 64 MiB. */
export const FRAME_TOO_LARGE = "frame too large";

/** Reason of what was in flight when the connection ended. */
export class LinkEnded extends Error {
  override readonly name = "LinkEnded";
  /** @param problem safe to log */
  constructor(readonly problem: string) {
    super(`Connection ended: ${problem}`);
  }
}

/** Text that answers a request. */
export interface LinkAnswer {
  readonly text: string;
  readonly limit: AnswerLimit;
}

/** Error of a message that the node did not read, as it is too long. Source: paritytech/jsonrpsee: types/src/error.rs. */
const OVERSIZED_REQUEST = -32007;

/** Limit of a message that answers nothing. */
const STRAY_LIMIT = answerLimit([{ method: "stray" }]);

/** Characters at both ends of a message among which its id is. */
const ID_CHARACTERS = 200;

/** A request in flight. */
interface Exchange {
  readonly request: WireRequest;
  readonly limit: AnswerLimit;
  readonly answer: (text: string) => void;
  readonly fail: (fault: RpcFault) => void;
}

/** A connection from its opening to its end. */
export class SocketLink {
  /** Number of messages that arrived. */
  heard = 0;
  readonly #options: LinkOptions;
  readonly #socket: OpenedSocket;
  /** By the id of each call. */
  readonly #exchanges = new Map<number, Exchange>();
  readonly #opened = Promise.withResolvers<void>();
  readonly #over = new AbortController();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#socket = options.open({
      onOpen: () => this.#opened.resolve(),
      onMessage: (data) => this.#receive(data),
      onClose: (problem) => this.end(problem),
    });
  }

  /** Aborted with a {@link LinkEnded} when the connection has ended, on either side. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Resolves when the connection is open. @throws {LinkEnded} when it ends first. */
  get opened(): Promise<void> {
    return orAbort(this.#opened.promise, this.signal);
  }

  /**
   * Sends a request and waits for the message that answers it.
   * @throws {LinkEnded} when the connection ends first, {@link RpcFault} for a message beyond its limit, and the
   * signal's reason.
   */
  async send(request: WireRequest, signal: AbortSignal): Promise<LinkAnswer> {
    const ended = linkedAbort(this.signal, signal);
    const limit = answerLimit(request.calls, this.#options.maxMessageBytes);
    const ids = request.calls.map((_, index) => request.firstId + index);
    const answered = Promise.withResolvers<string>();
    const exchange = { request, limit, answer: answered.resolve, fail: ended.abort };
    try {
      ended.signal.throwIfAborted();
      for (const id of ids) this.#exchanges.set(id, exchange);
      this.#socket.send(request.text);
      return { text: await orAbort(answered.promise, ended.signal), limit };
    } finally {
      for (const id of ids) this.#exchanges.delete(id);
      ended.unlink();
    }
  }

  /** Ends the connection and all that is in flight; further calls fail at once. */
  end(problem: string): void {
    if (this.signal.aborted) return;
    if (problem === FRAME_TOO_LARGE) {
      // Most likely the answer that may be the largest.
      const [culprit] = this.#inFlight().toSorted((a, b) => b.limit.bytes - a.limit.bytes);
      if (culprit !== undefined) this.#fail(culprit, problem);
    }
    this.#options.onEnd();
    this.#over.abort(new LinkEnded(problem));
    this.#socket.close();
  }

  #inFlight(): readonly Exchange[] {
    return [...new Set(this.#exchanges.values())];
  }

  /** Handles a message from the socket. One beyond the limit of what it answers is not parsed. */
  #receive(data: unknown): void {
    this.heard++;
    if (typeof data !== "string") return;
    const answered = this.#findAnswered(data) ?? this.#findRefused(data);
    if (answered === undefined) return;
    const { bytes, excess } = answered.limit;
    if (data.length <= bytes) return answered.answer(data);
    const detail = `the answer exceeds ${bytes} bytes`;
    this.#fail(answered, detail);
    if (excess === "oversized") this.end(detail); // no honest node answers so
  }

  /** The request that a message answers, by the first or last id in it; `undefined`: none waits. */
  #findAnswered(text: string): Exchange | undefined {
    return [text.slice(0, ID_CHARACTERS), text.slice(-ID_CHARACTERS)]
      .flatMap((part) => [...part.matchAll(/"id"\s*:\s*"?([0-9]+)/g)])
      .map(([, id]) => this.#exchanges.get(Number(id)))
      .find((exchange) => exchange !== undefined);
  }

  /**
   * The request that a message without its id is about: what is no JSON answers the first one. An error is about a
   * message as a whole: the longest where it is about length, else a batch, since single calls get their id back.
   */
  #findRefused(text: string): Exchange | undefined {
    const all = this.#inFlight();
    if (text.length > STRAY_LIMIT.bytes) return undefined;
    let message: Json;
    try {
      message = parseJson(text, STRAY_LIMIT);
    } catch {
      return all[0];
    }
    if (!isJsonObject(message) || (message.id ?? null) !== null) return undefined;
    const error = readNodeError(message.error);
    if (error?.code === OVERSIZED_REQUEST) {
      return all.toSorted((a, b) => b.request.text.length - a.request.text.length)[0];
    }
    return error && (all.find(({ request }) => request.calls.length > 1) ?? all[0]);
  }

  /** Fails a request whose answer is too large. */
  #fail({ fail, limit, request }: Exchange, detail: string): void {
    fail(this.#options.at.fault(limit.excess, formatMethods(request.calls), { detail }));
  }
}
