/**
 * Keeps one connection open: connects when first needed, probes it when idle, and reconnects indefinitely with
 * growing pauses.
 */
import type { Clock, Randomness } from "../runtime/clock.ts";
import { type Backoff, DeadlineFault, nextDelayMs, withDeadline } from "../runtime/retry.ts";
import { type RpcAnswer, type RpcCall, RpcFault, type WireRequests } from "./call.ts";
import {
  type FaultMaker,
  type LinkEnd,
  LinkEnded,
  type NotificationHandler,
  type OpenSocket,
  SocketLink,
} from "./socket_link.ts";

/** Options of a {@link ReconnectingSocket}. */
export interface ReconnectingSocketOptions {
  readonly url: string;
  readonly faults: FaultMaker;
  readonly requests: WireRequests;
  readonly maxMessageBytes: number;
  /** Maximum wait for a connection, milliseconds. */
  readonly patienceMs: number;
  /** Idle time after which the connection is probed, milliseconds. */
  readonly idleMs: number;
  readonly onNotice: NotificationHandler;
  /** Called for each new connection. */
  readonly onLink: (link: SocketLink) => void;
}

/** Problem reported when a frame was too large for the runtime's WebSocket. */
export const FRAME_TOO_LARGE = "frame too large";

const PROBE_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 20_000;
/** The longest pause is shorter than a call waits (10 s), so no call fails at a node that is back. */
const RECONNECT: Backoff = { firstMs: 500, maxMs: 8_000, jitter: 0.5 };

/** One connection that is re-established whenever it drops. */
export class ReconnectingSocket {
  readonly #deps: { readonly clock: Clock; readonly randomness: Randomness; readonly openSocket: OpenSocket };
  readonly #options: ReconnectingSocketOptions;
  readonly #stop = new AbortController();
  #link: SocketLink | undefined;
  #nextLink = awaitedLink();
  #loop: Promise<void> | undefined;
  #lastProblem: string | undefined;
  #hasConnected = false;
  /** How the last attempt failed, until the next one begins; only of a node that has never been there. */
  #refusal: LinkEnded | undefined;

  constructor(
    deps: { readonly clock: Clock; readonly randomness: Randomness; readonly openSocket: OpenSocket },
    options: ReconnectingSocketOptions,
  ) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Current connection, if any. */
  get link(): SocketLink | undefined {
    return this.#link;
  }

  /** Why there is no connection now; `undefined`: there is one, or none has failed yet. */
  get problem(): string | undefined {
    return this.#link === undefined ? this.#lastProblem : undefined;
  }

  get #dropped(): LinkEnd {
    return { kind: "dropped", problem: this.#lastProblem ?? "no connection" };
  }

