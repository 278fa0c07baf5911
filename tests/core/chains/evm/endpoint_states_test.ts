/** Endpoints of a chain that refuse, stand still, lie about their heads or throttle, and which one is used then. */
import assert from "node:assert/strict";
import { createEvmEndpointSet } from "../../../../src/core/chains/evm/evm_endpoint_set.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { type RpcCall, RpcFault } from "../../../../src/core/rpc/call.ts";
import { EndpointBoard } from "../../../../src/core/rpc/endpoint_board.ts";
import type { RpcEndpointSet } from "../../../../src/core/rpc/endpoint_set.ts";
import { createBudgets, RequestBudget } from "../../../../src/core/rpc/request_budget.ts";
import { MetricRegistry } from "../../../../src/core/telemetry/metrics.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { catchFault, request } from "../../../support/rpc_faults.ts";
import {
  type ArrivedCall,
  httpStatus,
  ScriptedError,
  scriptedFetch,
  ScriptedRpc,
} from "../../../support/scripted_rpc.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";
import { never } from "./chain_fixture.ts";

const BALANCE: RpcCall = { method: "eth_getBalance", params: ["0xaa", "latest"] };
/** Methods that are answered with the name of the node. */
const NAMED = [
  ...["eth_getBalance", "eth_call", "eth_getLogs", "eth_getTransactionReceipt", "eth_estimateGas"],
  "debug_traceCall",
];
const TRACE: RpcCall = { method: "debug_traceCall", params: [{}, "latest"] };
const quantity = (value: number): string => `0x${Math.max(0, Math.round(value)).toString(16)}`;

/** A node that answers with its name, at block 1,000 when its clock starts, with a block every two seconds. */
class Node extends ScriptedRpc {
  /** Height and time of the newest block, by seconds since the start. */
  head = (sec: number): { height: number; timeSec: number } => ({
    height: 1_000 + sec / 2,
    timeSec: this.startSec + sec,
  });

  constructor(readonly name: string, clock: FakeClock, readonly startSec = clock.now() / 1_000) {
    super({
      eth_chainId: () => "0x1",
      eth_getBlockByNumber: () => {
        const { height, timeSec } = this.head(clock.now() / 1_000 - this.startSec);
        return { number: quantity(Math.floor(height)), timestamp: quantity(timeSec) };
      },
    });
    for (const method of NAMED) this.on(method, () => this.name);
  }

  /** Every call is answered with this error. */
  refuse(error: unknown, status = 200): void {
    this.fault = (calls, answers) => {
      const all = answers.map(({ id }) => ({ jsonrpc: "2.0", id, error }));
      return Response.json(calls.length === 1 ? all[0] : all, { status });
    };
  }
}

class Scene {
  readonly clock = new FakeClock();
  readonly log = new RecordedLog();
  readonly board = new EndpointBoard({ clock: this.clock, registry: new MetricRegistry() });
  readonly nodes: readonly Node[];
  readonly set: RpcEndpointSet;

  constructor(names: readonly string[] = ["a", "b"], callsPerSecond?: number) {
    this.nodes = names.map((name) => new Node(name, this.clock));
    const budget = callsPerSecond === undefined ? undefined : new RequestBudget(this.clock, callsPerSecond);
    this.set = createEvmEndpointSet({
      clock: this.clock,
      randomness: fixedRandomness(0),
      log: this.log,
      observer: this.board,
      budgetOf: () => budget,
      fetch: scriptedFetch,
    }, { stateMachine: evmStateMachine(1), urls: this.nodes.map(({ url }) => new EndpointUrl(url)) });
  }

  get a(): Node {
    return this.nodes[0] as Node;
  }

  get b(): Node {
    return this.nodes[1] as Node;
  }

  /** Results of the calls, or the code of the fault. */
  async ask(...calls: readonly RpcCall[]): Promise<unknown> {
    try {
      const answers = await this.clock.run(
        this.set.batch(calls.length === 0 ? [BALANCE] : calls, { signal: never }),
      );
      const said = answers.map((answer) => answer.kind === "result" ? answer.result : answer.fault.code);
      return calls.length > 1 ? said : said[0];
    } catch (fault) {
      if (fault instanceof RpcFault) return fault.code;
      throw fault;
    }
  }

