/**
 * A JSON-RPC node with a profile: a proxy for HTTP and WebSockets on one port in front of a node of the devnet.
 * Start reading at {@link startProfiledNode}.
 */
import { serveLocally, type TestServer } from "../../tests/support/test_server.ts";
import { Pipeline } from "./pipeline.ts";
import type { Profile } from "./profile.ts";
import type { Answer, Ask, RpcBehaviour } from "./rpc_behaviour.ts";
import { ProfiledSocket } from "./rpc_socket.ts";

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
  const ask = httpAsk(upstream);
  const sockets = new Set<ProfiledSocket>();
  const cut = profile.behaviours.find(({ kind }) => kind === "cutSockets");
  const upgrade = (request: Request): Response => {
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    const one = new ProfiledSocket(socket, upstream.replace(/^http/, "ws"), pipeline);
    sockets.add(one);
    const timer = cut?.limit !== undefined
      ? setTimeout(() => {
        pipeline.strike("cutSockets");
        one.cut();
      }, cut.limit.played)
      : undefined;
    void one.ended.then(() => {
      clearTimeout(timer);
      sockets.delete(one);
    });
    return response;
  };
  const server: TestServer = serveLocally(
    { onError: () => new Response("upstream connect error", { status: 503 }) },
    async (request) => {
      if (request.headers.get("upgrade")?.toLowerCase() === "websocket") return upgrade(request);
      const text = await request.text();
      const { status, headers, body } = await pipeline.answer(text, {
        transport: "http",
        ask,
        nowMs: performance.now(),
      });
      return new Response(body, { status, headers });
    },
  );
  const host = `127.0.0.1:${server.port}`;
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.cut();
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

function httpAsk(upstream: string): Ask {
  return async ({ id, method, params }): Promise<Answer> => {
    const response = await fetch(upstream, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = await response.json();
    return error === undefined || error === null ? { id, result } : { id, error };
  };
}
