import assert from "node:assert/strict";
import { type RpcAnswer, RpcFault } from "../../../src/core/rpc/call.ts";
import { platformSocket, SocketEndpoint, type SocketEndpointOptions } from "../../../src/core/rpc/socket.ts";
import { translateSubstrateError } from "../../../src/core/rpc/substrate_errors.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { ScriptedError, ScriptedNode, SILENCE } from "../../support/scripted_socket.ts";
import { faultWith } from "../../support/rpc_faults.ts";

const { signal } = new AbortController();

interface Setup {
  readonly clock: FakeClock;
  readonly node: ScriptedNode;
  readonly socket: SocketEndpoint;
}

function setUp(
  methods: ConstructorParameters<typeof ScriptedNode>[0],
  options: Partial<SocketEndpointOptions> = {},
): Setup {
  const clock = new FakeClock();
  const node = new ScriptedNode(methods);
  const socket = new SocketEndpoint(
    { clock, openSocket: node.open },
    {
      url: "wss://user:pw@node.example:9944/key-0123456789abcdef",
      chain: "KUSAMA-4009",
      translate: translateSubstrateError,
      ...options,
    },
  );
  return { clock, node, socket };
}

function results(answers: readonly RpcAnswer[]): unknown[] {
  return answers.map((answer) => answer.kind === "result" ? answer.result : answer.fault.code);
}

const head = { method: "chain_getHeader", params: [] };

Deno.test("socket: a batch is one message, answered in the order of the calls whatever the node's order", async () => {
  const { clock, node, socket } = setUp({ add: (a, b) => Number(a) + Number(b) });
  const calls = [1, 2, 3].map((each) => ({ method: "add", params: [each, 10] }));
  assert.deepEqual(results(await clock.run(socket.send(calls, { signal }))), [11, 12, 13]);
  assert.deepEqual(node.exchanges, [{ methods: ["add", "add", "add"], isBatch: true }]);
  await socket.close();
});

Deno.test("socket: integers beyond 2^53 arrive without loss", async () => {
  const { clock, socket } = setUp({ big: () => ({ height: 18446744073709551615n }) });
  const answers = await clock.run(socket.send([{ method: "big", params: [] }], { signal }));
  assert.deepEqual(results(answers), [{ height: 18446744073709551615n }]);
  await socket.close();
});

Deno.test("socket: an error of one call of a batch is that call's answer", async () => {
  const { clock, socket } = setUp({
    good: () => 1,
    bad: () => {
      throw new ScriptedError(1014, "Priority is too low: (100 vs 100)");
    },
  });
  const calls = [{ method: "bad", params: [] }, { method: "good", params: [] }];
  assert.deepEqual(results(await clock.run(socket.send(calls, { signal }))), ["pool_conflict", 1]);
  await socket.close();
});

Deno.test("socket: a node that takes no batches says so", async () => {
  const { clock, node, socket } = setUp({ one: () => 1, two: () => 2 });
  node.refusesBatches = true;
  const calls = [{ method: "one", params: [] }, { method: "two", params: [] }];
  await assert.rejects(
    clock.run(socket.send(calls, { signal })),
    (fault: unknown) => fault instanceof RpcFault && fault.where.method === "batch",
  );
  await socket.close();
});

Deno.test("socket: an error without an id about a message's length is about the longest one in flight", async () => {
  const released = Promise.withResolvers<number>();
  const { clock, node, socket } = setUp({ one: () => released.promise, submit: () => 2 });
  node.maxBytes = 500;
  const batch = socket.send([{ method: "one", params: [] }, { method: "one", params: [] }], { signal });
  await clock.settle();
  const long = socket.send([{ method: "submit", params: ["0".repeat(500)] }], { signal });
  assert.deepEqual(results(await clock.run(long)), ["too_large"]);
  released.resolve(1);
  assert.deepEqual(results(await clock.run(batch)), [1, 1]);
  assert.deepEqual(node.exchanges.map(({ isBatch }) => isBatch), [true, false]);
  await socket.close();
});

Deno.test("socket: calls in flight when the connection drops are unreachable, and the next call works", async () => {
  const { clock, node, socket } = setUp({ chain_getHeader: () => SILENCE });
  const asked = socket.send([head], { signal });
  await clock.settle();
  node.drop("connection closed by the endpoint");
  await assert.rejects(asked, (error: unknown) => {
    assert.ok(error instanceof RpcFault);
    assert.equal(error.code, "unreachable");
    assert.equal(error.message.includes("key-"), false);
    assert.equal(error.where.endpointHost, "node.example:9944");
    return true;
  });
  node.answer("chain_getHeader", () => "header");
  assert.deepEqual(results(await clock.run(socket.send([head], { signal }))), ["header"]);
  assert.equal(node.connections, 2);
  await socket.close();
});

function refusedWith(problem: string): (error: unknown) => boolean {
  return (error) => error instanceof RpcFault && error.code === "unreachable" && error.detail === problem;
}

