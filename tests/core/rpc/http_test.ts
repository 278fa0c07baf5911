import assert from "node:assert/strict";
import { translateEvmError } from "../../../src/core/rpc/evm_errors.ts";
import type { RpcCall, RpcEndpoint, RpcFaultCode } from "../../../src/core/rpc/call.ts";
import { HttpEndpoint, type HttpEndpointOptions } from "../../../src/core/rpc/http.ts";
import { readRetryAfterMs } from "../../../src/core/rpc/http_exchange.ts";
import type { Clock } from "../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import {
  type Answerer,
  type Fault,
  hang,
  httpStatus,
  ScriptedError,
  scriptedFetch,
  ScriptedRpc,
  type WireAnswer,
} from "../../support/scripted_rpc.ts";
import { catchFault } from "../../support/rpc_faults.ts";

const never = new AbortController().signal;
const one: readonly RpcCall[] = [{ method: "eth_blockNumber", params: [] }];
const two: readonly RpcCall[] = [...one, { method: "eth_chainId", params: [] }];

function endpoint(
  url: string,
  options: Partial<HttpEndpointOptions> = {},
  clock: Clock = systemClock,
  fetch = scriptedFetch,
): RpcEndpoint {
  return new HttpEndpoint({ fetch, clock }, {
    chain: "EVM-1",
    translate: translateEvmError,
    url,
    ...options,
  });
}

/** A node with these methods beside its height and id, and an endpoint that reaches it. */
function node(
  methods: Readonly<Record<string, Answerer>> = {},
): { readonly rpc: ScriptedRpc; readonly http: RpcEndpoint } {
  const rpc = new ScriptedRpc({ eth_blockNumber: () => "0x10", eth_chainId: () => "0x1", ...methods });
  return { rpc, http: endpoint(rpc.url) };
}

Deno.test("http: one call goes as one object, several as one array, answers in the order of the calls", async () => {
  const { rpc, http } = node();
  assert.deepEqual(await http.send(one, { signal: never }), [{ kind: "result", result: "0x10" }]);
  assert.deepEqual(await http.send(two, { signal: never }), [
    { kind: "result", result: "0x10" },
    { kind: "result", result: "0x1" },
  ]);
  assert.deepEqual(await http.send([], { signal: never }), []);
  assert.deepEqual(rpc.requests.map((request) => request.length), [1, 2]);
  assert.equal(rpc.lastInit.redirect, "manual");
});

Deno.test("http: an error of one call is a fault of that call only, with the revert data", async () => {
  const { rpc, http } = node({ eth_call: () => new ScriptedError(3, "execution reverted", "0x2ad4ae2e") });
  const [first, second] = await http.send([{ method: "eth_call", params: [] }, ...one], { signal: never });
  assert.equal(second?.kind, "result");
  assert.equal(first?.kind, "fault");
  assert.equal(first.fault.code, "reverted");
  assert.equal(first.fault.data, "0x2ad4ae2e");
  assert.equal(first.fault.where.method, "eth_call");
  assert.equal(first.fault.where.endpointHost, rpc.host);
});

/** Sends something else than the right answers: of one call a single one. */
function instead(change: (answers: readonly WireAnswer[]) => unknown): Fault {
  return (calls, answers) => {
    const changed = change(answers);
    return Response.json(Array.isArray(changed) && calls.length === 1 ? changed[0] : changed);
  };
}

/** Refuses requests of several calls with one error object. */
function refusing(code: number, message: string): Fault {
  return instead(() => ({ jsonrpc: "2.0", id: null, error: { code, message } }));
}

const half: Fault = (_, [answer]) => new Response(JSON.stringify(answer).slice(0, 12));
/** The connection breaks within the answer. */
const cut: Fault = (_, [answer]) => {
  const parts = [new TextEncoder().encode(JSON.stringify(answer).slice(0, 12))];
  return new Response(
    new ReadableStream({
      pull: (controller) => {
        const part = parts.shift();
        if (part === undefined) controller.error(new Error("cut"));
        else controller.enqueue(part);
      },
    }),
  );
};
const otherIds = instead((answers) => answers.map((each) => ({ ...each, id: each.id + 1_000_000 })));
const sameIds = instead((answers) => answers.map((each) => ({ ...each, id: answers[0]?.id })));
/** Geth answers the first call of a batch that is too long. */
const tooLongForGeth = instead((answers) => [
  { jsonrpc: "2.0", id: answers[0]?.id, error: { code: -32600, message: "batch too large" } },
]);

