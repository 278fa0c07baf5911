import assert from "node:assert/strict";
import { EndpointBoard } from "../../../src/core/rpc/endpoint_board.ts";
import { type RpcFaultCode } from "../../../src/core/rpc/call.ts";
import type { Json } from "../../../src/core/rpc/json.ts";
import {
  HeightsInAnswers,
  type ObservedRequest,
  observeRequest,
} from "../../../src/core/rpc/observed_endpoint.ts";
import { programGauges, toChainStatus, toProgramStatus } from "../../../src/core/checks/program_status.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { MetricRegistry } from "../../../src/core/telemetry/metrics.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { faultOf } from "../../support/rpc_faults.ts";

/** A board with its clock and registry. */
class Scene {
  readonly clock = new FakeClock(1_000);
  readonly registry = new MetricRegistry();
  readonly board = new EndpointBoard({ clock: this.clock, registry: this.registry });

  /** Notes a request of one call, or of more, each with the same outcome. */
  note(endpointHost: string, outcome: "ok" | RpcFaultCode = "ok", more: Partial<ObservedRequest> = {}): void {
    const calls = [{ method: "eth_call", outcome }];
    this.board.noteRequest({ chain: "EVM-1", endpointHost, calls, tookMs: 20, ...more });
  }

  /** The metrics, with the gauges of a snapshot. */
  async expose(): Promise<string> {
    const running = {
      ...{ startedAtMs: 0, checks: [], warnings: [], troubles: [], dateReasons: () => [] },
      endpoints: this.board.list(),
      readHeights: (chain: string) => this.board.heights(chain),
    };
    const nowMs = this.clock.now();
    const place = { program: "causeway", hub: "", nowMs, names: new ChainNames(), running };
    const status = toProgramStatus(place, { chains: [toChainStatus(place, "EVM-1")] }, []);
    this.registry.write(programGauges, status);
    return await this.registry.expose();
  }
}

Deno.test("endpoint board: each call of a batch is counted by method and outcome, the request is timed once", async () => {
  const scene = new Scene();
  const methods = ["eth_call", "eth_call", "eth_chainId"];
  scene.note("a.example:8545", "ok", { calls: methods.map((method) => ({ method, outcome: "ok" })) });
  scene.note("a.example:8545", "reverted");
  const text = await scene.registry.expose();
  const place = 'chain="EVM-1",endpoint="a.example:8545"';
  assert.ok(text.includes(`causeway_rpc_requests_total{${place},method="eth_call",outcome="ok"} 2\n`));
  assert.ok(text.includes(`causeway_rpc_requests_total{${place},method="eth_chainId",outcome="ok"} 1\n`));
  assert.ok(text.includes(`causeway_rpc_requests_total{${place},method="eth_call",outcome="reverted"} 1\n`));
  assert.ok(text.includes(`causeway_rpc_request_seconds_count{${place}} 2\n`));
  const [known] = scene.board.list();
  assert.deepEqual([known?.isUp, known?.requests, known?.latencyMs], [true, 2, 20]);
});

Deno.test("endpoint board: an endpoint is down from its own fault on until it answers, whatever the answer", async () => {
  const scene = new Scene();
  scene.note("a");
  scene.note("a", "timeout");
  const downMs = scene.clock.now();
  await scene.clock.advance(5_000);
  scene.note("a", "timeout");
  const [down] = scene.board.list();
  assert.deepEqual([down?.isUp, down?.sinceMs, down?.lastFault], [false, downMs, "timeout"]);
  assert.match(await scene.expose(), /^causeway_endpoint_up\{chain="EVM-1",endpoint="a"\} 0$/m);
  scene.note("a", "reverted");
  const [up] = scene.board.list();
  assert.deepEqual([up?.isUp, up?.lastFault], [true, "timeout"]);
});

Deno.test("endpoint board: what the program breaks is no answer", async () => {
  const { board, clock } = new Scene();
  const place = { chain: "EVM-1", endpointHost: "a" };
  const ask = (work: () => Promise<void>): Promise<void> =>
    observeRequest({ observer: board, clock }, { place, calls: [{ method: "eth_call" }] }, work, () => ({
      outcomes: ["ok"],
    }));
  await assert.rejects(ask(() => Promise.reject(new Error("aborted"))), /aborted/);
  assert.deepEqual(board.list(), []);
  await assert.rejects(ask(() => Promise.reject(faultOf("timeout"))));
  assert.deepEqual(board.list().map(({ lastFault }) => lastFault), ["timeout"]);
});

