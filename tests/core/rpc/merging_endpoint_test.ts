/** Requests of several callers as one: what is shared, for how long, and what is not. */
import assert from "node:assert/strict";
import {
  type CallConditions,
  reactionTo,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
  RpcFault,
  type RpcFaultCode,
} from "../../../src/core/rpc/call.ts";
import { MergingEndpoint } from "../../../src/core/rpc/merging_endpoint.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const never = new AbortController().signal;
const WINDOW_MS = 50;

/** A request that the endpoint behind has not answered yet. */
interface Open {
  readonly calls: readonly RpcCall[];
  readonly conditions: CallConditions;
  answer(): void;
  fail(code: RpcFaultCode): void;
}

class Scene implements RpcEndpoint {
  readonly host = "node.example.org";
  readonly clock = new FakeClock();
  readonly open: Open[] = [];
  /** Methods of every request so far. */
  readonly sent: string[] = [];
  readonly merging = new MergingEndpoint(this.clock, this, {
    windowMs: WINDOW_MS,
    mayMerge: ({ method }) => method !== "submit",
  });
  #count = 0;

  send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    this.sent.push(calls.map(({ method }) => method).join(" "));
    return new Promise((resolve, reject) => {
      this.open.push({
        calls,
        conditions,
        answer: () =>
          resolve(calls.map(({ method }) => ({ kind: "result", result: `${method} ${++this.#count}` }))),
        fail: (code) =>
          reject(
            new RpcFault(code, reactionTo(code), { chain: "EVM-1", endpointHost: this.host, method: "a" }),
          ),
      });
    });
  }

  /** What a caller gets: results, or the code of a fault. */
  ask(methods: string, signal: AbortSignal = never, timeoutMs?: number): Promise<string> {
    const calls = methods.split(" ").map((method) => ({ method, params: [] }));
    return this.merging.send(calls, { signal, timeoutMs }).then(
      (answers) =>
        answers.map((answer) => answer.kind === "result" ? answer.result : answer.fault.code).join(", "),
      (fault: unknown) => fault instanceof RpcFault ? fault.code : String(fault),
    );
  }

  async pass(ms = WINDOW_MS): Promise<void> {
    await this.clock.advance(ms);
  }

  /** The request that is under way, which is the only one. */
  only(): Open {
    const [first, ...others] = this.open.splice(0);
    assert.ok(first !== undefined && others.length === 0, `${others.length + 1} requests`);
    return first;
  }
}

Deno.test("merged requests: what is asked within the window is one request, and an equal call is made once", async () => {
  const scene = new Scene();
  const one = scene.ask("head logsA");
  await scene.pass(WINDOW_MS / 2);
  const two = scene.ask("head logsB");
  assert.deepEqual(scene.sent, []);
  await scene.pass(WINDOW_MS / 2);
  scene.only().answer();
  assert.equal(await one, "head 1, logsA 2");
  assert.equal(await two, "head 1, logsB 3");
  assert.deepEqual(scene.sent, ["head logsA logsB"]);
});

Deno.test("merged requests: what is no read never waits", async () => {
  const scene = new Scene();
  const other = scene.ask("head submit");
  scene.only().answer();
  assert.equal(await other, "head 1, submit 2");
});

Deno.test("merged requests: nothing is remembered, neither an answer nor a request under way", async () => {
  const scene = new Scene();
  const first = scene.ask("head");
  await scene.pass();
  const early = scene.only();
  // Asked while the first is under way: its answer may be older than the question.
  const second = scene.ask("head");
  await scene.pass();
  scene.only().answer();
  assert.equal(await second, "head 1");
  early.answer();
  assert.equal(await first, "head 2");
  const third = scene.ask("head");
  await scene.pass();
  scene.only().answer();
  assert.equal(await third, "head 3");
});