Deno.test("socket: a node that is not there is unreachable at once, one that hangs after eight seconds, until it is back", async () => {
  const { clock, node, socket } = setUp({ chain_getHeader: () => 7 });
  const start = clock.now();
  node.refuseWith = "connection refused";
  await assert.rejects(clock.run(socket.send([head], { signal })), refusedWith("connection refused"));
  assert.equal(clock.now(), start);
  node.refuseWith = undefined;
  node.hangs = true;
  const hurried = socket.send([head], { signal, timeoutMs: 4_000 });
  await assert.rejects(clock.run(hurried), refusedWith("no connection in time"));
  await assert.rejects(clock.run(socket.send([head], { signal })), refusedWith("no connection in time"));
  assert.equal(clock.now() - start, 8_000);
  node.hangs = false;
  assert.deepEqual(results(await clock.run(socket.send([head], { signal }))), [7]);
  await socket.close();
});

Deno.test("socket: no connection is opened after the end, whatever is called then", async () => {
  const { clock, node, socket } = setUp({ chain_getHeader: () => SILENCE });
  const asked = socket.send([head], { signal });
  await clock.settle();
  await socket.close();
  await assert.rejects(asked, refusedWith("closed by this program"));
  await assert.rejects(clock.run(socket.send([head], { signal })), refusedWith("closed by this program"));
  assert.equal(node.connections, 1);
});

Deno.test("socket: a call without an answer times out at its deadline", async () => {
  const { clock, socket } = setUp({ chain_getHeader: () => SILENCE });
  const start = clock.now();
  await assert.rejects(clock.run(socket.send([head], { signal, timeoutMs: 1_500 })), faultWith("timeout"));
  assert.equal(clock.now() - start, 1_500);
  await socket.close();
});

Deno.test("socket: a large answer that comes too late is passed by, and the connection stays", async () => {
  const { clock, node, socket } = setUp({
    state_call: () => clock.sleep(2_000, signal).then(() => "0x" + "00".repeat(1_000_000)),
    chain_getHeader: () => 7,
  });
  const late = socket.send([{ method: "state_call", params: [] }], { signal, timeoutMs: 1_000 });
  await assert.rejects(clock.run(late), faultWith("timeout"));
  await clock.advance(2_000);
  assert.deepEqual(results(await clock.run(socket.send([head], { signal }))), [7]);
  assert.equal(node.connections, 1);
  await socket.close();
});

Deno.test("socket: a connection on which nothing comes for the time of a call is replaced, one that is idle stays", async () => {
  const { clock, node, socket } = setUp({ chain_getHeader: () => 1 });
  await clock.run(socket.send([head], { signal }));
  await clock.advance(300_000);
  await clock.run(socket.send([head], { signal }));
  assert.equal(node.connections, 1);
  node.answer("chain_getHeader", () => SILENCE);
  const timeout = faultWith("timeout");
  await assert.rejects(clock.run(socket.send([head], { signal, timeoutMs: 5_000 })), timeout);
  assert.equal(node.live, 1);
  await assert.rejects(clock.run(socket.send([head], { signal })), timeout);
  assert.equal(node.live, 0);
  node.answer("chain_getHeader", () => 2);
  assert.deepEqual(results(await clock.run(socket.send([head], { signal }))), [2]);
  await socket.close();
});

Deno.test("socket: a connection that took most of a call's time to open is not given up for its short silence", async () => {
  const clock = new FakeClock();
  const opened: number[] = [];
  const socket = new SocketEndpoint(
    {
      clock,
      openSocket: (_url, events) => {
        opened.push(clock.now());
        clock.after(opened.length === 1 ? 0 : 7_500, () => events.onOpen());
        return {
          send: (text) => {
            const answer = (): void => events.onMessage(`{"id":${JSON.parse(text).id},"result":7}`);
            clock.after(opened.length === 1 ? 0 : 5_000, answer);
            if (opened.length === 1) clock.after(1, () => events.onClose("connection closed"));
          },
          close: () => undefined,
        };
      },
    },
    { url: "ws://node.example", chain: "KUSAMA-4009", translate: translateSubstrateError },
  );
  assert.deepEqual(results(await clock.run(socket.send([head], { signal }))), [7]);
  await clock.advance(1_000);
  const hurried = socket.send([head], { signal, timeoutMs: 10_000 });
  await assert.rejects(clock.run(hurried), faultWith("timeout"));
  assert.deepEqual(results(await clock.run(socket.send([head], { signal }))), [7]);
  assert.equal(opened.length, 2);
  await socket.close();
});

Deno.test("socket: a request above the payload limit is refused before it is sent", async () => {
  const { node, socket } = setUp({}, { maxPayloadBytes: 100 });
  await assert.rejects(
    socket.send([{ method: "author_submitExtrinsic", params: ["0x" + "00".repeat(100)] }], { signal }),
    faultWith("too_large"),
  );
  assert.equal(node.exchanges.length, 0);
  await socket.close();
});