Deno.test("endpoint board: the heights of a chain are the highest that its endpoints named in the last minute of asking", async () => {
  const scene = new Scene();
  const { board, clock } = scene;
  assert.deepEqual(board.heights("EVM-1"), {});
  scene.note("b", "ok", { final: 0x99n });
  const final = { height: 0x99, readAtMs: clock.now() };
  await clock.advance(61_000);
  scene.note("a", "ok", { head: 16n });
  assert.deepEqual(board.heights("EVM-1"), { head: { height: 16, readAtMs: clock.now() }, final });
  scene.note("b", "ok", { head: 15n });
  assert.equal(board.heights("EVM-1").head?.height, 16, "one that is behind changes nothing");
  await clock.advance(61_000);
  scene.note("b", "ok", { head: 15n });
  const head = { height: 15, readAtMs: clock.now() };
  assert.deepEqual(board.heights("EVM-1").head, head, "after a minute it does");
  const text = await scene.expose();
  assert.match(text, /^causeway_chain_head_height\{chain="EVM-1"\} 15$/m);
  assert.match(text, /^causeway_chain_final_height\{chain="EVM-1"\} 153$/m);
});

/** Questions to one endpoint, in their order, with the heights that the answers name. */
const named: readonly (readonly [
  what: string,
  rows: readonly (readonly [
    method: string,
    params: readonly string[],
    result: Json,
    heights: readonly [head: bigint | undefined, final: bigint | undefined],
  ])[],
])[] = [
  ["an endpoint that serves another chain names none", [
    ["eth_chainId", [], "0x10", [undefined, undefined]],
    ["eth_blockNumber", [], "0x11", [undefined, undefined]],
    ["eth_chainId", [], "0x1", [undefined, undefined]],
    ["eth_blockNumber", [], "0x11", [17n, undefined]],
    ["eth_getBlockByNumber", ["latest"], { number: "0x12" }, [18n, undefined]],
    ["eth_getBlockByNumber", ["finalized"], { number: "0x10" }, [undefined, 16n]],
  ]],
  ["the final block of a Substrate node is named by its hash first", [
    ["chain_getFinalizedHead", [], "0xabcd", [undefined, undefined]],
    ["chain_getHeader", ["0x1111"], { number: "0x20" }, [undefined, undefined]],
    ["chain_getHeader", ["0xabcd"], { number: "0x20" }, [undefined, 32n]],
    ["chain_getHeader", [], { number: "0x22" }, [34n, undefined]],
  ]],
];

for (const [what, rows] of named) {
  Deno.test(`heights in answers: ${what}`, () => {
    const heights = new HeightsInAnswers("EVM-1");
    for (const [method, params, result, expected] of rows) {
      const { head, final } = heights.find([{ method, params }], [{ kind: "result", result }]);
      assert.deepEqual([head, final], expected, method);
    }
  });
}

Deno.test("endpoint board: an endpoint that is asked no longer is forgotten, and so are its gauges", async () => {
  const scene = new Scene();
  scene.note("removed", "timeout");
  for (let hour = 0; hour < 3; hour++) {
    scene.note("kept");
    const isShown = (await scene.expose()).includes(
      'causeway_endpoint_up{chain="EVM-1",endpoint="removed"} 0',
    );
    assert.equal(isShown, hour < 2);
    await scene.clock.advance(3_600_001);
  }
  assert.deepEqual(scene.board.list().map(({ host }) => host), ["kept"]);
});

Deno.test("endpoint board: a signer is none of the endpoints, and down whatever kept it from signing", async () => {
  const scene = new Scene();
  scene.note("signer.example");
  const place = 'chain="EVM-1",endpoint="signer.example"';
  for (const outcome of ["ok", "wrong_signature", "not_found", "ok"] as const) {
    const isUp = outcome === "ok";
    scene.note("signer.example", outcome, { role: "signer" });
    const text = await scene.expose();
    assert.ok(text.includes(`causeway_signer_up{${place}} ${isUp ? 1 : 0}\n`), outcome);
    assert.ok(text.includes(`causeway_endpoint_up{${place}} 1\n`), outcome);
    const all = scene.board.list().map((each) => [each.isSigner, each.isUp]);
    assert.deepEqual(all, [[false, true], [true, isUp]]);
  }
  assert.equal(scene.board.list()[1]?.lastFault, "not_found");
});
