import assert from "node:assert/strict";
import {
  type CallConditions,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
  RpcFault,
  type RpcFaultCode,
} from "../../../src/core/rpc/call.ts";
import type { Json } from "../../../src/core/rpc/json.ts";
import { RpcEndpointSet, type RpcEndpointSetOptions } from "../../../src/core/rpc/endpoint_set.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";
import { catchFault, faultWith, request } from "../../support/rpc_faults.ts";

const never = new AbortController().signal;
const asked = { signal: never };
const head: RpcCall = { method: "eth_blockNumber", params: [] };
const trace: RpcCall = { method: "debug_traceCall", params: [] };

function fault(code: RpcFaultCode, host: string, method = head.method, retryAfterMs?: number): RpcFault {
  const detail = `${code} in the words of ${host}`;
  const place = { chain: "EVM-1", endpointHost: host, method };
  return new RpcFault(code, place, { retryAfterMs, detail });
}

function result(value: unknown): RpcAnswer {
  return { kind: "result", result: value as Json };
}

function failed(...what: Parameters<typeof fault>): RpcAnswer {
  return { kind: "fault", fault: fault(...what) };
}

/** Results of calls, and codes of faults. */
function outcomes(answers: readonly RpcAnswer[]): readonly unknown[] {
  return answers.map((answer) => answer.kind === "result" ? answer.result : answer.fault.code);
}

/** Calls of methods or parameters that tell them apart. */
function callsTo(count: number): readonly RpcCall[] {
  return Array.from({ length: count }, (_, index) => ({ method: `m${index}`, params: [index] }));
}

/** An endpoint by script. A code makes the request fail; a function answers call by call. */
class Scripted implements RpcEndpoint {
  readonly requests: (readonly RpcCall[])[] = [];
  readonly timeoutsMs: (number | undefined)[] = [];
  running = 0;
  mostRunning = 0;
  answer: (call: RpcCall, calls: readonly RpcCall[]) => RpcAnswer | Promise<RpcAnswer>;
  constructor(readonly host: string, readonly script: (RpcFaultCode | RpcFault)[] = []) {
    this.answer = (call) => result(`${host} ${call.method}`);
  }
  async send(calls: readonly RpcCall[], conditions?: CallConditions): Promise<readonly RpcAnswer[]> {
    this.requests.push(calls);
    this.timeoutsMs.push(conditions?.timeoutMs);
    const failure = this.script.shift();
    if (failure instanceof RpcFault) throw failure;
    if (failure !== undefined) throw fault(failure, this.host);
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    try {
      return await Promise.all(calls.map((call) => this.answer(call, calls)));
    } finally {
      this.running--;
    }
  }
}

function endpointSet(
  endpoints: readonly RpcEndpoint[],
  options: Partial<RpcEndpointSetOptions> = {},
  clock = new FakeClock(),
): RpcEndpointSet {
  return new RpcEndpointSet({ clock, randomness: fixedRandomness(0) }, {
    chain: "EVM-1",
    endpoints,
    ...options,
  });
}

/** A set with its clock, and a question to it. */
function clocked(...endpoints: readonly RpcEndpoint[]): {
  readonly clock: FakeClock;
  readonly set: RpcEndpointSet;
  ask(call?: RpcCall): Promise<unknown>;
} {
  const clock = new FakeClock();
  const set = endpointSet(endpoints, {}, clock);
  return { clock, set, ask: (call = head) => request(set, call) };
}

Deno.test("endpoint set: while the first endpoint works, the number of requests does not grow with the number of URLs", async () => {
  const endpoints = ["a", "b", "c", "d", "e"].map((host) => new Scripted(host));
  const many = endpointSet(endpoints);
  for (let i = 0; i < 10; i++) await many.batch([head, trace], asked);
  assert.deepEqual(endpoints.map((endpoint) => endpoint.requests.length), [10, 0, 0, 0, 0]);
});

const failing: readonly RpcFaultCode[] = [
  ...["timeout", "unreachable", "server_error", "malformed", "throttled", "lagging", "pruned"] as const,
  ...["refused", "unauthorized", "not_found", "range_too_wide"] as const,
  // No verdict of a pool unless a transaction is sent.
  ...["nonce_too_low", "insufficient_funds"] as const,
];
for (const code of failing) {
  Deno.test(`endpoint set: after ${code} of the first endpoint the second is asked`, async () => {
    const [a, b] = [new Scripted("a", [code]), new Scripted("b")];
    assert.equal(await request(endpointSet([a, b]), head), "b eth_blockNumber");
    assert.deepEqual([a.requests.length, b.requests.length], [1, 1]);
  });
}

