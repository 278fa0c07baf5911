import assert from "node:assert/strict";
import { type RpcCall, RpcFault } from "../../../src/core/rpc/call.ts";
import { platformSocket, SocketEndpoint, type SocketEndpointOptions } from "../../../src/core/rpc/socket.ts";
import { translateSubstrateError } from "../../../src/core/rpc/substrate_errors.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { ScriptedNode, SILENCE } from "../../support/scripted_socket.ts";
import { faultWith } from "../../support/rpc_faults.ts";

const { signal } = new AbortController();

const options: SocketEndpointOptions = {
  url: "wss://user:pw@node.example:9944/key-0123456789abcdef",
  chain: "KUSAMA-4009",
  translate: translateSubstrateError,
};
const head = { method: "chain_getHeader", params: [] };

/** A connection to a node of `methods`. */
class Setup extends SocketEndpoint {
  readonly clock: FakeClock;
  readonly node: ScriptedNode;

  constructor(methods: ConstructorParameters<typeof ScriptedNode>[0], maxPayloadBytes?: number) {
    const [clock, node] = [new FakeClock(), new ScriptedNode(methods)];
    super({ clock, openSocket: node.open }, { ...options, maxPayloadBytes });
    this.clock = clock;
    this.node = node;
  }

  /** Results of calls, and codes of faults. */
  async ask(calls: readonly RpcCall[] = [head], timeoutMs?: number): Promise<readonly unknown[]> {
    const answers = await this.clock.run(this.send(calls, { signal, timeoutMs }));
    return answers.map((answer) => answer.kind === "result" ? answer.result : answer.fault.code);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function silentNode(): Setup {
  return new Setup({ chain_getHeader: () => SILENCE, state_call: () => SILENCE });
}

Deno.test("socket: a batch is one message, answered in the order of the calls whatever the node's order", async () => {
  await using socket = new Setup({ add: (a, b) => Number(a) + Number(b) });
  assert.deepEqual(await socket.ask([1, 2, 3].map((each) => ({ method: "add", params: [each, 10] }))), [
    11,
    12,
    13,
  ]);
  assert.deepEqual(socket.node.exchanges, [{ methods: ["add", "add", "add"], isBatch: true }]);
});

Deno.test("socket: a node that takes no batches says so", async () => {
  await using socket = new Setup({ one: () => 1 });
  socket.node.refusesBatches = true;
  const asked = socket.ask([{ method: "one", params: [] }, { method: "one", params: [] }]);
  await assert.rejects(
    asked,
    (fault: unknown) => fault instanceof RpcFault && fault.where.method === "batch",
  );
});

Deno.test("socket: an error without an id about a message's length is about the longest one in flight", async () => {
  const released = Promise.withResolvers<number>();
  await using socket = new Setup({ one: () => released.promise, submit: () => 2 });
  socket.node.maxBytes = 500;
  const batch = socket.send([{ method: "one", params: [] }, { method: "one", params: [] }], { signal });
  await socket.clock.settle();
  assert.deepEqual(await socket.ask([{ method: "submit", params: ["0".repeat(500)] }]), ["too_large"]);
  released.resolve(1);
  assert.deepEqual(await batch, [1, 1].map((result) => ({ kind: "result", result })));
  assert.deepEqual(socket.node.exchanges.map(({ isBatch }) => isBatch), [true, false]);
});

Deno.test("socket: calls in flight when the connection drops are unreachable, and the next call works", async () => {
  await using socket = silentNode();
  const asked = socket.send([head], { signal });
  await socket.clock.settle();
  socket.node.drop("connection closed by the endpoint");
  await assert.rejects(asked, (error: unknown) => {
    assert.ok(error instanceof RpcFault);
    assert.equal(error.code, "unreachable");
    assert.equal(error.message.includes("key-"), false);
    assert.equal(error.where.endpointHost, "node.example:9944");
    return true;
  });
  socket.node.answer("chain_getHeader", () => "header");
  assert.deepEqual(await socket.ask(), ["header"]);
  assert.equal(socket.node.connections, 2);
});

function refusedWith(problem: string): (error: unknown) => boolean {
  return (error) => error instanceof RpcFault && error.code === "unreachable" && error.detail === problem;
}

Deno.test("socket: a node that is not there is unreachable at once, one that hangs after eight seconds, until it is back", async () => {
  await using socket = new Setup({ chain_getHeader: () => 7 });
  const { clock, node } = socket;
  const start = clock.now();
  node.refuseWith = "connection refused";
  await assert.rejects(socket.ask(), refusedWith("connection refused"));
  assert.equal(clock.now(), start);
  node.refuseWith = undefined;
  node.hangs = true;
  await assert.rejects(socket.ask([head], 4_000), refusedWith("no connection in time"));
  await assert.rejects(socket.ask(), refusedWith("no connection in time"));
  assert.equal(clock.now() - start, 8_000);
  node.hangs = false;
  assert.deepEqual(await socket.ask(), [7]);
});

Deno.test("socket: no connection is opened after the end, whatever is called then", async () => {
  const socket = silentNode();
  const asked = socket.send([head], { signal });
  await socket.clock.settle();
  await socket.close();
  await assert.rejects(asked, refusedWith("closed by this program"));
  await assert.rejects(socket.ask(), refusedWith("closed by this program"));
  assert.equal(socket.node.connections, 1);
});

Deno.test("socket: a large answer that comes too late is passed by, and the connection stays", async () => {
  await using socket: Setup = new Setup({
    state_call: () => socket.clock.sleep(2_000, signal).then(() => "0x" + "00".repeat(1_000_000)),
    chain_getHeader: () => 7,
  });
  const late = socket.ask([{ method: "state_call", params: [] }], 1_000);
  await assert.rejects(late, faultWith("timeout"));
  await socket.clock.advance(2_000);
  assert.deepEqual(await socket.ask(), [7]);
  assert.equal(socket.node.connections, 1);
});

Deno.test("socket: a connection on which nothing comes for the time of a call is replaced, one that is idle stays", async () => {
  await using socket = new Setup({ chain_getHeader: () => 1 });
  const { clock, node } = socket;
  await socket.ask();
  await clock.advance(300_000);
  await socket.ask();
  assert.equal(node.connections, 1);
  node.answer("chain_getHeader", () => SILENCE);
  const startMs = clock.now();
  await assert.rejects(socket.ask([head], 5_000), faultWith("timeout"));
  assert.equal(clock.now() - startMs, 5_000);
  assert.equal(node.live, 1);
  await assert.rejects(socket.ask(), faultWith("timeout"));
  assert.equal(node.live, 0);
  node.answer("chain_getHeader", () => 2);
  assert.deepEqual(await socket.ask(), [2]);
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
    options,
  );
  const seven = [{ kind: "result", result: 7 }];
  assert.deepEqual(await clock.run(socket.send([head], { signal })), seven);
  await clock.advance(1_000);
  const hurried = socket.send([head], { signal, timeoutMs: 10_000 });
  await assert.rejects(clock.run(hurried), faultWith("timeout"));
  assert.deepEqual(await clock.run(socket.send([head], { signal })), seven);
  assert.equal(opened.length, 2);
  await socket.close();
});

Deno.test("socket: a request above the payload limit is refused before it is sent", async () => {
  await using socket = new Setup({}, 100);
  const asked = socket.ask([{ method: "author_submitExtrinsic", params: ["0x" + "00".repeat(100)] }]);
  await assert.rejects(asked, faultWith("too_large"));
  assert.equal(socket.node.exchanges.length, 0);
});

Deno.test("socket: an answer above the payload limit is too large", async () => {
  await using socket = new Setup({ long: () => "x".repeat(1_000) }, 500);
  await assert.rejects(socket.ask([{ method: "long", params: [] }]), faultWith("too_large"));
});

Deno.test("socket: an answer that does not fit a frame is too large, and what else was in flight unreachable", async () => {
  await using socket = silentNode();
  const state = socket.send([{ method: "state_call", params: [] }], { signal });
  const long = assert.rejects(state, faultWith("too_large"));
  const short = assert.rejects(socket.send([head], { signal }), faultWith("unreachable"));
  await socket.clock.settle();
  socket.node.drop("frame too large");
  await Promise.all([long, short]);
});

Deno.test("socket: a frame that is too large for any honest answer to a call ends the connection, once", async () => {
  await using socket = new Setup({ chain_getHeader: () => 7 });
  const { clock, node } = socket;
  await socket.ask();
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
  assert.deepEqual(await clock.run(again), [{ kind: "result", result: 8 }]);
  assert.equal(node.connections, 3);
});

Deno.test("socket: an aborted call ends with the signal's reason", async () => {
  await using socket = silentNode();
  const stop = new AbortController();
  const asked = socket.send([head], { signal: stop.signal });
  await socket.clock.settle();
  stop.abort(new Error("shutting down"));
  await assert.rejects(asked, /shutting down/);
});

Deno.test("socket: half an answer is malformed", async () => {
  await using socket = new Setup({ chain_getHeader: () => 7 });
  socket.node.damage = (text) => [text.slice(0, -5)];
  await assert.rejects(socket.ask(), faultWith("malformed"));
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
    { ...options, url: `ws://127.0.0.1:${server.addr.port}` },
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
    { ...options, url: `ws://operator:opensesame@127.0.0.1:${server.addr.port}/rpc/pathkey99` },
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
