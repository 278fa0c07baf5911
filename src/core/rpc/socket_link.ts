/**
 * One WebSocket connection and its pending calls. It is used until it drops and then replaced; reconnecting is done
 * in socket.ts.
 */
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

/** Creates the faults of one endpoint. */
export interface FaultMaker {
  make(code: RpcFaultCode, method: string, detail?: string): RpcFault;
  translate(error: NodeError, method: string): RpcFault;
}

/** Reason why an exchange has no answers. */
export type LinkEnd =
  | { readonly kind: "dropped"; readonly problem: string }
  /** The runtime's WebSocket rejected a frame: use HTTP. */
  | { readonly kind: "frameTooLarge" };

/** Thrown by {@link SocketLink.send} when the connection ended before the answer. */
export class LinkEnded extends Error {
  override readonly name = "LinkEnded";
  constructor(readonly end: LinkEnd) {
    super(end.kind === "dropped" ? `Connection ended: ${end.problem}` : "Frame too large");
  }
}

/** Error of a message that the node did not read, as it is too long. Source: paritytech/jsonrpsee: types/src/error.rs. */
const OVERSIZED_REQUEST = -32007;

/** Limit of notifications, and of answers that nothing waits for: headers and hashes. */
const NOTICE_LIMIT = answerLimit([{ method: "notification" }]);

/** Characters at both ends of a message among which its id is. */
const ID_CHARACTERS = 200;

interface Pending {
  readonly calls: readonly RpcCall[];
  readonly firstId: number;
  /** Length of the encoded message. */
  readonly size: number;
  /** Limit of the answer. */
  readonly limit: AnswerLimit;
  readonly answers: (RpcAnswer | undefined)[];
  missing: number;
  readonly resolve: (answers: readonly RpcAnswer[]) => void;
  readonly reject: (cause: unknown) => void;
}

/** Receives notifications by the subscription id that the node assigned. */
export type NotificationHandler = (subscription: string, value: Json) => void;

/** An open connection. */
export class SocketLink {
  /** Time of the last message, milliseconds of the owner's clock. */
  lastHeardMs: number;
  /** True once any answer arrived: the other side is really a node. */
  hasAnswered = false;
  readonly #socket: OpenedSocket;
  readonly #faults: FaultMaker;
  readonly #options: { readonly maxMessageBytes: number; now(): number; onNotice: NotificationHandler };
  readonly #pending = new Set<Pending>();
  readonly #ended = Promise.withResolvers<void>();
  #end: LinkEnd | undefined;

  constructor(
    socket: OpenedSocket,
    faults: FaultMaker,
    options: { readonly maxMessageBytes: number; now(): number; onNotice: NotificationHandler },
  ) {
    this.#socket = socket;
    this.#faults = faults;
    this.#options = options;
    this.lastHeardMs = options.now();
  }

  /** Resolves when the connection has ended, whoever ended it. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /**
   * Sends a request and waits for the answers, in the order of the calls.
   * @throws {LinkEnded} when the connection ends first, {@link RpcFault} for a malformed answer, and the signal's
   * reason.
   */
  async send(request: WireRequest, signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    signal.throwIfAborted();
    if (this.#end !== undefined) throw new LinkEnded(this.#end);
    const { promise, resolve, reject } = Promise.withResolvers<readonly RpcAnswer[]>();
    const pending: Pending = {
      calls: request.calls,
      firstId: request.firstId,
      size: request.text.length,
      limit: answerLimit(request.calls, this.#options.maxMessageBytes),
      answers: request.calls.map(() => undefined),
      missing: request.calls.length,
      resolve,
      reject,
    };
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pending.add(pending);
    try {
      this.#socket.send(request.text);
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#pending.delete(pending);
    }
  }

  /** Handles a message from the socket. One beyond the limit of what it answers is not parsed. */
  receive(data: unknown): void {
    this.lastHeardMs = this.#options.now();
    if (typeof data !== "string") return;
    const answered = this.#findAnswered(data);
    const limit = answered?.limit ?? NOTICE_LIMIT;
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
      } else this.#failOldest((pending) => this.#faults.make("malformed", nameOf(pending), "not JSON"));
      return;
    }
    for (const entry of Array.isArray(message) ? message : [message]) this.#take(entry);
  }

