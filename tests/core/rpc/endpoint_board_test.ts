import assert from "node:assert/strict";
import { EndpointBoard } from "../../../src/core/rpc/endpoint_board.ts";
import { type RpcAnswer, type RpcCall, type RpcEndpoint, RpcFault } from "../../../src/core/rpc/call.ts";
import { HeightsInAnswers, observeRequest } from "../../../src/core/rpc/observed_endpoint.ts";
import { programGauges, toChainStatus, toProgramStatus } from "../../../src/core/checks/program_status.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { MetricRegistry } from "../../../src/core/telemetry/metrics.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const { signal } = new AbortController();

/** An endpoint that answers every call with the value, after some time. */
class Answering implements RpcEndpoint {
  answer: () => RpcAnswer = () => ({ kind: "result", result: "0x10" });

  constructor(readonly host: string, readonly clock: FakeClock, readonly tookMs: number) {}

  async send(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    await this.clock.advance(this.tookMs);
    return calls.map(() => this.answer());
  }
}

/** A board with endpoints that report to it. */
interface Scene {
  readonly clock: FakeClock;
  readonly registry: MetricRegistry;
  readonly board: EndpointBoard;
  /** Writes the gauges of a snapshot. */
  readonly collect: () => void;
  readonly make: (host: string) => { readonly raw: Answering; readonly endpoint: RpcEndpoint };
}

function scene(): Scene {
  const clock = new FakeClock(1_000);
  const registry = new MetricRegistry();
  const board = new EndpointBoard({ clock, registry });
  const make: Scene["make"] = (host) => {
    const raw = new Answering(host, clock, 20);
    const heights = new HeightsInAnswers("EVM-1");
    const place = { chain: "EVM-1", endpointHost: host };
    const send: RpcEndpoint["send"] = (calls) =>
      observeRequest({ observer: board, clock }, { place, calls }, () => raw.send(calls), (answers) => ({
        outcomes: answers.map((answer) => answer.kind === "fault" ? answer.fault.code : "ok"),
        ...heights.find(calls, answers),
      }));
    return { raw, endpoint: { host, send } };
  };
  const collect = (): void => {
    const place = {
      program: "causeway",
      hub: "",
      nowMs: clock.now(),
      names: new ChainNames(),
      running: {
        ...{ startedAtMs: 0, checks: [], warnings: [], troubles: [], dateReasons: () => [] },
        endpoints: board.list(),
        readHeights: (chain: string) => board.heights(chain),
      },
    };
    registry.write(programGauges, toProgramStatus(place, { chains: [toChainStatus(place, "EVM-1")] }, []));
  };
  return { clock, registry, board, make, collect };
}

function faultAt(code: "timeout" | "reverted" | "throttled"): RpcFault {
  return new RpcFault(code, { chain: "EVM-1", endpointHost: "a", method: "eth_call" });
}

const call = (method: string, ...params: unknown[]): RpcCall => ({ method, params });

Deno.test("endpoint board: each call of a batch is counted by method and outcome, the request is timed once", async () => {
  const { board, make, registry } = scene();
  const { raw, endpoint } = make("a.example:8545");
  await endpoint.send([call("eth_call"), call("eth_call"), call("eth_chainId")], { signal });
  raw.answer = () => ({ kind: "fault", fault: faultAt("reverted") });
  await endpoint.send([call("eth_call")], { signal });
  const text = await registry.expose();
  const place = 'chain="EVM-1",endpoint="a.example:8545"';
  assert.ok(text.includes(`causeway_rpc_requests_total{${place},method="eth_call",outcome="ok"} 2\n`));
  assert.ok(text.includes(`causeway_rpc_requests_total{${place},method="eth_chainId",outcome="ok"} 1\n`));
  assert.ok(text.includes(`causeway_rpc_requests_total{${place},method="eth_call",outcome="reverted"} 1\n`));
  assert.ok(text.includes(`causeway_rpc_request_seconds_count{${place}} 2\n`));
  const [known] = board.list();
  assert.deepEqual([known?.isUp, known?.requests, known?.latencyMs], [true, 2, 20]);
});

Deno.test("endpoint board: an endpoint is down from its own fault on until it answers, whatever the answer", async () => {
  const { board, make, clock, registry, collect } = scene();
  const { raw, endpoint } = make("a");
  await endpoint.send([call("eth_call")], { signal });
  raw.answer = () => {
    throw faultAt("timeout");
  };
  await assert.rejects(endpoint.send([call("eth_call")], { signal }), RpcFault);
  const downMs = clock.now();
  await clock.advance(5_000);
  await assert.rejects(endpoint.send([call("eth_call")], { signal }), RpcFault);
  const [down] = board.list();
  assert.deepEqual([down?.isUp, down?.sinceMs, down?.lastFault], [false, downMs, "timeout"]);
  collect();
  assert.match(await registry.expose(), /^causeway_endpoint_up\{chain="EVM-1",endpoint="a"\} 0$/m);
  raw.answer = () => ({ kind: "fault", fault: faultAt("reverted") });
  await endpoint.send([call("eth_call")], { signal });
  assert.deepEqual([board.list()[0]?.isUp, board.list()[0]?.lastFault], [true, "timeout"]);
});

Deno.test("endpoint board: what the program aborts or breaks is no answer of the endpoint", async () => {
  const { board, make } = scene();
  const { raw, endpoint } = make("a");
  raw.answer = () => {
    throw new Error("aborted");
  };
  await assert.rejects(endpoint.send([call("eth_call")], { signal }), /aborted/);
  assert.deepEqual(board.list(), []);
});

