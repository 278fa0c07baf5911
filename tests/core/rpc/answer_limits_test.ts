import { deepEqual, equal, ok } from "node:assert/strict";
import { RestEndpoint } from "../../../src/consensus/rest/rest_endpoint.ts";
import { answerLimit } from "../../../src/core/rpc/answer_limits.ts";
import { RpcEndpointSet } from "../../../src/core/rpc/endpoint_set.ts";
import { translateEvmError } from "../../../src/core/rpc/evm_errors.ts";
import type { RpcFaultCode } from "../../../src/core/rpc/call.ts";
import { createHttpEndpoint, platformFetch } from "../../../src/core/rpc/http.ts";
import { SocketEndpoint } from "../../../src/core/rpc/socket.ts";
import { SubstrateClient } from "../../../src/core/rpc/substrate_client.ts";
import { calls } from "../../../src/core/rpc/substrate_calls.ts";
import { translateSubstrateError } from "../../../src/core/rpc/substrate_errors.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { catchFault, request } from "../../support/rpc_faults.ts";
import { ScriptedNode } from "../../support/scripted_socket.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";
import { serveLocally, type TestServer } from "../../support/test_server.ts";

const MIB = 1024 * 1024;
const never = new AbortController().signal;

/** Parts of a text, each with the times it is repeated, in thousands. */
type Repeated = readonly (readonly [string, number])[];

/** An answer whose result are these parts, as gzip: nothing of it is whole in memory. */
async function bomb(result: Repeated): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const text = ReadableStream.from((function* (): Generator<Uint8Array<ArrayBuffer>> {
    yield encoder.encode('{"jsonrpc":"2.0","id":1,"result":');
    for (const [part, thousands] of result) {
      const block = encoder.encode(thousands === 0 ? part : part.repeat(1_000));
      for (let left = Math.max(1, thousands); left > 0; left--) yield block;
    }
    yield encoder.encode("}");
  })());
  return await new Response(text.pipeThrough(new CompressionStream("gzip"))).bytes();
}

const longText: Repeated = [['"', 0], ["x", 67_000], ['"', 0]];
/** An array of so many thousands of these elements. */
function arrayOf(element: string, thousands: number): Repeated {
  return [["[", 0], [`${element},`, thousands], ["0]", 0]];
}

/** A node that answers everything with this gzip. */
function serveBomb(body: Uint8Array<ArrayBuffer>): TestServer & { requests(): number } {
  let requests = 0;
  const server = serveLocally({}, () => {
    requests++;
    return new Response(body, {
      headers: { "content-encoding": "gzip", "content-type": "application/json" },
    });
  });
  return { ...server, requests: () => requests };
}

function open(port: number): ReturnType<typeof createHttpEndpoint> {
  const options = { url: `http://127.0.0.1:${port}/`, chain: "EVM-1", translate: translateEvmError };
  return createHttpEndpoint({ fetch: platformFetch, clock: systemClock }, options);
}

/** Peak of this process's memory so far, MiB. */
function peakMiB(): number {
  const kibibytes = /^VmHWM:\s*([0-9]+) kB$/m.exec(Deno.readTextFileSync("/proc/self/status"))?.[1];
  return Number(kibibytes) / 1024;
}

const bombs: readonly (readonly [string, Repeated, string, RpcFaultCode])[] = [
  ["a long text", longText, "eth_chainId", "oversized"],
  ["a long text for a method that may answer much", longText, "eth_getLogs", "too_large"],
  ["very many small arrays", arrayOf("[]", 21_000), "eth_chainId", "oversized"],
  ["a short text of many small arrays", arrayOf("[]", 300), "eth_chainId", "oversized"],
  ["very many small arrays for logs", arrayOf("[]", 11_000), "eth_getLogs", "oversized"],
  ["very many small objects for a trace", arrayOf('{"a":{}}', 3_000), "debug_traceCall", "oversized"],
  ["very many small numbers for a proof", arrayOf("1", 16_000), "mmr_queryProof", "too_large"],
  ["very many long integers for logs", arrayOf("9007199254740993", 1_900), "eth_getLogs", "oversized"],
  ["deep nesting", [["[", 100], ["]", 100]], "eth_chainId", "oversized"],
  ["deep nesting of a trace", [['[{"calls":', 50], ["0", 0], ["}]", 50]], "debug_traceCall", "oversized"],
];

for (const [what, result, method, code] of bombs) {
  Deno.test(`answer limits: ${what}: ${method} is ${code}, and costs no memory to speak of`, async () => {
    await using server = serveBomb(await bomb(result));
    const before = peakMiB();
    const fault = await catchFault(open(server.port).send([{ method, params: [] }], { signal: never }));
    equal(fault.code, code);
    equal(fault.where.endpointHost, `127.0.0.1:${server.port}`);
    const more = peakMiB() - before;
    ok(more < 400, `${Math.round(more)} MiB more`);
  });
}