for (
  const code of ["reverted", "nonce_too_low", "already_known", "insufficient_funds", "underpriced"] as const
) {
  Deno.test(`endpoint set: ${code} is the answer to a transaction, no other endpoint is asked`, async () => {
    const [a, b] = [new Scripted("a"), new Scripted("b")];
    const send: RpcCall = { method: "eth_sendRawTransaction", params: [] };
    a.answer = () => failed(code, "a", send.method);
    await assert.rejects(request(endpointSet([a, b]), send), faultWith(code));
    assert.equal(b.requests.length, 0);
  });
}

Deno.test("endpoint set: a 429 with Retry-After 2 pauses that endpoint for two seconds and uses the next (F19)", async () => {
  const [a, b] = [new Scripted("a", [fault("throttled", "a", "eth_call", 2000)]), new Scripted("b")];
  const { clock, ask } = clocked(a, b);
  assert.equal(await ask(), "b eth_blockNumber");
  await clock.advance(1999);
  assert.equal(await ask(), "b eth_blockNumber");
  await clock.advance(1);
  assert.equal(await ask(), "a eth_blockNumber");
});

Deno.test("endpoint set: the pause starts with the second fault in a row, doubles, and ends at ten seconds (F19)", async () => {
  const a = new Scripted("a");
  const { clock, ask } = clocked(a, new Scripted("b"));
  const pausesMs: number[] = [];
  for (let i = 0; i < 9; i++) {
    const askedAtMs = clock.now();
    for (const asked = a.requests.length; a.requests.length === asked;) {
      a.script[0] = "server_error";
      await ask();
      if (a.requests.length === asked) await clock.advance(500);
    }
    pausesMs.push(clock.now() - askedAtMs);
  }
  assert.deepEqual(pausesMs, [0, 0, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
});

Deno.test("endpoint set: after a pause one request finds out, the others use another endpoint meanwhile", async () => {
  const [a, b] = [new Scripted("a", ["throttled"]), new Scripted("b")];
  const { clock, ask } = clocked(a, b);
  await ask();
  await clock.advance(5000);
  const gate = Promise.withResolvers<RpcAnswer>();
  a.answer = () => gate.promise;
  const probe = ask();
  assert.equal(await ask(), "b eth_blockNumber");
  gate.resolve(result("well again"));
  assert.equal(await probe, "well again");
  assert.equal(await ask(), "well again");
});

Deno.test("endpoint set: with one endpoint, the others wait for the request that finds out", async () => {
  const a = new Scripted("a", [fault("throttled", "a", "eth_call", 30_000)]);
  const { clock, ask } = clocked(a);
  await catchFault(ask());
  await clock.advance(30_000);
  const gate = Promise.withResolvers<RpcAnswer>();
  a.answer = () => gate.promise;
  const first = ask();
  const second = ask();
  await clock.settle();
  assert.equal(a.requests.length, 2);
  gate.resolve(result(1));
  assert.deepEqual(await Promise.all([first, second]), [1, 1]);
});

Deno.test("endpoint set: a short pause of the only endpoint is waited for, a long one is a fault with the time left", async () => {
  const a = new Scripted("a", ["server_error", "server_error"]);
  const { clock, ask } = clocked(a);
  await catchFault(ask());
  await catchFault(ask());
  assert.equal(await clock.run(ask()), "a eth_blockNumber");
  a.script.push(fault("throttled", "a", "eth_call", 30_000));
  await catchFault(ask());
  const paused = await catchFault(ask());
  assert.equal(paused.code, "throttled");
  assert.equal(paused.retryAfterMs, 30_000);
  assert.equal(paused.detail, "throttled in the words of a");
  assert.equal(a.requests.length, 4);
});

Deno.test("endpoint set: what the only endpoint throttles is sent again after each pause, for a quarter of a minute", async () => {
  const a = new Scripted("a", ["throttled", "throttled", "throttled"]);
  const { clock, ask } = clocked(a);
  assert.equal(await clock.run(ask()), "a eth_blockNumber");
  assert.equal(clock.now() - new FakeClock().now(), 1000 + 1000 + 2000);
  a.script.push(...Array.from({ length: 9 }, () => "throttled" as const));
  const thrown = await clock.run(catchFault(ask()));
  assert.equal(thrown.code, "throttled");
  // The pauses are 1, 1, 2 and 4 s; the next one, of 8 s, would be beyond.
  assert.equal(a.requests.length, 4 + 5);
});

Deno.test("endpoint set: of a batch of which the only endpoint throttles some calls, these are sent again", async () => {
  const a = new Scripted("a");
  const { clock, set } = clocked(a);
  // Three of five are refused; of three at a time none is.
  a.answer = ({ params: [index] }, { length }) =>
    length > 3 && Number(index) > 1 ? failed("throttled", "a", "eth_call") : result(index);
  assert.deepEqual(outcomes(await clock.run(set.batch(callsTo(5), asked))), [0, 1, 2, 3, 4]);
  assert.deepEqual(a.requests.map(({ length }) => length), [5, 3]);
});

Deno.test("endpoint set: when all are down the fault names each host with its code (F19)", async () => {
  const all = endpointSet([new Scripted("a.example", ["timeout"]), new Scripted("b.example", ["malformed"])]);
  const thrown = await catchFault(request(all, head));
  assert.equal(thrown.code, "timeout");
  assert.equal(thrown.reaction, "retry");
  assert.equal(thrown.where.endpointHost, "a.example, b.example");
  assert.equal(thrown.detail, "a.example: timeout; b.example: malformed");
});

/** Code of the fault when each endpoint fails so, in the order of preference. */
const failures: readonly (readonly [RpcFaultCode, RpcFaultCode, RpcFaultCode])[] = [
  // What one lacks, the one that is down may have: nothing counts as gone, nor our account as empty.
  ["unreachable", "pruned", "unreachable"],
  ["pruned", "unreachable", "unreachable"],
  ["lagging", "timeout", "timeout"],
  ["insufficient_funds", "unreachable", "unreachable"],
];
for (const [first, second, expected] of failures) {
  Deno.test(`endpoint set: of ${first} and ${second} the code is ${expected}`, async () => {
    const all = endpointSet([new Scripted("a", [first]), new Scripted("b", [second])]);
    assert.equal((await catchFault(request(all, head))).code, expected);
  });
}

Deno.test("endpoint set: an endpoint without a method is asked last for it, and stays first for others", async () => {
  const [a, b] = [new Scripted("a"), new Scripted("b")];
  a.answer = ({ method }) => method === trace.method ? failed("missing_method", "a", method) : result("a");
  const { clock, ask } = clocked(a, b);
  assert.equal(await ask(trace), "b debug_traceCall");
  assert.equal(await ask(trace), "b debug_traceCall");
  assert.equal(a.requests.length, 1);
  assert.equal(await ask(), "a");
  await clock.advance(10 * 60_000);
  await ask(trace);
  assert.equal(a.requests.length, 3);
});

Deno.test("endpoint set: when no endpoint has a method, one says so and the others are not asked", async () => {
  const endpoints = ["a", "b", "c"].map((host) => {
    const endpoint = new Scripted(host);
    endpoint.answer = () => failed("missing_method", host, trace.method);
    return endpoint;
  });
  const all = endpointSet(endpoints);
  for (let i = 0; i < 3; i++) {
    await assert.rejects(request(all, trace), faultWith("missing_method"));
  }
  assert.deepEqual(endpoints.map((endpoint) => endpoint.requests.length), [3, 1, 1]);
});

Deno.test("endpoint set: a batch goes whole to one endpoint; the answers with fewer faults are kept", async () => {
  const [a, b] = [new Scripted("a"), new Scripted("b")];
  a.answer = ({ method }) => method === trace.method ? failed("pruned", "a", method) : result("a");
  b.answer = () => failed("pruned", "b");
  assert.deepEqual(outcomes(await endpointSet([a, b]).batch([head, trace], asked)), ["a", "pruned"]);
  assert.deepEqual([a.requests[0]?.length, b.requests[0]?.length], [2, 2]);
});

Deno.test("endpoint set: the size of batches is learned by halving", async () => {
  const a = new Scripted("a");
  const inner = a.send.bind(a);
  const limited: RpcEndpoint = {
    host: "a",
    send: async (calls) => {
      const answers = await inner(calls);
      if (calls.length > 30) throw fault("too_large", "a", "batch(eth_call)");
      return answers;
    },
  };
  const single = endpointSet([limited]);
  const calls = callsTo(100);
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(outcomes(await single.batch(calls, asked)), calls.map(({ method }) => `a ${method}`));
  }
  assert.deepEqual(a.requests.slice(-4).map((request) => request.length), [25, 25, 25, 25]);
});

Deno.test("endpoint set: calls that a node cut off a batch are asked again", async () => {
  const a = new Scripted("a");
  a.answer = (call, calls) =>
    calls.indexOf(call) < 3 ? result(call.method) : failed("too_large", "a", call.method);
  const calls = callsTo(8);
  assert.deepEqual(outcomes(await endpointSet([a]).batch(calls, asked)), calls.map(({ method }) => method));
});

const identity = {
  call: { method: "eth_chainId", params: [] },
  isExpected: (id: unknown): boolean => id === "0x1",
};

Deno.test("endpoint set: an endpoint of another chain is never used, whatever it would answer (F19)", async () => {
  const [wrong, right] = [new Scripted("wrong"), new Scripted("right")];
  wrong.answer = () => result("0x2");
  right.answer = () => result("0x1");
  const both = endpointSet([wrong, right], { identity });
  for (let i = 0; i < 5; i++) assert.equal(await request(both, head), "0x1");
  // Three wrong answers in a row are no accident.
  assert.deepEqual(wrong.requests.map((calls) => calls.length), [2, 2, 2]);
  assert.deepEqual(right.requests.map((calls) => calls.length), [2, 1, 1, 1, 1]);
  const only = new Scripted("wrong");
  const alone = await catchFault(request(endpointSet([only], { identity }), head));
  assert.deepEqual([alone.code, alone.reaction, only.requests.length], ["wrong_chain", "retry", 3]);
});

Deno.test("endpoint set: one request that a balancer sends to another network is asked again, and that is all", async () => {
  const a = new Scripted("a");
  const states: string[] = [];
  let strays = 2;
  a.answer = ({ method }) => result(method === "eth_chainId" && strays-- > 0 ? "0x89" : "0x1");
  const single = endpointSet([a], { identity, onState: (_host, { kind }) => states.push(kind) });
  assert.equal(await request(single, head), "0x1");
  assert.deepEqual([a.requests.length, states], [3, []]);
});

Deno.test("endpoint set: answers that the caller does not accept send it to the next endpoint", async () => {
  const [a, b] = [new Scripted("a"), new Scripted("b")];
  const answers = await endpointSet([a, b]).batch([head], {
    signal: never,
    accept: ([answer], place) =>
      answer?.kind === "result" && answer.result === "a eth_blockNumber"
        ? new RpcFault("lagging", place)
        : undefined,
  });
  assert.deepEqual(outcomes(answers), ["b eth_blockNumber"]);
});

Deno.test("endpoint set: no more requests at once to one endpoint than allowed", async () => {
  const a = new Scripted("a");
  a.answer = async (): Promise<RpcAnswer> => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return result(1);
  };
  const single = endpointSet([a], { maxConcurrent: 3 });
  await Promise.all(Array.from({ length: 20 }, () => request(single, head)));
  assert.equal(a.mostRunning, 3);
  assert.equal(a.requests.length, 20);
});

