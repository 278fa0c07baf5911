/**
 * One WebSocket connection and the requests in flight on it. It is used until it ends and then replaced; reconnecting
 * is done in socket.ts.
 */
import { linkedAbort, orAbort } from "../runtime/linked_abort.ts";
import { type AnswerLimit, answerLimit } from "./answer_limits.ts";
import type { NodeError, RpcAnswer, RpcCall, RpcFault, RpcFaultCode, WireRequest } from "./call.ts";
import { BATCH_METHOD, readNodeError } from "./call.ts";
import { isJsonObject, type Json, JsonLimitError, parseJson } from "./json.ts";

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
  /** Creates a fault of the endpoint. */
  readonly fault: (code: RpcFaultCode, method: string, detail?: string) => RpcFault;
  /** Translates an error of the node. */
  readonly refusal: (error: NodeError, method: string) => RpcFault;
  /** Called once, when the connection has ended or was never established. @param problem safe to log */
  readonly onEnd: (problem: string) => void;
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
  readonly answers: Map<number, RpcAnswer>;
  readonly resolve: () => void;
  /** Ends the request as a whole. */
  readonly fail: (fault: RpcFault) => void;
}

/** A connection from its opening to its end. */
export class SocketLink {
  /** Number of messages that arrived. */
  heard = 0;
  /** True once any answer arrived: the other side is really a node. */
  hasAnswered = false;
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
   * Sends a request and waits for the answers, in the order of the calls.
   * @throws {LinkEnded} when the connection ends first, {@link RpcFault} for an unusable answer, and the signal's
   * reason.
   */
  async send(request: WireRequest, signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    const ended = linkedAbort(this.signal, signal);
    const ids = request.calls.map((_, index) => request.firstId + index);
    const answered = Promise.withResolvers<void>();
    const exchange: Exchange = {
      request,
      limit: answerLimit(request.calls, this.#options.maxMessageBytes),
      answers: new Map(),
      resolve: answered.resolve,
      fail: ended.abort,
    };
    try {
      ended.signal.throwIfAborted();
      for (const id of ids) this.#exchanges.set(id, exchange);
      this.#socket.send(request.text);
      await orAbort(answered.promise, ended.signal);
    } catch (cause) {
      if (exchange.answers.size < ids.length) throw cause;
    } finally {
      for (const id of ids) this.#exchanges.delete(id);
      ended.unlink();
    }
    return ids.flatMap((id) => exchange.answers.get(id) ?? []);
  }

  /** Ends the connection and all that is in flight; further calls fail at once. */
  end(problem: string): void {
    if (this.signal.aborted) return;
    if (problem === FRAME_TOO_LARGE) {
      // Most likely the answer that may be the largest.
      const [culprit] = this.#inFlight().toSorted((a, b) => b.limit.bytes - a.limit.bytes);
      if (culprit !== undefined) this.#fail(culprit, culprit.limit.excess, problem);
    }
    this.#options.onEnd(problem);
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
    const answered = this.#findAnswered(data);
    const limit = answered?.limit ?? STRAY_LIMIT;
    if (data.length > limit.bytes) {
      this.#refuse(answered, limit.excess, `the answer exceeds ${limit.bytes} bytes`);
      return;
    }
    let message: Json;
    try {
      message = parseJson(data, limit);
    } catch (error) {
      if (error instanceof JsonLimitError) {
        this.#refuse(answered, "oversized", `the answer has ${error.message}`);
      } else {
        const culprit = answered ?? this.#inFlight().at(0);
        culprit?.fail(this.#options.fault("malformed", nameOf(culprit), "not JSON"));
      }
      return;
    }
    for (const entry of Array.isArray(message) ? message : [message]) this.#take(entry);
  }

  /** The request that a message answers, by the first or last id in it; `undefined`: none waits. */
  #findAnswered(text: string): Exchange | undefined {
    return [text.slice(0, ID_CHARACTERS), text.slice(-ID_CHARACTERS)]
      .flatMap((part) => [...part.matchAll(/"id"\s*:\s*"?([0-9]+)/g)])
      .map(([, id]) => this.#exchanges.get(Number(id)))
      .find((exchange) => exchange !== undefined);
  }

  /** Fails what is answered by a message that is not parsed; the connection ends when no honest node answers so. */
  #refuse(answered: Exchange | undefined, code: AnswerLimit["excess"], detail: string): void {
    if (answered === undefined) return;
    this.#fail(answered, code, detail);
    if (code === "oversized") this.end(detail);
  }

  #fail(answered: Exchange, code: AnswerLimit["excess"], detail: string): void {
    if (code === "oversized") {
      answered.fail(this.#options.fault(code, nameOf(answered), detail));
      return;
    }
    answered.request.calls.forEach(({ method }, index) => {
      const fault = this.#options.fault(code, method, detail);
      this.#settle(answered, answered.request.firstId + index, { kind: "fault", fault });
    });
  }

  #settle({ answers, request, resolve }: Exchange, id: number, answer: RpcAnswer): void {
    answers.set(id, answer);
    if (answers.size === request.calls.length) resolve();
  }

  #take(entry: Json): void {
    if (!isJsonObject(entry)) return;
    this.hasAnswered = true;
    const error = readNodeError(entry.error);
    const id = Number(entry.id ?? NaN);
    const exchange = this.#exchanges.get(id);
    const call = exchange?.request.calls[id - exchange.request.firstId];
    if (exchange !== undefined && call !== undefined) {
      this.#settle(exchange, id, this.#read(entry, error, call));
    } else if (error !== undefined && (entry.id ?? null) === null) this.#refuseMessage(error);
  }

  #read(
    { result }: { readonly [name: string]: Json },
    error: NodeError | undefined,
    { method }: RpcCall,
  ): RpcAnswer {
    if (error !== undefined) return { kind: "fault", fault: this.#options.refusal(error, method) };
    if (result !== undefined) return { kind: "result", result };
    return { kind: "fault", fault: this.#options.fault("malformed", method, "neither result nor error") };
  }

  /**
   * Handles an error without an id, which is about a message as a whole: the longest where it is about length, else a
   * batch, since single calls get their id back.
   */
  #refuseMessage(error: NodeError): void {
    const all = this.#inFlight();
    const [longest] = all.toSorted((a, b) => b.request.text.length - a.request.text.length);
    const isLength = error.code === OVERSIZED_REQUEST;
    const culprit = isLength ? longest : all.find(({ request }) => request.calls.length > 1) ?? all[0];
    if (culprit === undefined) return;
    const fault = this.#options.refusal(error, nameOf(culprit));
    // jsonrpsee answers an unsupported batch with one error: paritytech/jsonrpsee: types/src/error.rs.
    const isAboutBatch = culprit.request.calls.length > 1 &&
      ["refused", "missing_method", "malformed", "too_large"].includes(fault.code);
    culprit.fail(isAboutBatch ? this.#options.fault("missing_method", BATCH_METHOD, fault.detail) : fault);
  }
}

function nameOf({ request }: Exchange): string {
  return request.calls[0]?.method ?? BATCH_METHOD;
}