  /** Aborted by {@link ReconnectingSocket.close}. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /**
   * Returns the connection, waiting for the next one if needed.
   * @throws {LinkEnded} when there is none in time; at once when there has never been one and the attempt failed.
   */
  async connected(signal: AbortSignal): Promise<SocketLink> {
    this.#loop ??= this.#stayConnected(this.signal);
    if (this.#link !== undefined) return this.#link;
    if (this.#refusal !== undefined) throw this.#refusal;
    const deadline = { what: "connection", afterMs: this.#options.patienceMs, signal };
    try {
      return await withDeadline(this.#deps.clock, deadline, () => this.#nextLink.promise);
    } catch (cause) {
      if (!(cause instanceof DeadlineFault) || signal.aborted) throw cause;
      throw new LinkEnded(this.#dropped);
    }
  }

  /** Sends a call on this connection only; `undefined` when it ended first, or the answer is malformed. */
  async sendOn(link: SocketLink, call: RpcCall): Promise<RpcAnswer | undefined> {
    try {
      const [answer] = await link.send(this.#options.requests.write([call]), this.signal);
      return answer;
    } catch (cause) {
      const isExpected = cause instanceof LinkEnded || cause instanceof RpcFault || this.signal.aborted;
      if (isExpected) return undefined;
      throw cause;
    }
  }

  /** Probes the connection and closes it when it is dead. */
  async probe(link: SocketLink): Promise<void> {
    const call: RpcCall = { method: "system_health", params: [] };
    const deadline = { what: call.method, afterMs: PROBE_TIMEOUT_MS, signal: this.signal };
    try {
      await withDeadline(
        this.#deps.clock,
        deadline,
        () => this.sendOn(link, call),
      );
    } catch (cause) {
      if (this.signal.aborted) return;
      if (!(cause instanceof DeadlineFault)) throw cause;
      link.end({ kind: "dropped", problem: "no answer to system_health" });
    }
  }

  /** Closes the connection permanently. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("The endpoint was closed"));
    this.#link?.end({ kind: "dropped", problem: "closed by this program" });
    await this.#loop;
  }

  async #stayConnected(signal: AbortSignal): Promise<void> {
    const { clock, randomness } = this.#deps;
    for (let failures = 1; !signal.aborted; failures++) {
      const wasOfUse = await this.#runLink(signal);
      if (wasOfUse) failures = 1;
      try {
        await clock.sleep(nextDelayMs(RECONNECT, failures, randomness.fraction()), signal);
      } catch (cause) {
        if (!signal.aborted) throw cause;
      }
    }
  }

  /** Opens one connection and waits until it ends. True when a node answered on it. */
  async #runLink(signal: AbortSignal): Promise<boolean> {
    const opened = Promise.withResolvers<void>();
    const over = new AbortController();
    this.#refusal = undefined;
    const socket = this.#deps.openSocket(this.#options.url, {
      onOpen: () => opened.resolve(),
      onMessage: (data) => link.receive(data),
      onClose: (problem) => {
        this.#lastProblem = problem;
        link.end(problem === FRAME_TOO_LARGE ? { kind: "frameTooLarge" } : { kind: "dropped", problem });
      },
    });
    const { faults, maxMessageBytes, onNotice } = this.#options;
    const now = (): number => this.#deps.clock.now();
    const link = new SocketLink(socket, faults, { maxMessageBytes, now, onNotice });
    if (await this.#awaitOpen(opened.promise, link.ended, signal)) {
      this.#link = link;
      this.#hasConnected = true;
      this.#nextLink.resolve(link);
      this.#options.onLink(link);
      void this.#watch(link, over.signal);
      await link.ended;
      this.#link = undefined;
      this.#nextLink = awaitedLink();
    } else if (!this.#hasConnected) {
      // Only a node that has been there before is worth waiting for: what is wrong with a URL is told at once.
      this.#refusal = new LinkEnded(this.#dropped);
      this.#nextLink.reject(this.#refusal);
      this.#nextLink = awaitedLink();
    }
    over.abort();
    link.end(this.#dropped);
    return link.hasAnswered;
  }

  async #awaitOpen(opened: Promise<void>, ended: Promise<void>, signal: AbortSignal): Promise<boolean> {
    const deadline = { what: "connection", afterMs: CONNECT_TIMEOUT_MS, signal };
    const either = Promise.race([opened.then(() => true), ended.then(() => false)]);
    try {
      return await withDeadline(this.#deps.clock, deadline, () => either);
    } catch (cause) {
      if (signal.aborted) return false;
      if (!(cause instanceof DeadlineFault)) throw cause;
      this.#lastProblem = "no connection in time";
      return false;
    }
  }

  /** Probes the connection when idle, as the WebSocket has no ping. */
  async #watch(link: SocketLink, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const { idleMs } = this.#options;
    while (!signal.aborted) {
      const silentMs = clock.now() - link.lastHeardMs;
      try {
        await clock.sleep(Math.max(idleMs - silentMs, 1), signal);
      } catch (cause) {
        if (signal.aborted) return;
        throw cause;
      }
      if (clock.now() - link.lastHeardMs >= idleMs) await this.probe(link);
    }
  }
}

function awaitedLink(): PromiseWithResolvers<SocketLink> {
  const awaited = Promise.withResolvers<SocketLink>();
  awaited.promise.catch(() => undefined); // nobody may be waiting for it
  return awaited;
}
