import assert from "node:assert/strict";
import { startAnvil } from "../../../devnet/evm/anvil.ts";
import { serveLocally } from "../../support/test_server.ts";
import { type ProxyMode, type RpcProxy, startRpcProxy } from "./rpc_proxy.ts";

interface Call {
  readonly id: number;
  readonly method: string;
}

/** An endpoint that answers each call with its method, and sockets with what they sent. */
async function withProxy(work: (proxy: RpcProxy) => Promise<void>): Promise<void> {
  await using server = serveLocally({}, async (request) => {
    if (request.headers.get("upgrade") === "websocket") {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }): void => socket.send(data);
      return response;
    }
    const body: Call | Call[] = await request.json();
    const answer = (call: Call): unknown => ({ id: call.id, result: call.method });
    return Response.json(Array.isArray(body) ? body.map(answer) : answer(body));
  });
  await using proxy = await startRpcProxy({ upstream: `http://127.0.0.1:${server.port}` });
  await work(proxy);
}

const call = { id: 1, method: "eth_chainId" };
const batch = [call, { id: 2, method: "eth_getLogs" }];

/** What a client sees: the status with what it reads of the answer, or the name of the failure. */
async function seen(proxy: RpcProxy, body: unknown, signal = AbortSignal.timeout(60_000)): Promise<unknown> {
  try {
    const response = await fetch(proxy.httpUrl, { method: "POST", body: JSON.stringify(body), signal });
    const text = await response.text();
    return response.status === 200 ? JSON.parse(text) : response.status;
  } catch (error) {
    return error instanceof Error ? error.name : error;
  }
}

Deno.test("rpc proxy: what a client sees in each mode, and that requests and calls are counted apart", () =>
  withProxy(async (proxy) => {
    const whole = [{ id: 1, result: "eth_chainId" }, { id: 2, result: "eth_getLogs" }];
    const cases: readonly (readonly [ProxyMode, expected: unknown])[] = [
      [{ kind: "pass" }, whole],
      [{ kind: "throttle", retryAfterSec: 2 }, 429],
      [{ kind: "serverError", status: 503 }, 503],
      [{ kind: "truncate", what: "json" }, "SyntaxError"],
      [{ kind: "truncate", what: "transfer" }, "TypeError"],
      [{ kind: "truncate", what: "batch" }, whole.slice(0, 1)],
      [{ kind: "refuse" }, "TypeError"],
      [{ kind: "pass" }, whole],
    ];
    for (const [mode, expected] of cases) {
      await proxy.setMode(mode);
      assert.deepEqual(await seen(proxy, batch), expected, mode.kind);
    }
    assert.deepEqual([proxy.httpRequests, proxy.countCalls(), proxy.countCalls("eth_getLogs")], [7, 14, 7]);
    await proxy.setMode({ kind: "throttle" }, ["eth_getLogs"]);
    assert.deepEqual([await seen(proxy, call), await seen(proxy, batch)], [whole[0], 429]);
    await proxy.setMode({ kind: "hang" });
    assert.equal(await seen(proxy, call, AbortSignal.timeout(50)), "TimeoutError");
    proxy.clear();
    assert.equal(proxy.countCalls(), 0);
  }));

Deno.test("rpc proxy: relays sockets, counts their calls and cuts them", () =>
  withProxy(async (proxy) => {
    const socket = new WebSocket(proxy.wsUrl);
    const answer = new Promise<string>((resolve) => {
      socket.onmessage = ({ data }): void => resolve(data);
    });
    await new Promise((resolve) => socket.onopen = resolve);
    socket.send(JSON.stringify({ id: 1, method: "chain_getHeader" }));
    assert.equal(JSON.parse(await answer).method, "chain_getHeader");
    assert.deepEqual([proxy.countCalls("chain_getHeader"), proxy.httpRequests], [1, 0]);
    const closed = new Promise((resolve) => socket.onclose = resolve);
    proxy.cutSockets();
    await closed;
  }));

Deno.test("rpc proxy: a lagging endpoint knows nothing above its head and cuts logs silently", async () => {
  await using anvil = await startAnvil({ chainId: 31337, slotsInAnEpoch: 1 });
  await using proxy = await startRpcProxy({ upstream: anvil.rpcUrl });
  const ask = async (method: string, ...params: unknown[]): Promise<Record<string, unknown>> => {
    const body = JSON.stringify([{ jsonrpc: "2.0", id: 7, method, params }]);
    const [answer] = await (await fetch(proxy.httpUrl, { method: "POST", body })).json();
    return answer;
  };
  await ask("anvil_mine", "0xa");
  await proxy.setMode({ kind: "lag", blocks: 4 });
  assert.equal((await ask("eth_blockNumber")).result, "0x6");
  assert.equal((await ask("eth_getBlockByNumber", "0x7", false)).result, null);
  const newest = JSON.stringify((await ask("eth_getBlockByNumber", "latest", false)).result);
  assert.ok(newest.includes('"number":"0x6"'));
  const account = `0x${"11".repeat(20)}`;
  const refused = JSON.stringify((await ask("eth_getBalance", account, "0x7")).error);
  assert.ok(refused.includes("header not found"));
  assert.equal((await ask("eth_getBalance", account, "0x6")).result, "0x0");
  assert.deepEqual((await ask("eth_getLogs", { fromBlock: "0x5", toBlock: "0x9" })).result, []);
});