Deno.test("endpoint board: the heights of a chain are the highest that its endpoints named in the last minute of asking", async () => {
  const { board, make, clock, registry, collect } = scene();
  const one = make("a");
  const two = make("b");
  assert.deepEqual(board.heights("EVM-1"), {});
  two.raw.answer = () => ({ kind: "result", result: { number: "0x99" } });
  await two.endpoint.send([call("eth_getBlockByNumber", "finalized", false)], { signal });
  const finalMs = clock.now();
  await clock.advance(61_000);
  await one.endpoint.send([call("eth_blockNumber")], { signal });
  const oneMs = clock.now();
  const final = { height: 0x99, readAtMs: finalMs };
  assert.deepEqual(board.heights("EVM-1"), { head: { height: 16, readAtMs: oneMs }, final });
  two.raw.answer = () => ({ kind: "result", result: "0xf" });
  await two.endpoint.send([call("eth_blockNumber")], { signal });
  assert.equal(board.heights("EVM-1").head?.height, 16, "one that is behind changes nothing");
  await clock.advance(61_000);
  await two.endpoint.send([call("eth_blockNumber")], { signal });
  assert.deepEqual(
    board.heights("EVM-1").head,
    { height: 15, readAtMs: clock.now() },
    "after a minute it does",
  );
  collect();
  assert.match(await registry.expose(), /^causeway_chain_head_height\{chain="EVM-1"\} 15$/m);
  assert.match(await registry.expose(), /^causeway_chain_final_height\{chain="EVM-1"\} 153$/m);
});

Deno.test("endpoint board: an endpoint that serves another chain says nothing about the heights of this one", async () => {
  const { board, make } = scene();
  const { raw, endpoint } = make("a");
  await endpoint.send([call("eth_chainId"), call("eth_blockNumber")], { signal });
  assert.deepEqual(board.heights("EVM-1"), {});
  raw.answer = () => ({ kind: "result", result: "0x1" });
  await endpoint.send([call("eth_chainId"), call("eth_blockNumber")], { signal });
  assert.equal(board.heights("EVM-1").head?.height, 1);
});

Deno.test("endpoint board: the final block of a Substrate node is named by its hash first", async () => {
  const { board, make } = scene();
  const { raw, endpoint } = make("a");
  raw.answer = () => ({ kind: "result", result: "0xabcd" });
  await endpoint.send([call("chain_getFinalizedHead")], { signal });
  raw.answer = () => ({ kind: "result", result: { number: "0x20" } });
  await endpoint.send([call("chain_getHeader", "0x1111")], { signal });
  assert.deepEqual(board.heights("EVM-1"), {});
  await endpoint.send([call("chain_getHeader", "0xabcd")], { signal });
  assert.deepEqual(board.heights("EVM-1").final?.height, 32);
  raw.answer = () => ({ kind: "result", result: { number: "0x22" } });
  await endpoint.send([call("chain_getHeader")], { signal });
  assert.deepEqual(board.heights("EVM-1").head?.height, 34);
});

Deno.test("endpoint board: an endpoint that is asked no longer is forgotten, and so are its gauges", async () => {
  const { board, make, clock, registry, collect } = scene();
  const kept = make("kept");
  const removed = make("removed");
  removed.raw.answer = () => {
    throw faultAt("timeout");
  };
  await assert.rejects(removed.endpoint.send([call("eth_call")], { signal }), RpcFault);
  for (let hour = 0; hour < 3; hour++) {
    await kept.endpoint.send([call("eth_call")], { signal });
    collect();
    assert.equal(
      (await registry.expose()).includes('causeway_endpoint_up{chain="EVM-1",endpoint="removed"} 0'),
      hour < 2,
    );
    await clock.advance(3_600_000);
  }
  assert.deepEqual(board.list().map(({ host }) => host), ["kept"]);
});

Deno.test("endpoint board: an endpoint owes an answer until its request has ended, however it did", async () => {
  const { board, make } = scene();
  const { raw, endpoint } = make("a");
  const asked = endpoint.send([call("eth_call")], { signal });
  assert.deepEqual([board.listAsked("EVM-1"), board.listAsked("EVM-2")], [["a"], []]);
  await asked;
  assert.deepEqual(board.listAsked("EVM-1"), []);
  raw.answer = () => {
    throw new Error("aborted");
  };
  await assert.rejects(endpoint.send([call("eth_call")], { signal }), /aborted/);
  assert.deepEqual(board.listAsked("EVM-1"), []);
});

Deno.test("endpoint board: a signer is none of the endpoints, and down whatever kept it from signing", async () => {
  const { board, make, registry, collect } = scene();
  await make("signer.example").endpoint.send([call("eth_call")], { signal });
  const sign = (outcome: "ok" | "wrong_signature" | "not_found"): void =>
    board.noteRequest({
      chain: "EVM-1",
      endpointHost: "signer.example",
      role: "signer",
      calls: [{ method: "eth1/sign", outcome }],
      tookMs: 5,
      head: undefined,
      final: undefined,
    });
  const place = 'chain="EVM-1",endpoint="signer.example"';
  for (const outcome of ["ok", "wrong_signature", "not_found", "ok"] as const) {
    sign(outcome);
    collect();
    const text = await registry.expose();
    assert.ok(text.includes(`causeway_signer_up{${place}} ${outcome === "ok" ? 1 : 0}\n`), outcome);
    assert.ok(text.includes(`causeway_endpoint_up{${place}} 1\n`), outcome);
    assert.deepEqual(board.list().map(({ isSigner, isUp }) => [isSigner, isUp]), [[false, true], [
      true,
      outcome === "ok",
    ]]);
  }
  assert.equal(board.list()[1]?.lastFault, "not_found");
});