  /** Asks every second for a time; returns who answered last. */
  async askFor(sec: number): Promise<unknown> {
    let last: unknown;
    for (let at = 0; at < sec; at++) {
      await this.clock.advance(1_000);
      last = await this.ask();
      for (let turn = 0; turn < 5; turn++) await this.clock.settle();
    }
    return last;
  }

  states(): readonly string[] {
    return this.board.list().map(({ state }) => state.kind);
  }

  events(): readonly string[] {
    return this.log.events("warn").concat(this.log.events("info"));
  }
}

const denials: readonly (readonly [string, (node: Node) => void])[] = [
  ...[401, 402, 403, 404, 405, 302, 406, 410, 418, 451].map((status) =>
    [`HTTP ${status}`, (node: Node) => void (node.fault = httpStatus(status))] as const
  ),
  ...[401, 403].map((status) =>
    [`HTTP ${status} with an error of an unknown wording`, (node: Node): void => {
      node.refuse({ code: -32052, message: "Sorry, no service today" }, status);
    }] as const
  ),
  ...[
    { code: -32000, message: "project ID is required" },
    { code: -32600, message: "Must be authenticated!" },
    { code: -32000, message: "invalid api key" },
    { code: -32601, message: "Method not found" },
    { code: -32000, message: "Your trial has ended" },
    { code: -32600, message: "User is not authorized to perform this action" },
    { code: 1010, message: "The owner of this website has banned your access" },
  ].map((error) => [`"${error.message}"`, (node: Node) => node.refuse(error)] as const),
];
for (const [what, deny] of denials) {
  Deno.test(`endpoint states: ${what} to everything is a fault of the endpoint, for a minute at most (F19)`, async () => {
    const scene = new Scene();
    assert.equal(await scene.ask(), "a");
    deny(scene.a);
    assert.equal(await scene.ask(TRACE), "b");
    assert.deepEqual(scene.states(), ["unauthorized", "ready"]);
    scene.a.fault = undefined;
    assert.equal(await scene.askFor(61), "a");
    assert.equal(await scene.ask(TRACE), "a");
    assert.deepEqual(scene.events(), ["endpoint_unusable.unauthorized", "endpoint_ready"]);
    // Alone, it never counts as one without the method.
    const only = new Scene(["a"]);
    assert.equal(await only.ask(TRACE), "a");
    deny(only.a);
    assert.equal(await only.ask(TRACE), "unauthorized");
    only.a.fault = undefined;
    assert.equal(await only.ask(TRACE), "a");
  });
}

for (const status of [401, 403, 404, 405]) {
  Deno.test(`endpoint states: a method that alone is refused by HTTP ${status} is missing, and nothing else is`, async () => {
    const scene = new Scene();
    const isTraced = (calls: readonly ArrivedCall[]): boolean =>
      calls.some(({ method }) => method === TRACE.method);
    scene.a.fault = (calls) => isTraced(calls) ? new Response("no", { status }) : undefined;
    assert.equal(await scene.ask(), "a");
    assert.equal(await scene.ask(TRACE), "b");
    assert.deepEqual(await scene.ask(BALANCE, TRACE), ["b", "b"]);
    assert.equal(await scene.ask(), "a");
    assert.equal(scene.a.requests.filter(isTraced).length, 1);
    const [{ state } = { state: undefined }] = scene.board.list();
    assert.deepEqual([state?.kind, state?.lacking], ["ready", [TRACE.method]]);
  });
}

for (const status of [400, 403, 405, 415]) {
  Deno.test(`endpoint states: whether HTTP ${status} to a batch is about batches is found by single calls`, async () => {
    const scene = new Scene(["a"]);
    scene.a.fault = ({ length }) => length > 1 ? new Response("no", { status }) : undefined;
    assert.deepEqual(await scene.ask(BALANCE, TRACE), ["a", "a"]);
    const asked = scene.a.requests.length;
    assert.deepEqual(await scene.ask(BALANCE, TRACE), ["a", "a"]);
    assert.deepEqual(scene.a.requests.slice(asked).map(({ length }) => length), [1, 1]);
    assert.equal(scene.states()[0], "ready");
  });
}

