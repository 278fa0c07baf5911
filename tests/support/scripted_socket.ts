/**
 * A JSON-RPC node behind a WebSocket, in memory: answers from a script, counts what it was asked, and drops,
 * refuses or stays silent when told to.
 */
import type { OpenSocket, SocketEvents } from "../../src/core/rpc/socket_link.ts";

/** Thrown by a script's method to answer with an error object. */
export class ScriptedError extends Error {
  override readonly name = "ScriptedError";
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
  }
}

/** Never answered. */
export const SILENCE: unique symbol = Symbol("silence");

/** Answers one call. */
export type ScriptedMethod = (...params: readonly unknown[]) => unknown;

interface WireCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What one message asked, for assertions about round trips. */
export interface ScriptedExchange {
  readonly methods: readonly string[];
  readonly isBatch: boolean;
}

/** See the module's head. */
export class ScriptedNode {
  /** Every message that came in. */
  readonly exchanges: ScriptedExchange[] = [];
  /** Number of attempts to connect, and of connections made, so far. */
  attempts = 0;
  connections = 0;
  /** While set, connections fail with this problem. */
  refuseWith: string | undefined;
  /** While true, connections are neither made nor refused, as behind a cable that was pulled. */
  hangs = false;
  /** While true, arrays are answered by one error object, as nodes do that take no batches. */
  refusesBatches = false;
  /** Longer messages are answered by one error without an id, as nodes do that did not read them. */
  maxBytes = Infinity;
  /** Makes of each message the messages that are sent instead. */
  damage = (text: string): readonly string[] => [text];
  readonly #methods = new Map<string, ScriptedMethod>();
  readonly #live = new Set<SocketEvents>();

  constructor(methods: Readonly<Record<string, ScriptedMethod>> = {}) {
    for (const [name, method] of Object.entries(methods)) this.answer(name, method);
  }

  /** Sets or replaces the answer to a method. */
  answer(method: string, script: ScriptedMethod): void {
    this.#methods.set(method, script);
  }

  /** Ends all connections. */
  drop(problem = "connection closed"): void {
    for (const events of this.#live) this.#close(events, problem);
  }

  /** Sends a notice of a subscription. */
  notify(method: string, subscription: string, result: unknown): void {
    const text = JSON.stringify({ jsonrpc: "2.0", method, params: { subscription, result } });
    for (const events of this.#live) events.onMessage(text);
  }

  /** Number of live connections. */
  get live(): number {
    return this.#live.size;
  }

  readonly open: OpenSocket = (_url, events) => {
    queueMicrotask(() => this.#accept(events));
    return {
      send: (text) => queueMicrotask(() => void this.#receive(events, text)),
      close: () => queueMicrotask(() => this.#close(events, "connection closed")),
    };
  };

  #accept(events: SocketEvents): void {
    this.attempts += 1;
    if (this.hangs) return;
    if (this.refuseWith !== undefined) {
      events.onClose(this.refuseWith);
      return;
    }
    this.connections += 1;
    this.#live.add(events);
    events.onOpen();
  }

  #close(events: SocketEvents, problem: string): void {
    if (this.#live.delete(events)) events.onClose(problem);
  }

  async #receive(events: SocketEvents, text: string): Promise<void> {
    const wire: WireCall | readonly WireCall[] = JSON.parse(text);
    const calls = wire instanceof Array ? wire : [wire];
    const isBatch = wire instanceof Array;
    this.exchanges.push({ methods: calls.map((call) => call.method), isBatch });
    if (text.length > this.maxBytes) {
      const error = {
        code: -32007,
        message: "Request is too big",
        data: `Exceeded max limit of ${this.maxBytes}`,
      };
      this.#say(events, { jsonrpc: "2.0", id: null, error });
      return;
    }
    if (isBatch && this.refusesBatches) {
      const error = { code: -32005, message: "Batched requests are not supported by this server" };
      this.#say(events, { jsonrpc: "2.0", id: null, error });
      return;
    }
    const answers = await Promise.all(calls.map((call) => this.#run(call)));
    const spoken = answers.filter((answer) => answer !== undefined);
    if (spoken.length > 0) this.#say(events, isBatch ? spoken.reverse() : spoken[0]);
  }

  #say(events: SocketEvents, message: unknown): void {
    for (const text of this.damage(toWire(message))) {
      if (this.#live.has(events)) events.onMessage(text);
    }
  }

  async #run(call: WireCall): Promise<unknown> {
    const script = this.#methods.get(call.method);
    const base = { jsonrpc: "2.0", id: call.id };
    if (script === undefined) return { ...base, error: { code: -32601, message: "Method not found" } };
    try {
      const result = await script(...call.params);
      return result === SILENCE ? undefined : { ...base, result: result ?? null };
    } catch (error) {
      if (!(error instanceof ScriptedError)) throw error;
      return { ...base, error: { code: error.code, message: error.message, data: error.data } };
    }
  }
}

/** JSON with bigints as plain integers, the way nodes write u64. */
function toWire(message: unknown): string {
  const marked = JSON.stringify(
    message,
    (_name, value) => typeof value === "bigint" ? `\u0001${value}\u0001` : value,
  );
  return marked.replaceAll(/"\\u0001(-?\d+)\\u0001"/g, "$1");
}
