/** Logs of several contracts in one query, at nodes that answer it and at others. */
import assert from "node:assert/strict";
import { JoiningEndpoint, joinLogQueries } from "../../../../src/core/chains/evm/evm_endpoint_set.ts";
import type { RpcAnswer, RpcCall, RpcFaultCode } from "../../../../src/core/rpc/call.ts";
import { reactionTo, RpcFault } from "../../../../src/core/rpc/call.ts";
import type { Json } from "../../../../src/core/rpc/json.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { never } from "./chain_fixture.ts";

const HEAD: RpcCall = { method: "eth_blockNumber", params: [] };

function query(address: string, topic: string, from = "0x1", to = "0x9"): RpcCall {
  return { method: "eth_getLogs", params: [{ address, fromBlock: from, toBlock: to, topics: [[topic]] }] };
}

function log(address: string, topic: string, data: string): Json {
  return { address, topics: [topic, "0x99"], data };
}

const chain: readonly Json[] = [
  log("0xAA", "0x01", "a1"),
  log("0xbb", "0x02", "b2"),
  log("0xaa", "0x02", "a2"),
  log("0xaa", "0x01", "a1 again"),
  log("0xcc", "0x01", "c1"),
];

function fault(code: RpcFaultCode): RpcAnswer {
  const where = { chain: "EVM-1", endpointHost: "node", method: "eth_getLogs" };
  return { kind: "fault", fault: new RpcFault(code, reactionTo(code), where) };
}

class Scene {
  readonly clock = new FakeClock();
  readonly requests: (readonly RpcCall[])[] = [];
  /** Answers a query of several contracts. */
  joined: (answer: RpcAnswer) => RpcAnswer = (answer) => answer;
  single: (answer: RpcAnswer) => RpcAnswer = (answer) => answer;
  readonly endpoint = new JoiningEndpoint({ clock: this.clock, join: joinLogQueries }, {
    host: "node",
    send: (calls) => {
      this.requests.push(calls);
      return Promise.resolve(calls.map((call) => this.#answer(call)));
    },
  });

  #answer({ method, params }: RpcCall): RpcAnswer {
    if (method !== "eth_getLogs") return { kind: "result", result: "0x9" };
    const [{ address, topics: [topics] }] = params as [{ address: string | string[]; topics: [string[]] }];
    const contracts = [address].flat().map((each) => each.toLowerCase());
    const result = chain.filter((entry) => {
      const { address, topics: [first] } = Object(entry);
      return contracts.includes(address.toLowerCase()) && topics.includes(first);
    });
    const answer: RpcAnswer = { kind: "result", result };
    return Array.isArray(address) ? this.joined(answer) : this.single(answer);
  }

  /** Data of the logs of each call, the result of others, or the code of a fault. */
  async ask(...calls: readonly RpcCall[]): Promise<readonly unknown[]> {
    const answers = await this.endpoint.send(calls, { signal: never });
    return answers.map((answer) => {
      if (answer.kind === "fault") return answer.fault.code;
      return Array.isArray(answer.result) ? answer.result.map((entry) => Object(entry).data) : answer.result;
    });
  }

  methods(): readonly string[] {
    return this.requests.splice(0).map((calls) => calls.map(({ method }) => method.slice(4)).join(" "));
  }
}

Deno.test("joined logs: contracts in the same blocks are one query, and each gets its own logs in their order", async () => {
  const scene = new Scene();
  const answers = await scene.ask(query("0xaa", "0x01"), HEAD, query("0xBB", "0x02"), query("0xdd", "0x01"));
  assert.deepEqual(answers, [["a1", "a1 again"], "0x9", ["b2"], []]);
  assert.deepEqual(scene.requests.at(-1)?.at(-1)?.params, [
    { address: ["0xaa", "0xbb", "0xdd"], fromBlock: "0x1", toBlock: "0x9", topics: [["0x01", "0x02"]] },
  ]);
  // The head is read before the logs.
  assert.deepEqual(scene.methods(), ["blockNumber getLogs"]);
});

Deno.test("joined logs: other blocks are another query, and one query alone stays as it is", async () => {
  const scene = new Scene();
  await scene.ask(query("0xaa", "0x01"), query("0xbb", "0x02", "0x2"), query("0xcc", "0x01", "0x2"));
  assert.deepEqual(scene.requests.map((calls) => calls.map(({ params }) => Object(params[0]).address)), [
    ["0xaa", ["0xbb", "0xcc"]],
  ]);
  scene.methods();
  const odd: RpcCall = { method: "eth_getLogs", params: [{ blockHash: "0x01" }] };
  assert.equal(scene.joined.length, 1);
  await scene.endpoint.send([odd, HEAD], { signal: never }).catch(() => undefined);
  assert.deepEqual(scene.methods(), ["getLogs blockNumber"]);
});

Deno.test("joined logs: a node that refuses them is asked one by one, and not again for a time", async () => {
  const scene = new Scene();
  for (const code of ["too_large", "range_too_wide", "refused", "server_error"] as const) {
    scene.joined = () => fault(code);
    const both = [query("0xaa", "0x01"), query("0xbb", "0x02")] as const;
    assert.deepEqual(await scene.ask(HEAD, ...both), ["0x9", ["a1", "a1 again"], ["b2"]]);
    assert.deepEqual(scene.methods(), ["blockNumber getLogs", "getLogs getLogs"], code);
    await scene.ask(...both);
    assert.deepEqual(scene.methods(), ["getLogs getLogs"]);
    await scene.clock.advance(10 * 60_000);
    await scene.ask(...both);
    assert.deepEqual(scene.methods(), ["getLogs", "getLogs getLogs"]);
    await scene.clock.advance(10 * 60_000);
  }
});

Deno.test("joined logs: each query has the fault that it meets by itself", async () => {
  const scene = new Scene();
  scene.joined = () => fault("range_too_wide");
  scene.single = () => fault("range_too_wide");
  const both = [query("0xaa", "0x01"), query("0xbb", "0x02")] as const;
  assert.deepEqual(await scene.ask(...both), ["range_too_wide", "range_too_wide"]);
  assert.deepEqual(scene.methods(), ["getLogs", "getLogs getLogs"]);
  // Narrower ranges follow, and are joined again.
  scene.joined = scene.single = (answer) => answer;
  await scene.ask(...both);
  assert.deepEqual(scene.methods(), ["getLogs"]);
  scene.joined = () => fault("lagging");
  assert.deepEqual(await scene.ask(...both), ["lagging", "lagging"]);
  assert.deepEqual(scene.methods(), ["getLogs"]);
});

Deno.test("joined logs: an answer whose logs cannot be told apart is not used", async () => {
  const scene = new Scene();
  for (const result of ["0x", [{ address: "0xaa" }], [{ address: "0xaa", topics: [] }], [7], null]) {
    scene.joined = () => ({ kind: "result", result });
    const answers = await scene.ask(query("0xaa", "0x01"), query("0xbb", "0x02"));
    assert.deepEqual(answers, [["a1", "a1 again"], ["b2"]], JSON.stringify(result));
    assert.deepEqual(scene.methods(), ["getLogs", "getLogs getLogs"]);
    await scene.clock.advance(10 * 60_000);
  }
});