Deno.test("answer limits: an endpoint that exceeds them is paused at once, another one is asked, and other chains continue", async () => {
  await using bombed = serveBomb(await bomb(arrayOf("[]", 21_000)));
  const healthy = (): TestServer =>
    serveLocally({}, async (request) => {
      const asked = [await request.json()].flat();
      return Response.json(asked.map(({ id }) => ({ jsonrpc: "2.0", id, result: "0x10" })));
    });
  await using second = healthy();
  await using other = healthy();
  const deps = { clock: new FakeClock(), randomness: fixedRandomness(0) };
  const chain = (...ports: readonly number[]): RpcEndpointSet =>
    new RpcEndpointSet(deps, { chain: "EVM-1", endpoints: ports.map(open) });
  const faults: string[] = [];
  const call = { method: "eth_blockNumber", params: [] };
  const attacked = chain(bombed.port, second.port);
  const elsewhere = chain(other.port);
  const onFault = ({ message }: Error): void => void faults.push(message);
  const heights = await Promise.all([
    ...Array.from({ length: 4 }, () => request(attacked, call, { signal: never, onFault })),
    ...Array.from({ length: 20 }, () => request(elsewhere, call)),
  ]);
  deepEqual(new Set(heights), new Set(["0x10"]));
  const asked = bombed.requests();
  equal(await request(attacked, call), "0x10");
  equal(bombed.requests(), asked);
  equal(
    faults[0],
    `eth_blockNumber on EVM-1 via 127.0.0.1:${bombed.port}: oversized (the answer exceeds 1048576 bytes)`,
  );
});

Deno.test("answer limits: a REST route's answer is bounded by bytes and structure", async () => {
  for (const result of [longText, arrayOf("[]", 300)]) {
    await using server = serveBomb(await bomb(result));
    const url = `http://127.0.0.1:${server.port}`;
    const node = new RestEndpoint({ fetch: platformFetch, clock: systemClock }, { url, chain: "EVM-1" });
    const fault = await catchFault(
      node.fetchJson({ route: "headers/{id}", path: "/headers/1" }, { signal: never }),
    );
    equal(fault.code, "oversized");
  }
});

Deno.test("answer limits: a message of a WebSocket beyond them is not parsed, and the node is asked again after a pause", async () => {
  const answers: readonly (readonly [unknown, string])[] = [
    [Array.from({ length: 50_000 }, () => []), "the answer has more than 43690 values"],
    ["x".repeat(2 * MIB), "the answer exceeds 1048576 bytes"],
  ];
  for (const [answer, detail] of answers) {
    const clock = new FakeClock();
    const node = new ScriptedNode({ chain_getBlockHash: () => answer });
    const deps = { clock, randomness: fixedRandomness(0), openSocket: node.open };
    const chain = "KUSAMA-4009";
    const socket = new SocketEndpoint(deps, {
      url: "ws://node.test",
      chain,
      translate: translateSubstrateError,
    });
    const client = new SubstrateClient(deps, socket, chain);
    const fault = await catchFault(clock.run(client.call(calls.bestHash(), never)));
    deepEqual([fault.code, fault.detail], ["oversized", detail]);
    const pausedAtMs = clock.now();
    node.answer("chain_getBlockHash", () => `0x${"ab".repeat(32)}`);
    equal(await clock.run(client.call(calls.bestHash(), never)), `0x${"ab".repeat(32)}`);
    ok(clock.now() > pausedAtMs);
    equal(node.connections, 2);
    await socket.close();
  }
});

Deno.test("answer limits: those of a batch add up to 16 MiB or to its largest call, and never exceed the configuration", () => {
  const bytesOf = (methods: readonly string[], max?: number): readonly unknown[] => {
    const { bytes, excess } = answerLimit(methods.map((method) => ({ method })), max);
    return [bytes, excess];
  };
  deepEqual(bytesOf(["eth_chainId"]), [MIB, "oversized"]);
  deepEqual(bytesOf(["eth_chainId", "eth_chainId"]), [2 * MIB, "too_large"]);
  deepEqual(bytesOf(Array.from({ length: 100 }, () => "eth_chainId")), [16 * MIB, "too_large"]);
  deepEqual(bytesOf(["eth_chainId", "eth_getLogs"]), [32 * MIB, "too_large"]);
  deepEqual(bytesOf(["state_call"], 15 * MIB), [15 * MIB, "too_large"]);
  deepEqual(bytesOf(["chain_getHeader"], 1_000), [1_000, "too_large"]);
});