Deno.test("merged requests: the calls of a request stay in their order, since one may rely on the one before", async () => {
  const scene = new Scene();
  const one = scene.ask("logs");
  const two = scene.ask("head logs");
  await scene.pass();
  scene.only().answer();
  await Promise.all([one, two]);
  assert.deepEqual(scene.sent, ["logs head logs"]);
  assert.equal(await two, "head 2, logs 3");
});

Deno.test("merged requests: who is aborted leaves the others alone, and the last one ends the request", async () => {
  const scene = new Scene();
  const [one, two] = [new AbortController(), new AbortController()];
  const asked = [scene.ask("a", one.signal), scene.ask("b", two.signal)];
  await scene.pass();
  const request = scene.only();
  one.abort("gone");
  assert.equal(await asked[0], "gone");
  assert.equal(request.conditions.signal.aborted, false);
  two.abort("gone, too");
  assert.equal(await asked[1], "gone, too");
  assert.equal(request.conditions.signal.aborted, true);
  // Aborted within the window: not even asked.
  const three = new AbortController();
  const waiting = [scene.ask("c", three.signal), scene.ask("d")];
  three.abort("early");
  await scene.pass();
  assert.equal(await waiting[0], "early");
  scene.only().answer();
  await waiting[1];
  assert.deepEqual(scene.sent, ["a b", "d"]);
});

Deno.test("merged requests: a fault of the connection is that of all who asked, and of nobody who asks later", async () => {
  const scene = new Scene();
  const both = [scene.ask("a"), scene.ask("b")];
  await scene.pass();
  scene.only().fail("unreachable");
  assert.deepEqual(await Promise.all(both), ["unreachable", "unreachable"]);
  const later = [scene.ask("a"), scene.ask("b")];
  await scene.pass();
  scene.only().answer();
  assert.deepEqual(await Promise.all(later), ["a 1", "b 2"]);
});

Deno.test("merged requests: what the endpoint minds about a merged request is asked one by one, then for a time", async () => {
  for (const code of ["too_large", "refused", "missing_method", "server_error"] as const) {
    const scene = new Scene();
    const both = [scene.ask("a"), scene.ask("b")];
    await scene.pass();
    scene.only().fail(code);
    await scene.clock.settle();
    assert.deepEqual(scene.sent, ["a b", "a", "b"]);
    const [a, b] = scene.open.splice(0);
    a?.answer();
    b?.fail("refused");
    assert.deepEqual(await Promise.all(both), ["a 1", "refused"]);
    const alone = scene.ask("c");
    scene.only().answer();
    await alone;
    await scene.pass(10 * 60_000);
    const again = [scene.ask("d"), scene.ask("e")];
    await scene.pass();
    scene.only().answer();
    await Promise.all(again);
    assert.equal(scene.sent.at(-1), "d e", code);
  }
});

Deno.test("merged requests: after one that took too long, everybody is served alone", async () => {
  const scene = new Scene();
  const both = [scene.ask("a"), scene.ask("b")];
  await scene.pass();
  scene.only().fail("timeout");
  assert.deepEqual(await Promise.all(both), ["timeout", "timeout"]);
  const alone = scene.ask("a");
  scene.only().answer();
  assert.equal(await alone, "a 1");
});

Deno.test("merged requests: each has its own time, and none is larger than nodes take", async () => {
  const scene = new Scene();
  const asked = [scene.ask("a", never, 60_000), scene.ask("b")];
  await scene.pass();
  assert.deepEqual(scene.open.map(({ conditions }) => conditions.timeoutMs), [60_000, undefined]);
  scene.open.splice(0).forEach((request) => request.answer());
  await Promise.all(asked);
  const many = Array.from({ length: 30 }, (_, at) => scene.ask(`w${at} x${at} y${at} z${at}`));
  await scene.pass();
  assert.deepEqual(scene.open.map(({ calls }) => calls.length), [100, 20]);
  scene.open.splice(0).forEach((request) => request.answer());
  await Promise.all(many);
});