Deno.test("endpoint states: what two endpoints are asked is not asked of one that is paused", async () => {
  const scene = new Scene(["a", "b", "c"]);
  scene.a.fault = httpStatus(401);
  assert.equal(await scene.ask(), "b");
  const order = (): readonly (string | undefined)[] =>
    scene.set.each().flatMap(({ hosts }) => hosts).map((host) =>
      scene.nodes.find((node) => node.host === host)?.name
    );
  assert.deepEqual(order(), ["b", "c", "a"]);
  scene.a.fault = undefined;
  assert.equal(await scene.askFor(61), "a");
  assert.deepEqual(order(), ["a", "b", "c"]);
});

const noAnswers: readonly (readonly [string, RpcCall["method"], unknown, number?])[] = [
  ["-32001 of a provider that sheds load", "eth_call", {
    code: -32001,
    message: "Unable to complete request at this time.",
  }, 503],
  ["-32001 of a missing block", "eth_getLogs", { code: -32001, message: "Block 0x12 could not be found" }],
  ["an unknown code", "eth_call", { code: -32999, message: "no" }],
  ["a pool's verdict on a nonce", "eth_getTransactionReceipt", { code: -32000, message: "nonce too low" }],
  ["a pool's verdict on funds", "eth_estimateGas", {
    code: -32000,
    message: "insufficient funds for transfer",
  }],
];
for (const [what, method, error, status = 200] of noAnswers) {
  Deno.test(`endpoint states: ${what} in answer to a read leads to the next endpoint`, async () => {
    const scene = new Scene();
    const read = { method, params: [{}] };
    scene.a.fault = (calls, answers) =>
      calls.some((call) => call.method === method)
        ? Response.json(answers.map(({ id }) => ({ id, error })), { status })
        : undefined;
    assert.equal(await scene.ask(read), "b");
    const send = { method: "eth_sendRawTransaction", params: ["0x"] };
    scene.a.on(send.method, () => new ScriptedError(-32000, "nonce too low"));
    assert.equal(await scene.ask(send), "nonce_too_low");
  });
}

const laggards: readonly (readonly [string, (node: Node) => Node["head"]])[] = [
  ["stands still", (node) => () => ({ height: 1_000, timeSec: node.startSec })],
  [
    "is three minutes behind",
    (node) => (sec) => ({ height: 910 + sec / 2, timeSec: node.startSec + sec - 180 }),
  ],
  ["falls behind slowly", (node) => (sec) => ({ height: 1_000 + sec / 4, timeSec: node.startSec + sec / 2 })],
  [
    "syncs from block 0",
    (node) => (sec) => ({ height: sec * 5, timeSec: node.startSec - 10_000 + sec * 10 }),
  ],
];
for (const [what, headOf] of laggards) {
  Deno.test(`endpoint states: a first endpoint that ${what} is used last within a minute, and again when it is well (F19)`, async () => {
    const scene = new Scene();
    const well = scene.a.head;
    scene.a.head = headOf(scene.a);
    assert.equal(await scene.ask(), "a");
    assert.equal(await scene.askFor(60), "b");
    assert.deepEqual(scene.states(), ["behind", "ready"]);
    assert.deepEqual(scene.log.events("warn"), ["endpoint_unusable.behind"]);
    scene.b.fault = httpStatus(500);
    assert.equal(await scene.askFor(3), "a", "it is better than none");
    scene.b.fault = undefined;
    scene.a.head = well;
    assert.equal(await scene.askFor(45), "a");
    assert.deepEqual(scene.log.events("info"), ["endpoint_ready"]);
  });
}

