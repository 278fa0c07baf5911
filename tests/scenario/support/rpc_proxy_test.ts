import assert from "node:assert/strict";
import { startAnvil } from "../../../devnet/evm/anvil.ts";
import { countSequentialTrips, type ProxiedRequest, type RpcProxy, startRpcProxy } from "./rpc_proxy.ts";

interface Call {
  readonly id: number;
  readonly method: string;
}

/** An endpoint that answers each call with its method, and sockets with what they sent. */
async function withProxy(work: (proxy: RpcProxy) => Promise<void>): Promise<void> {
  const listening = Promise.withResolvers<number>();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: ({ port }) => listening.resolve(port),
  }, async (request) => {
    if (request.headers.get("upgrade") === "websocket") {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }): void => socket.send(data);
      return response;
    }
    const body: Call | Call[] = await request.json();
    const answer = (call: Call): unknown => ({ id: call.id, result: call.method });
    return Response.json(Array.isArray(body) ? body.map(answer) : answer(body));
  });
  const proxy = await startRpcProxy({ upstream: `http://127.0.0.1:${await listening.promise}` });
  try {
    await work(proxy);
  } finally {
    await proxy.stop();
    await server.shutdown();
  }
}

function ask(proxy: RpcProxy, body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(proxy.httpUrl, {
    method: "POST",
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

const call = { id: 1, method: "eth_chainId" };

Deno.test("rpc proxy: passes calls and batches on, and counts requests and calls apart", async () => {
  await withProxy(async (proxy) => {
    assert.deepEqual(await (await ask(proxy, call)).json(), { id: 1, result: "eth_chainId" });
    const batch = [{ id: 1, method: "eth_chainId" }, { id: 2, method: "eth_getLogs" }];
    assert.equal((await (await ask(proxy, batch)).json()).length, 2);
    assert.equal(proxy.httpRequests, 2);
    assert.equal(proxy.countCalls(), 3);
    assert.equal(proxy.countCalls("eth_getLogs"), 1);
    assert.equal(proxy.requests[1]?.isBatch, true);
    proxy.clear();
    assert.equal(proxy.countCalls(), 0);
  });
});

Deno.test("rpc proxy: throttles with and without Retry-After, and only the methods named", async () => {
  await withProxy(async (proxy) => {
    await proxy.setMode({ kind: "throttle", retryAfterSec: 2 });
    const throttled = await ask(proxy, call);
    assert.equal(throttled.status, 429);
    assert.equal(throttled.headers.get("retry-after"), "2");
    await throttled.body?.cancel();
    await proxy.setMode({ kind: "throttle" }, ["eth_getLogs"]);
    assert.equal(await (await ask(proxy, call)).json().then(({ result }) => result), "eth_chainId");
    const second = await ask(proxy, { id: 1, method: "eth_getLogs" });
    assert.equal(second.status, 429);
    assert.equal(second.headers.get("retry-after"), null);
    await second.body?.cancel();
  });
});

Deno.test("rpc proxy: refuses connections when dead and listens on the same port afterwards", async () => {
  await withProxy(async (proxy) => {
    await (await ask(proxy, call)).body?.cancel();
    await proxy.setMode({ kind: "refuse" });
    await assert.rejects(ask(proxy, call), TypeError);
    await proxy.setMode({ kind: "pass" });
    assert.equal((await (await ask(proxy, call)).json()).result, "eth_chainId");
  });
});

Deno.test("rpc proxy: hangs until the caller gives up or the behaviour changes", async () => {
  await withProxy(async (proxy) => {
    await proxy.setMode({ kind: "hang" });
    await assert.rejects(ask(proxy, call, AbortSignal.timeout(50)), { name: "TimeoutError" });
    const waiting = ask(proxy, call);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await proxy.setMode({ kind: "pass" });
    const answer = await waiting;
    assert.equal(answer.status, 502);
    await answer.body?.cancel();
  });
});

Deno.test("rpc proxy: gives half answers of each kind", async () => {
  await withProxy(async (proxy) => {
    await proxy.setMode({ kind: "truncate", what: "json" });
    await assert.rejects((await ask(proxy, call)).json(), SyntaxError);
    await proxy.setMode({ kind: "truncate", what: "transfer" });
    const broken = await ask(proxy, call);
    assert.equal(broken.status, 200);
    await assert.rejects(broken.text(), TypeError);
    await proxy.setMode({ kind: "truncate", what: "batch" });
    assert.equal((await (await ask(proxy, [call, { ...call, id: 2 }])).json()).length, 1);
    await proxy.setMode({ kind: "serverError", status: 503 });
    const failed = await ask(proxy, call);
    assert.equal(failed.status, 503);
    await failed.body?.cancel();
  });
});

Deno.test("rpc proxy: relays sockets, counts their calls and cuts them", async () => {
  await withProxy(async (proxy) => {
    const socket = new WebSocket(proxy.wsUrl);
    const answer = new Promise<string>((resolve) => {
      socket.onmessage = ({ data }): void => resolve(data);
    });
    await new Promise((resolve) => socket.onopen = resolve);
    socket.send(JSON.stringify({ id: 1, method: "chain_getHeader" }));
    assert.equal(JSON.parse(await answer).method, "chain_getHeader");
    assert.equal(proxy.countCalls("chain_getHeader"), 1);
    assert.equal(proxy.httpRequests, 0);
    const closed = new Promise((resolve) => socket.onclose = resolve);
    proxy.cutSockets();
    await closed;
  });
});

Deno.test("rpc proxy: sequential trips are the requests that waited for one another", () => {
  const span = (atMs: number, endedAtMs: number | undefined): ProxiedRequest => ({
    transport: "http",
    atMs,
    endedAtMs,
    status: 200,
    isBatch: false,
    calls: [],
  });
  assert.equal(countSequentialTrips([]), 0);
  assert.equal(countSequentialTrips([span(0, 10), span(1, 9), span(2, 11)]), 1);
  assert.equal(countSequentialTrips([span(0, 10), span(10, 20), span(12, 30), span(21, 22)]), 3);
  assert.equal(countSequentialTrips([span(0, undefined), span(5, 6)]), 1);
});

Deno.test("rpc proxy: a lagging endpoint knows nothing above its head and cuts logs silently, a frozen one learns nothing", async () => {
  await using anvil = await startAnvil({ chainId: 31337, slotsInAnEpoch: 1 });
  await using proxy = await startRpcProxy({ upstream: anvil.rpcUrl });
  const ask = async (method: string, ...params: unknown[]): Promise<Record<string, unknown>> => {
    const body = JSON.stringify([{ jsonrpc: "2.0", id: 7, method, params }]);
    const [answer] = await (await fetch(proxy.httpUrl, { method: "POST", body })).json();
    assert.equal(answer.id, 7);
    return answer;
  };
  await ask("anvil_mine", "0xa");
  await proxy.setMode({ kind: "lag", blocks: 4 });
  assert.equal((await ask("eth_blockNumber")).result, "0x6");
  assert.equal((await ask("eth_getBlockByNumber", "0x7", false)).result, null);
  assert.equal(
    JSON.stringify((await ask("eth_getBlockByNumber", "latest", false)).result).includes('"number":"0x6"'),
    true,
  );
  const account = `0x${"11".repeat(20)}`;
  assert.equal(
    JSON.stringify((await ask("eth_getBalance", account, "0x7")).error).includes("header not found"),
    true,
  );
  assert.equal((await ask("eth_getBalance", account, "0x6")).result, "0x0");
  assert.deepEqual((await ask("eth_getLogs", { fromBlock: "0x5", toBlock: "0x9" })).result, []);
  await proxy.setMode({ kind: "freeze" });
  assert.equal((await ask("eth_blockNumber")).result, "0xa");
  await ask("anvil_mine", "0x5");
  assert.equal((await ask("eth_blockNumber")).result, "0xa");
  await proxy.setMode({ kind: "stray" });
  assert.notEqual((await ask("eth_chainId")).result, "0x7a69");
  assert.equal((await ask("eth_chainId")).result, "0x7a69");
});
