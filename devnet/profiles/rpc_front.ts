/**
 * A JSON-RPC node with a profile: a proxy for HTTP and WebSockets on one port in front of a node of the devnet.
 * Start reading at {@link startProfiledNode}.
 */
import { serveLocally, type TestServer } from "../../tests/support/test_server.ts";
import { Pipeline } from "./pipeline.ts";
import type { Profile } from "./profile.ts";
import type { Reply } from "./refusal.ts";
import type { Answer, Ask, RpcBehaviour } from "./rpc_behaviour.ts";

/** A running proxy. */
export interface ProfiledNode extends AsyncDisposable {
  readonly profile: Profile<RpcBehaviour>;
  /** `127.0.0.1:<port>`, as logs name it. */
  readonly host: string;
  readonly httpUrl: string;
  readonly wsUrl: string;
  /** How often each behaviour has changed what a client got. */
  readonly strikes: ReadonlyMap<RpcBehaviour["kind"], number>;
  stop(): Promise<void>;
}

/** Starts a proxy with the behaviours of `profile` in front of the node at `upstream` (`http://...`). */
export function startProfiledNode(upstream: string, profile: Profile<RpcBehaviour>): ProfiledNode {
  const pipeline = new Pipeline(profile.behaviours);
  const end = new AbortController();
  const ask = httpAsk(upstream, end.signal);
  const answer = (text: string): Promise<Reply> => pipeline.answer(text, { ask, nowMs: performance.now() });
  const sockets = new Set<WebSocket>();
  const cut = profile.behaviours.find(({ kind }) => kind === "cutSockets");
  const upgrade = (request: Request): Response => {
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    sockets.add(socket);
    const timer = cut?.limit && setTimeout(() => {
      pipeline.strike("cutSockets");
      close(socket);
    }, cut.limit.played);
    socket.onmessage = async ({ data }): Promise<void> => {
      // Without the node the connection ends, as behind a balancer.
      const reply = await answer(String(data)).catch(() => undefined);
      if (reply === undefined) close(socket);
      else if (socket.readyState === WebSocket.OPEN) socket.send(reply.body);
    };
    socket.onclose = (): void => {
      clearTimeout(timer);
      sockets.delete(socket);
    };
    return response;
  };
  const server: TestServer = serveLocally(
    { onError: () => new Response("upstream connect error", { status: 503 }) },
    async (request) => {
      if (request.headers.get("upgrade")?.toLowerCase() === "websocket") return upgrade(request);
      const { status, headers, body } = await answer(await request.text());
      return new Response(body, { status, headers });
    },
  );
  const host = `127.0.0.1:${server.port}`;
  const stop = async (): Promise<void> => {
    end.abort();
    sockets.forEach(close);
    await server.stop();
  };
  return {
    profile,
    host,
    httpUrl: `http://${host}`,
    wsUrl: `ws://${host}`,
    get strikes() {
      return pipeline.strikes;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function close(socket: WebSocket): void {
  if (socket.readyState === WebSocket.OPEN) socket.close();
}

function httpAsk(upstream: string, signal: AbortSignal): Ask {
  return async ({ id, method, params }): Promise<Answer> => {
    const response = await fetch(upstream, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal,
    });
    const { result, error } = await response.json();
    return error === undefined || error === null ? { id, result } : { id, error };
  };
}