Deno.test("endpoint set: an abort is no fault, and no other endpoint is asked", async () => {
  const abort = new AbortController();
  const [a, b] = [new Scripted("a"), new Scripted("b")];
  a.answer = (): RpcAnswer => {
    abort.abort(new Error("shutdown"));
    throw abort.signal.reason;
  };
  await assert.rejects(request(endpointSet([a, b]), head, { signal: abort.signal }), /shutdown/);
  assert.equal(b.requests.length, 0);
});

Deno.test("endpoint set: a probe asks an endpoint also while it is paused", async () => {
  const a = new Scripted("a", ["unauthorized", "unauthorized"]);
  const set = endpointSet([a]);
  for (const _ of ["first", "in the pause"]) await assert.rejects(set.probe([head], asked), RpcFault);
  assert.deepEqual(outcomes(await set.probe([head], asked)), ["a eth_blockNumber"]);
});

Deno.test("endpoint set: an endpoint that hangs is given up early while another one is ready, the last one is not", async () => {
  const [a, b] = [new Scripted("a", ["timeout"]), new Scripted("b")];
  await request(endpointSet([a, b]), head);
  assert.deepEqual([a.timeoutsMs, b.timeoutsMs], [[10_000], [undefined]]);
});

Deno.test("endpoint set: a time that the caller names holds for every endpoint", async () => {
  const [a, b] = [new Scripted("a", ["timeout"]), new Scripted("b")];
  await request(endpointSet([a, b]), trace, { signal: never, timeoutMs: 120_000 });
  assert.deepEqual([a.timeoutsMs, b.timeoutsMs], [[120_000], [120_000]]);
});