Deno.test("socket: an answer above the payload limit is too large", async () => {
  const { clock, socket } = setUp({ long: () => "x".repeat(1_000) }, { maxPayloadBytes: 500 });
  const asked = socket.send([{ method: "long", params: [] }], { signal });
  await assert.rejects(clock.run(asked), faultWith("too_large"));
  await socket.close();
});

Deno.test("socket: an answer that does not fit a frame is too large, and what else was in flight unreachable", async () => {
  const { clock, node, socket } = setUp({ state_call: () => SILENCE, chain_getHeader: () => SILENCE });
  const state = socket.send([{ method: "state_call", params: [] }], { signal });
  const long = assert.rejects(state, faultWith("too_large"));
  const short = assert.rejects(socket.send([head], { signal }), faultWith("unreachable"));
  await clock.settle();
  node.drop("frame too large");
  await Promise.all([long, short]);
  await socket.close();
});

Deno.test("socket: a frame that is too large for any honest answer to a call ends the connection, once", async () => {
  const { clock, node, socket } = setUp({ chain_getHeader: () => 7 });
  await clock.run(socket.send([head], { signal }));
  node.drop();
  await clock.advance(500);
  node.answer("chain_getHeader", () => SILENCE);
  const asked = assert.rejects(socket.send([head], { signal }), faultWith("oversized"));
  await clock.settle();
  node.drop("frame too large");
  await asked;
  node.answer("chain_getHeader", () => 8);
  const again = socket.send([head], { signal });
  await clock.advance(1_000); // the pause after the second failure; 2 s after a third
  assert.deepEqual(results(await clock.run(again)), [8]);
  assert.equal(node.connections, 3);
  await socket.close();
});

Deno.test("socket: an aborted call ends with the signal's reason", async () => {
  const { clock, socket } = setUp({ chain_getHeader: () => SILENCE });
  const stop = new AbortController();
  const asked = socket.send([head], { signal: stop.signal });
  await clock.settle();
  stop.abort(new Error("shutting down"));
  await assert.rejects(asked, /shutting down/);
  await socket.close();
});

Deno.test("socket: half an answer is malformed", async () => {
  const { clock, node, socket } = setUp({ chain_getHeader: () => 7 });
  node.damage = (text) => [text.slice(0, -5)];
  await assert.rejects(clock.run(socket.send([head], { signal })), faultWith("malformed"));
  await socket.close();
});

Deno.test("socket: the runtime's WebSocket refuses a frame of 65 MiB, and the call is too large", async () => {
  const long = "z".repeat(65 * 1024 * 1024);
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.addEventListener("message", () => socket.send(long));
    return response;
  });
  const socket = new SocketEndpoint(
    { clock: systemClock, openSocket: platformSocket },
    {
      url: `ws://127.0.0.1:${server.addr.port}`,
      chain: "KUSAMA-4009",
      translate: translateSubstrateError,
    },
  );
  const asked = socket.send([{ method: "state_call", params: [] }], { signal });
  await assert.rejects(asked, faultWith("too_large"));
  await socket.close();
  await server.shutdown();
});

Deno.test("socket: user and password are sent, and nothing of them or of the path is in a fault that repeats them", async () => {
  let sent: string | null = null;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    sent = request.headers.get("authorization");
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.addEventListener("message", ({ data }) => {
      const { id } = JSON.parse(data);
      const message = `no: ${request.url} ${sent} operator opensesame pathkey99`;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }));
    });
    return response;
  });
  const socket = new SocketEndpoint(
    { clock: systemClock, openSocket: platformSocket },
    {
      url: `ws://operator:opensesame@127.0.0.1:${server.addr.port}/rpc/pathkey99`,
      chain: "KUSAMA-4009",
      translate: translateSubstrateError,
    },
  );
  const [answer] = await socket.send([{ method: "state_call", params: [] }], { signal });
  assert.equal(sent, `Basic ${btoa("operator:opensesame")}`);
  assert.equal(answer?.kind === "fault" && answer.fault.detail?.includes("[secret]"), true);
  const shown = answer?.kind === "fault" ? Deno.inspect(answer.fault) : "";
  for (const secret of ["operator", "opensesame", "pathkey99", btoa("operator:opensesame")]) {
    assert.ok(!shown.includes(secret), shown);
  }
  await socket.close();
  await server.shutdown();
});

Deno.test("socket: the runtime's problems with a connection are reported in our words", async () => {
  const web = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("a page"),
  );
  const problemAt = (url: string): Promise<string> =>
    new Promise((resolve) => {
      platformSocket(url, { onOpen: () => resolve("opened"), onMessage: () => {}, onClose: resolve });
    });
  const { port } = web.addr;
  assert.equal(await problemAt(`ws://127.0.0.1:${port}/secret`), "no WebSocket there (HTTP 200)");
  await web.shutdown();
  const refused = await problemAt(`ws://127.0.0.1:${port}/secret`);
  assert.equal(refused, "connection refused, or the host cannot be reached");
  assert.equal(await problemAt("ws://no-such-host.invalid/secret"), "host name not found");
});
