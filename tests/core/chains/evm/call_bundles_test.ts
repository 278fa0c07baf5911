/** Contract reads of a request as one call, at nodes that run such calls and at others. */
import assert from "node:assert/strict";
import { CallBundles } from "../../../../src/core/chains/evm/evm_endpoint_set.ts";
import type { Hex } from "../../../../src/core/encoding/bytes.ts";
import { type RpcAnswer, type RpcCall, RpcFault } from "../../../../src/core/rpc/call.ts";
import { translateEvmError } from "../../../../src/core/rpc/evm_errors.ts";
import { HttpEndpoint } from "../../../../src/core/rpc/http.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import {
  type Answerer,
  httpStatus,
  ScriptedError,
  scriptedFetch,
  ScriptedRpc,
} from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";

const contract: Hex = `0x${"c0".repeat(20)}`;
const read = (data: Hex, tag = "latest"): RpcCall => ({
  method: "eth_call",
  params: [{ to: contract, data }, tag],
});
const HEIGHT: RpcCall = { method: "eth_blockNumber", params: [] };

/** A contract that returns what it is asked, and reverts for `0xdead`. */
const echo: Answerer = ([call]) => {
  const { data } = Object(call);
  return data === "0xdead" ? new ScriptedError(3, "execution reverted: no", "0xbad0") : data;
};

interface Scene {
  readonly rpc: ScriptedRpc;
  readonly clock: FakeClock;
  /** Endpoints that turned out not to run bundles. */
  readonly refused: string[];
  /** Sends a request, and returns results, and codes of faults. */
  send(...calls: readonly RpcCall[]): Promise<readonly unknown[]>;
  /** How many calls each request had since the last question. */
  sizes(): readonly number[];
}

function scene(methods: Readonly<Record<string, Answerer>> = {}): Scene {
  const rpc = new ScriptedRpc({ eth_call: echo, eth_blockNumber: () => "0x10", ...methods });
  const clock = new FakeClock();
  const refused: string[] = [];
  const http = new HttpEndpoint({ fetch: scriptedFetch, clock }, {
    url: rpc.url,
    chain: "EVM-1",
    translate: translateEvmError,
  });
  const joined = new CallBundles(clock, () => refused.push(http.host));
  const exchange = (calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]> =>
    http.send(calls, { signal: never });
  let seen = 0;
  return {
    rpc,
    clock,
    refused,
    send: async (...calls) => (await joined.send(calls, exchange)).map(outcome),
    sizes: () => {
      const sizes = rpc.requests.slice(seen).map((calls) => calls.length);
      seen = rpc.requests.length;
      return sizes;
    },
  };
}

function outcome(answer: RpcAnswer): unknown {
  return answer.kind === "result" ? answer.result : answer.fault.code;
}

Deno.test("bundling: the reads at each block are a call, and every answer is at its place", async () => {
  const node = scene();
  const answers = await node.send(
    read("0x01"),
    HEIGHT,
    read("0x02", "0x9"),
    read("0x03"),
    read("0x04", "0x9"),
  );
  assert.deepEqual(answers, ["0x01", "0x10", "0x02", "0x03", "0x04"]);
  assert.deepEqual(node.sizes(), [3]);
  assert.deepEqual(node.rpc.calls.map(({ params }) => params[1]), [undefined, "latest", "0x9"]);
});

Deno.test("bundling: a hundred reads are one call, more are several", async () => {
  const node = scene();
  const datas = Array.from({ length: 201 }, (_, index): Hex => `0x${index.toString(16).padStart(4, "0")}`);
  assert.deepEqual(await node.send(...datas.map((data) => read(data))), datas);
  assert.deepEqual(node.sizes(), [3]);
});

Deno.test("bundling: what is more than a read of a contract stays as it is, and so does a read alone", async () => {
  const node = scene();
  const simulated: RpcCall = {
    method: "eth_call",
    params: [{ from: contract, to: contract, data: "0x01" }, "latest"],
  };
  const long: Hex = `0x${"ab".repeat(201)}`;
  const calls = [simulated, simulated, read("0x02"), read(long), read(long), read("0x03", "0x1")];
  assert.deepEqual(await node.send(...calls), ["0x01", "0x01", "0x02", long, long, "0x03"]);
  assert.deepEqual(node.rpc.calls.map(({ params }) => params), calls.map(({ params }) => params));
});