const liars: readonly (readonly [string, (node: Node) => Node["head"]])[] = [
  ["names an absurd height", (node) => (sec) => ({ height: 2 ** 52, timeSec: node.startSec + sec })],
  [
    "names blocks of the future",
    (node) => (sec) => ({ height: 2_000 + sec, timeSec: node.startSec + sec + 3_600 }),
  ],
  [
    "names every block an hour early",
    (node) => (sec) => ({ height: 2_800 + sec / 2, timeSec: node.startSec + sec }),
  ],
];
for (const [what, headOf] of liars) {
  Deno.test(`endpoint states: a second endpoint that ${what} does not take the place of an honest one`, async () => {
    const scene = new Scene();
    scene.b.head = headOf(scene.b);
    for (let minute = 0; minute < 5; minute++) assert.equal(await scene.askFor(60), "a");
    assert.deepEqual(scene.events(), []);
  });
}

Deno.test("endpoint states: on a chain that stands still nobody is behind, and one endpoint is never asked for heads", async () => {
  const scene = new Scene();
  for (const node of scene.nodes) node.head = () => ({ height: 1_000, timeSec: node.startSec });
  assert.equal(await scene.askFor(120), "a");
  assert.deepEqual(scene.states(), ["ready", "ready"]);
  // A question for the head of each endpoint every quarter of a minute.
  assert.ok(scene.b.requests.length <= 8, `${scene.b.requests.length} requests`);
  const only = new Scene(["a"]);
  await only.askFor(60);
  assert.equal(only.a.requests.length, 60);
});

for (const seconds of [300, 86_400, 31 * 86_400, Date.UTC(2026, 0, 2) / 1_000]) {
  Deno.test(`endpoint states: Retry-After ${seconds} keeps an endpoint out for a minute at most`, async () => {
    const scene = new Scene(["a"]);
    assert.equal(await scene.ask(), "a");
    scene.a.fault = httpStatus(429, { "retry-after": String(seconds) });
    assert.ok(((await catchFault(request(scene.set, BALANCE))).retryAfterMs ?? 0) <= 300_000);
    scene.a.fault = undefined;
    assert.equal(await scene.askFor(61), "a");
  });
}

Deno.test("endpoint states: an endpoint that answers again is used again within 15 s, however long it was down", async () => {
  const scene = new Scene();
  for (const downSec of [600, 610, 620, 630, 640]) {
    scene.a.fault = httpStatus(502);
    await scene.askFor(downSec);
    assert.equal(scene.states()[0], "down");
    scene.a.fault = undefined;
    assert.equal(await scene.askFor(15), "a", `${downSec} s`);
  }
});

Deno.test("endpoint states: requests_per_second spreads the calls of a chain, and ends what would wait too long", async () => {
  const scene = new Scene(["a", "b"], 2);
  const startMs = scene.clock.now();
  for (let i = 0; i < 9; i++) assert.equal(await scene.ask(), "a");
  // With the first one goes the chain id: 10 calls, and those of the first second do not wait.
  assert.equal(scene.clock.now() - startMs, 3_500);
  const many = Array.from({ length: 16 }, () => scene.set.batch(Array(5).fill(BALANCE), { signal: never }));
  const codes = await scene.clock.run(
    Promise.all(many.map((each) => each.then(() => "ok", ({ code }) => code))),
  );
  assert.ok(codes.includes("ok") && codes.includes("over_budget"), codes.join());
  assert.deepEqual(scene.states(), ["ready"], "it is no endpoint's fault");
});

Deno.test("endpoint states: each chain has the budget of its section, and none without one", async () => {
  const clock = new FakeClock();
  const budgetOf = createBudgets(clock, [{ stateMachine: "EVM-1", requestsPerSecond: 1 }, {
    stateMachine: "EVM-2",
  }]);
  assert.equal(budgetOf("EVM-2"), undefined);
  assert.equal(budgetOf("EVM-1"), budgetOf("EVM-1"));
  assert.equal(await budgetOf("EVM-1")?.take(60, never), undefined, "a large request has its turn");
  assert.equal(await budgetOf("EVM-1")?.take(1, never), 59_000, "what follows would wait too long");
  await clock.advance(59_000);
  assert.equal(await budgetOf("EVM-1")?.take(1, never), undefined);
});