const broken: readonly (readonly [string, Fault, readonly RpcCall[], RpcFaultCode, string?])[] = [
  ["half a JSON text", half, one, "malformed"],
  ["a connection that breaks within the answer", cut, one, "unreachable"],
  ["a web page", () => new Response("<html><body>Welcome</body></html>"), one, "malformed"],
  ["an answer with another id", otherIds, one, "malformed"],
  ["a batch with other ids", otherIds, two, "malformed"],
  ["a batch with an id twice", sameIds, two, "malformed"],
  ["a batch with an answer missing", instead((answers) => answers.slice(0, -1)), two, "malformed"],
  ["HTTP 500", httpStatus(500), one, "server_error"],
  ["HTTP 503", httpStatus(503), two, "server_error"],
  ["HTTP 413", httpStatus(413), two, "too_large"],
  ["HTTP 401", httpStatus(401), one, "unauthorized"],
  ["HTTP 403", httpStatus(403), two, "unauthorized"],
  ["HTTP 404", httpStatus(404), one, "unauthorized"],
  ["HTTP 405", httpStatus(405), one, "unauthorized"],
  ["HTTP 422", httpStatus(422), one, "refused"],
  ["HTTP 524", httpStatus(524), one, "timeout"],
  ["HTTP 418", httpStatus(418), one, "unauthorized"],
  ["HTTP 400", httpStatus(400), one, "refused"],
  ["HTTP 400 to a batch", httpStatus(400), two, "missing_method", "batch"],
  ["HTTP 405 to a batch", httpStatus(405), two, "missing_method", "batch"],
  ["a redirect", httpStatus(307, { location: "http://127.0.0.1:1/" }), one, "unauthorized"],
  ["HTTP 429", httpStatus(429), one, "throttled"],
  [
    "an error object to a batch",
    refusing(-32600, "batch requests are not supported"),
    two,
    "missing_method",
    "batch",
  ],
  ["a rate limit for a batch as a whole", refusing(-32005, "rate limit exceeded"), two, "throttled"],
  ["a batch that is too long", refusing(-32600, "maximum batch size is 1"), two, "too_large"],
  ["a batch that is too long for Geth", tooLongForGeth, two, "too_large"],
];

for (const [what, fault, calls, code, method] of broken) {
  Deno.test(`http: ${what}: ${code}`, async () => {
    const { rpc, http } = node();
    rpc.fault = fault;
    const thrown = await catchFault(http.send(calls, { signal: never }));
    assert.equal(thrown.code, code);
    if (method !== undefined) assert.equal(thrown.where.method, method);
  });
}

Deno.test("http: a null result is a result; an answer with neither result nor error is malformed", async () => {
  const { http } = node({ eth_getTransactionReceipt: () => null, odd: () => undefined });
  const calls = ["eth_getTransactionReceipt", "odd"].map((method) => ({ method, params: [] }));
  const answers = await http.send(calls, { signal: never });
  assert.deepEqual(answers[0], { kind: "result", result: null });
  assert.equal(answers[1]?.kind === "fault" ? answers[1].fault.code : undefined, "malformed");
});

function answering(body: string, status: number): RpcEndpoint {
  return endpoint("http://node", {}, systemClock, () => Promise.resolve(new Response(body, { status })));
}

Deno.test("http: numbers beyond 2^53 arrive exactly", async () => {
  const exact = answering('{"jsonrpc":"2.0","id":1,"result":18446744073709551615}', 200);
  const [answer] = await exact.send(one, { signal: never });
  assert.deepEqual(answer, { kind: "result", result: 18446744073709551615n });
});

Deno.test("http: an error without an id, also one that is only a text, belongs to the single call", async () => {
  const bodies = [
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"rate limit exceeded"}}',
    '{"error":"Too Many Requests"}',
  ];
  for (const body of bodies) {
    const [answer] = await answering(body, 400).send(one, { signal: never });
    assert.equal(answer?.kind === "fault" ? answer.fault.code : undefined, "throttled");
  }
});