Deno.test("bundling: a read that reverts is asked by itself, for the node's own word on it", async () => {
  const node = scene();
  assert.deepEqual(await node.send(read("0x01"), read("0xdead"), read("0x02")), ["0x01", "reverted", "0x02"]);
  assert.deepEqual(node.sizes(), [1, 1]);
  assert.deepEqual(node.rpc.calls[1]?.params, read("0xdead").params);
  assert.deepEqual(node.refused, []);
});

const refusals: readonly (readonly [string, Answerer])[] = [
  ["refuses calls without an address", () => new ScriptedError(-32602, "Invalid params")],
  ["limits code", () => new ScriptedError(-32000, "max initcode size exceeded")],
  ["limits gas", () => new ScriptedError(-32000, "out of gas")],
  ["runs the code as a call of nobody", () => "0x"],
  ["answers with half of it", () => "0x01000001"],
  ["answers with no bytes", () => null],
];
for (const [what, answer] of refusals) {
  Deno.test(`bundling: a node that ${what} is asked for each, for ten minutes`, async () => {
    const single: Answerer = (params, rpc) =>
      Object(params[0]).to === undefined ? answer(params, rpc) : echo(params, rpc);
    const node = scene({ eth_call: single });
    node.rpc.runsBundles = "by script";
    const ask = (): Promise<readonly unknown[]> => node.send(read("0x01"), HEIGHT, read("0x02"));
    for (let round = 0; round < 2; round++) assert.deepEqual(await ask(), ["0x01", "0x10", "0x02"]);
    assert.deepEqual(node.sizes(), [2, 2, 3]);
    assert.deepEqual(node.refused, [node.rpc.host]);
    await node.clock.advance(10 * 60_000);
    assert.deepEqual(await ask(), ["0x01", "0x10", "0x02"]);
    assert.deepEqual(node.sizes(), [2, 2]);
  });
}

Deno.test("bundling: a gateway that refuses a whole request for its bundle is asked for each", async () => {
  const node = scene();
  node.rpc.fault = (calls) =>
    calls.some(({ params }) => Object(params[0]).data !== undefined && Object(params[0]).to === undefined)
      ? Response.json({ jsonrpc: "2.0", id: null, error: { code: -32602, message: "Invalid params" } })
      : undefined;
  const ask = (): Promise<readonly unknown[]> => node.send(read("0x01"), HEIGHT, read("0x02"));
  for (let round = 0; round < 2; round++) assert.deepEqual(await ask(), ["0x01", "0x10", "0x02"]);
  assert.deepEqual(node.sizes(), [2, 3, 3]);
});

Deno.test("bundling: what the node says of the block is the answer to each read of the bundle", async () => {
  const node = scene({ eth_call: () => new ScriptedError(-32000, "header not found") });
  assert.deepEqual(await node.send(read("0x01", "0x99"), read("0x02", "0x99")), ["pruned", "pruned"]);
  assert.deepEqual(node.sizes(), [1]);
  assert.deepEqual(node.refused, []);
});

Deno.test("bundling: a node on which reads fail in a bundle and alone is no node without bundles", async () => {
  const node = scene({ eth_call: () => new ScriptedError(-32000, "the database is closed") });
  assert.deepEqual(await node.send(read("0x01"), read("0x02")), ["refused", "refused"]);
  assert.deepEqual(node.refused, []);
});

Deno.test("bundling: a request that does not arrive is a fault, and is not sent again in another form", async () => {
  const node = scene();
  node.rpc.fault = httpStatus(502);
  await assert.rejects(
    node.send(read("0x01"), read("0x02")),
    (fault) => fault instanceof RpcFault && fault.code === "server_error",
  );
  assert.deepEqual(node.sizes(), [1]);
});
