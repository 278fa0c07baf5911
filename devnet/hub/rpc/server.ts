/**
 * HTTP and WebSocket on one port. Can be stopped and started again on the same port.
 */
import type { RpcDispatcher, SubscriptionHost } from "./dispatcher.ts";
import { ConnectionFault } from "./faults.ts";
import { notificationText } from "./json_rpc.ts";
import type { RpcSubscription } from "./method.ts";

/** A listening server. */
export interface RpcServer {
  readonly port: number;
  /** Closes the port and every connection. */
  stop(): Promise<void>;
}

/** Listens on 127.0.0.1. @param port 0 takes a free one. */
export function startRpcServer(dispatcher: RpcDispatcher, port: number): RpcServer {
  const abort = new AbortController();
  const sockets = new Set<WebSocket>();
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", signal: abort.signal, onListen: () => {} },
    (request) => {
      if (request.headers.get("upgrade")?.toLowerCase() === "websocket") {
        const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
        serveSocket(dispatcher, socket, sockets, abort.signal);
        return response;
      }
      return serveHttp(dispatcher, request, abort.signal);
    },
  );
  return {
    port: server.addr.port,
    async stop(): Promise<void> {
      const closing = [...sockets].map((socket) =>
        new Promise<void>((resolve) => {
          if (socket.readyState === WebSocket.CLOSED) return resolve();
          socket.addEventListener("close", () => resolve());
          socket.close(1001, "server stops");
        })
      );
      abort.abort();
      await Promise.race([
        Promise.all(closing),
        new Promise<void>((resolve) => AbortSignal.timeout(1000).addEventListener("abort", () => resolve())),
      ]);
      await server.finished;
    },
  };
}

const jsonHeaders = { "content-type": "application/json; charset=utf-8" };

async function serveHttp(
  dispatcher: RpcDispatcher,
  request: Request,
  signal: AbortSignal,
): Promise<Response> {
  if (request.method !== "POST") {
    return new Response("Used HTTP Method is not allowed. POST is required\n", { status: 405 });
  }
  const ends = AbortSignal.any([signal, request.signal]);
  try {
    const answer = await dispatcher.answer(await request.text(), "http", undefined, ends);
    return new Response(answer ?? "", { headers: jsonHeaders });
  } catch (error) {
    if (!(error instanceof ConnectionFault)) throw error;
    return await faultyResponse(error.fault, ends);
  }
}

async function faultyResponse(fault: ConnectionFault["fault"], ends: AbortSignal): Promise<Response> {
  switch (fault.kind) {
    case "status":
      return new Response("", { status: fault.status, headers: { ...fault.headers } });
    case "hang":
      await aborted(ends);
      return new Response("", { status: 503 });
    case "truncate":
      return brokenResponse('{"jsonrpc":"2.0","result":['.slice(0, fault.bytes));
    case "drop":
      return brokenResponse("");
  }
}

/** Headers, then `start` of a body, then a broken connection. */
function brokenResponse(start: string): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller): void {
      if (start !== "") controller.enqueue(new TextEncoder().encode(start));
    },
    pull(controller): void {
      controller.error(new Error("Connection dropped on demand"));
    },
  });
  return new Response(body, { headers: jsonHeaders });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function serveSocket(
  dispatcher: RpcDispatcher,
  socket: WebSocket,
  sockets: Set<WebSocket>,
  signal: AbortSignal,
): void {
  const subscriptions = new SocketSubscriptions(socket);
  sockets.add(socket);
  socket.addEventListener("close", () => {
    sockets.delete(socket);
    subscriptions.closeAll();
  });
  socket.addEventListener("message", async (event) => {
    const text = typeof event.data === "string" ? event.data : new TextDecoder().decode(event.data);
    try {
      const answer = await dispatcher.answer(text, "ws", subscriptions, signal);
      if (answer !== undefined && socket.readyState === WebSocket.OPEN) socket.send(answer);
      subscriptions.startWaiting();
    } catch (error) {
      if (!(error instanceof ConnectionFault)) throw error;
      breakSocket(socket, error.fault);
    }
  });
}

function breakSocket(socket: WebSocket, fault: ConnectionFault["fault"]): void {
  switch (fault.kind) {
    case "hang":
      return;
    case "truncate":
      socket.send('{"jsonrpc":"2.0","result":['.slice(0, fault.bytes));
      return;
    case "drop":
    case "status":
      socket.close(1011, "closed on demand");
  }
}

/** Subscriptions of one socket. */
class SocketSubscriptions implements SubscriptionHost {
  readonly #socket: WebSocket;
  readonly #stops = new Map<string, () => void>();
  #waiting: { readonly id: string; readonly subscription: RpcSubscription }[] = [];

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  open(subscription: RpcSubscription): string {
    const id = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    this.#waiting.push({ id, subscription });
    return id;
  }

  close(id: string): boolean {
    const stop = this.#stops.get(id);
    stop?.();
    return this.#stops.delete(id);
  }

  /** Begins the subscriptions whose ids have been sent. */
  startWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { id, subscription } of waiting) {
      this.#stops.set(id, () => {});
      const send = (result: unknown): void => {
        if (!this.#stops.has(id) || this.#socket.readyState !== WebSocket.OPEN) return;
        this.#socket.send(notificationText(subscription.notification, id, result));
      };
      const stop = subscription.start(send, () => this.close(id));
      if (this.#stops.has(id)) this.#stops.set(id, stop);
      else stop();
    }
  }

  closeAll(): void {
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }
}