  /** Fails all pending calls; further calls fail at once. */
  end(reason: LinkEnd): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    this.#socket.close();
    for (const pending of this.#pending) pending.reject(new LinkEnded(reason));
    this.#ended.resolve();
  }

  /** The request that a message answers, by the first or last id in it; `undefined`: a notification, or none waits. */
  #findAnswered(text: string): Pending | undefined {
    const ids = [text.slice(0, ID_CHARACTERS), text.slice(-ID_CHARACTERS)]
      .flatMap((part) => [...part.matchAll(/"id"\s*:\s*([0-9]+)/g)].map(([, id]) => Number(id)));
    return [...this.#pending].find(({ firstId, calls }) =>
      ids.some((id) => id >= firstId && id < firstId + calls.length)
    );
  }

  /** Fails the calls whose answers are not parsed; the connection ends when no honest node answers so. */
  #refuse(answered: Pending | undefined, code: AnswerLimit["excess"], detail: string): void {
    if (code === "oversized") {
      answered?.reject(this.#faults.make(code, nameOf(answered), detail));
      this.end({ kind: "dropped", problem: detail });
      return;
    }
    answered?.calls.forEach(({ method }, index) => {
      this.#settle(answered, index, { kind: "fault", fault: this.#faults.make(code, method, detail) });
    });
  }

  #take(entry: Json): void {
    if (!isJsonObject(entry)) return;
    if (isJsonObject(entry.params) && entry.params.subscription !== undefined) {
      this.#options.onNotice(String(entry.params.subscription), entry.params.result ?? null);
      return;
    }
    this.hasAnswered = true;
    const id = typeof entry.id === "number" ? entry.id : undefined;
    const error = readNodeError(entry.error);
    if (id === undefined) {
      if (error !== undefined) {
        this.#failOldest((pending) => this.#refusal(error, pending), error.code === OVERSIZED_REQUEST);
      }
      return;
    }
    for (const pending of this.#pending) {
      const call = pending.calls[id - pending.firstId];
      if (call === undefined || id < pending.firstId) continue;
      this.#settle(pending, id - pending.firstId, this.#read(entry, error, call));
      return;
    }
  }

  #read(
    entry: { readonly [name: string]: Json },
    error: NodeError | undefined,
    call: RpcCall,
  ): RpcAnswer {
    const fault = (code: RpcFaultCode, detail: string): RpcAnswer => ({
      kind: "fault",
      fault: this.#faults.make(code, call.method, detail),
    });
    if (error !== undefined) return { kind: "fault", fault: this.#faults.translate(error, call.method) };
    const result = entry.result;
    if (result === undefined) return fault("malformed", "neither result nor error");
    return { kind: "result", result };
  }

  #settle(pending: Pending, index: number, answer: RpcAnswer): void {
    if (pending.answers[index] === undefined) pending.missing -= 1;
    pending.answers[index] = answer;
    if (pending.missing > 0) return;
    pending.resolve(pending.answers.filter((each) => each !== undefined));
  }

  /**
   * Handles an error without an id, which is about a message as a whole: batches first, since single calls get their
   * id back unless they are too long to be read.
   */
  #failOldest(fault: (pending: Pending) => RpcFault, isTooLong = false): void {
    const all = [...this.#pending];
    const longest = Math.max(...all.map(({ size }) => size));
    const culprit = isTooLong
      ? all.find(({ size }) => size === longest)
      : all.find(({ calls }) => calls.length > 1) ?? all[0];
    culprit?.reject(fault(culprit));
  }

  #refusal(error: NodeError, pending: Pending): RpcFault {
    const fault = this.#faults.translate(error, nameOf(pending));
    // jsonrpsee answers an unsupported batch with one error: paritytech/jsonrpsee: types/src/error.rs.
    const isAboutBatch = pending.calls.length > 1 &&
      ["refused", "missing_method", "malformed", "too_large"].includes(fault.code);
    return isAboutBatch ? this.#faults.make("missing_method", BATCH_METHOD, fault.detail) : fault;
  }
}

function nameOf(pending: Pending): string {
  return pending.calls[0]?.method ?? BATCH_METHOD;
}