Deno.test("http: Retry-After is read as seconds, a date or Unix time, and is at most five minutes", () => {
  const nowMs = Date.UTC(2026, 0, 1);
  const rows: readonly (readonly [string | null, number | undefined])[] = [
    [null, undefined],
    ["soon", undefined],
    ["2", 2_000],
    ["0.5", 500],
    [new Date(nowMs + 90_000).toUTCString(), 90_000],
    [new Date(nowMs - 90_000).toUTCString(), 0],
    [String(nowMs / 1_000 + 2), 2_000],
    [String(nowMs + 2_000), 2_000],
    // A day; milliseconds; a year; Unix time of the next month.
    ["86400", 300_000],
    ["60000", 300_000],
    ["31536000", 300_000],
    [String(nowMs / 1_000 + 31 * 86_400), 300_000],
  ];
  for (const [header, pauseMs] of rows) {
    assert.equal(readRetryAfterMs(header, nowMs), pauseMs, String(header));
  }
});

Deno.test("http: an endpoint that hangs is a timeout at the deadline of the call", async () => {
  const { rpc } = node();
  rpc.fault = hang;
  const clock = new FakeClock();
  const fault = catchFault(endpoint(rpc.url, {}, clock).send(one, { signal: never, timeoutMs: 5000 }));
  await clock.advance(4999);
  assert.equal(clock.pending, 1);
  await clock.advance(1);
  assert.equal((await fault).code, "timeout");
});

Deno.test("http: the caller's abort ends the request with the caller's reason and leaves no timer", async () => {
  const { rpc } = node();
  rpc.fault = hang;
  const clock = new FakeClock();
  const http = endpoint(rpc.url, {}, clock);
  const abort = new AbortController();
  const sent = http.send(one, { signal: abort.signal });
  abort.abort(new Error("shutdown"));
  await assert.rejects(sent, /shutdown/);
  assert.equal(clock.pending, 0);
  await assert.rejects(http.send(one, { signal: abort.signal }), /shutdown/);
});

Deno.test("http: an answer beyond the size limit is too_large", async () => {
  const { rpc } = node({ big: () => "x".repeat(5000) });
  const fault = await catchFault(
    endpoint(rpc.url, { maxResponseBytes: 4000 }).send([{ method: "big", params: [] }], { signal: never }),
  );
  assert.equal(fault.code, "too_large");
});

Deno.test("http: user and password travel as a header; nothing of the URL but the host is in a fault", async () => {
  const { rpc } = node();
  const secretUrl =
    `http://alice:s3cretpass@${rpc.host}/v2/9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c?key=topsecretkey1234567890`;
  const http = endpoint(secretUrl);
  await http.send(one, { signal: never });
  assert.equal(new Headers(rpc.lastInit.headers).get("authorization"), `Basic ${btoa("alice:s3cretpass")}`);

  const parts = `alice s3cretpass ${
    btoa("alice:s3cretpass")
  } 9F8A7B6C5D4E3F2A1B0C9D8E7F6A5B4C topsecretkey1234567890`;
  rpc.on(
    "eth_call",
    () => new ScriptedError(-32000, `${parts} upstream ${secretUrl} said no\n${"y ".repeat(400)}`),
  );
  const [answer] = await http.send([{ method: "eth_call", params: [] }], { signal: never });
  assert.equal(answer?.kind, "fault");
  assert.ok((answer.fault.detail?.length ?? 0) <= 300);
  const dead = endpoint("http://alice:s3cretpass@127.0.0.1:1/9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c");
  for (const fault of [answer.fault, await catchFault(dead.send(one, { signal: never }))]) {
    const shown = Deno.inspect(fault) + String(fault.stack) + JSON.stringify(fault) + String(fault.cause);
    for (const secret of ["alice", "s3cret", btoa("alice:s3cretpass"), "9f8a7b6c", "topsecret"]) {
      assert.ok(!shown.toLowerCase().includes(secret.toLowerCase()), secret);
    }
  }
});

Deno.test("http: a refused connection and an unknown host are unreachable", async () => {
  const refused = await catchFault(endpoint("http://127.0.0.1:1").send(one, { signal: never }));
  assert.equal(refused.code, "unreachable");
  assert.equal(refused.detail, "connection refused");
  assert.equal(refused.where.endpointHost, "127.0.0.1:1");
});
