import assert from "node:assert/strict";
import { judgeBalance, judgeHostView } from "../../../../src/core/chains/evm/chain_checks.ts";
import { refusesMessages } from "../../../../src/core/chains/evm/reads.ts";
import type { HostConsensusView } from "../../../../src/core/chains/hub_client.ts";
import { toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { probeEndpoints } from "../../../../src/core/chains/evm/endpoint_probe.ts";
import type { EndpointFacts } from "../../../../src/core/chains/evm/endpoint_probe.ts";
import { judgeEndpoints } from "../../../../src/core/chains/evm/endpoint_rows.ts";
import { createEvmEndpointSet } from "../../../../src/core/chains/evm/evm_endpoint_set.ts";
import { runChecks } from "../../../../src/core/checks/check_row.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { reactionTo, RpcFault } from "../../../../src/core/rpc/call.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";
import { chainUnderTest, hub } from "./chain_fixture.ts";
import { host, node } from "./scripted_node.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";

const never = new AbortController().signal;
const NOW_MS = 1_767_225_600_000;
const expected = { chain: "EVM-1", chainId: 1n, key: "rpc_urls", nowMs: NOW_MS };

type Answering = Extract<EndpointFacts, { kind: "answers" }>;

/** An endpoint that is in order, but for what a test is about. */
function facts(change: Partial<Answering> = {}): EndpointFacts {
  return {
    host: "one.example",
    kind: "answers",
    latencyMs: 40,
    chainId: 1n,
    head: { height: 1_000n, timeSec: BigInt(NOW_MS / 1_000) - 5n },
    finalized: 936n,
    maxBatch: Infinity,
    logs: { blocks: 10_000n },
    simulation: { trace: true, simulate: true },
    ...change,
  };
}

function fault(code: RpcFault["code"]): RpcFault {
  return new RpcFault(code, reactionTo(code), { chain: "EVM-1", endpointHost: "one.example", method: "any" });
}

/** Result of one check of the first endpoint. */
function resultOf(
  check: string,
  endpoints: readonly EndpointFacts[],
  blocksPerQuery?: bigint,
): string | undefined {
  return judgeEndpoints(endpoints, { ...expected, blocksPerQuery }).find((row) => row.check === check)
    ?.result;
}

Deno.test("endpoints: a sound one is in order in every row", () => {
  const rows = judgeEndpoints([facts()], expected);
  assert.deepEqual(new Set(rows.map(({ result }) => result)), new Set(["ok"]));
  assert.deepEqual(rows.map(({ check }) => check), [
    "endpoint",
    "chain_id",
    "head",
    "finalized",
    "batch",
    "logs",
    "simulation",
    "clock",
  ]);
});

Deno.test("endpoints: silence is a warning beside others, and a failure alone", () => {
  const silent: EndpointFacts = { host: "two.example", kind: "silent", fault: fault("timeout") };
  assert.equal(resultOf("endpoint", [silent]), "failed");
  assert.equal(resultOf("endpoint", [silent, facts()]), "warning");
});

Deno.test("endpoints: heads are compared with the newest, by blocks and by time", () => {
  const newest = facts({ host: "two.example", head: { height: 1_010n, timeSec: BigInt(NOW_MS / 1_000) } });
  const at = (height: bigint, ageSec: bigint): EndpointFacts =>
    facts({ head: { height, timeSec: BigInt(NOW_MS / 1_000) - ageSec } });
  assert.equal(resultOf("head", [at(1_007n, 36n), newest]), "warning");
  assert.equal(resultOf("head", [at(1_008n, 24n), newest]), "ok");
  assert.equal(resultOf("head", [at(1_000n, 20n), newest]), "ok", "many fast blocks are little time");
  const stranger = facts({
    host: "three.example",
    chainId: 2n,
    head: { height: 9_999n, timeSec: 9n ** 10n },
  });
  assert.equal(resultOf("head", [at(1_010n, 0n), stranger]), "ok", "a stranger's head says nothing");
});

Deno.test("endpoints: what an endpoint lacks is named: tag, batches, width, traces, speed", () => {
  assert.equal(resultOf("finalized", [facts({ finalized: fault("refused") })]), "warning");
  assert.equal(resultOf("finalized", [facts({ finalized: undefined })]), "warning");
  assert.equal(resultOf("batch", [facts({ maxBatch: 1 })]), "warning");
  assert.equal(resultOf("batch", [facts({ maxBatch: 10 })]), "ok");
  const refused = { blocks: 5_000n, fault: fault("range_too_wide") };
  assert.equal(
    resultOf("logs", [facts({ logs: { blocks: 1_000n, refused } })]),
    "ok",
    "it is learned by itself",
  );
  assert.equal(resultOf("logs", [facts({ logs: { blocks: 1_000n, refused } })], 5_000n), "warning");
  assert.equal(resultOf("logs", [facts({ logs: { blocks: undefined, refused } })]), "failed");
  assert.equal(resultOf("simulation", [facts({ simulation: { trace: false, simulate: true } })]), "warning");
  assert.equal(resultOf("endpoint", [facts({ latencyMs: 2_001 })]), "warning");
  assert.equal(resultOf("chain_id", [facts({ chainId: 2n })]), "failed");
});

/** Facts about scripted nodes of chain 1, each as an endpoint. */
function probe(nodes: readonly ScriptedRpc[]): Promise<readonly EndpointFacts[]> {
  const endpoints = createEvmEndpointSet(
    { fetch: platformFetch, clock: systemClock, randomness: seededRandomness(1) },
    { stateMachine: evmStateMachine(1), urls: nodes.map(({ url }) => new EndpointUrl(url)) },
  );
  const options = { clock: systemClock, logsOf: toAddress(host), simulateFrom: toAddress(host) };
  return probeEndpoints(endpoints, options, never);
}

Deno.test("endpoint probe: each endpoint is asked by itself, whatever the others answer", async () => {
  await using logging = node({
    debug_traceCall: () => ({ type: "CREATE", logs: [{}] }),
    eth_simulateV1: () => [{ calls: [{ logs: [] }] }],
  });
  await using limited = node({ eth_chainId: () => "0x5" });
  limited.onBatch((calls) => calls.length > 4 ? { kind: "batchLimit", max: 4 } : undefined);
  await using dead = node();
  dead.failAlways({ kind: "status", status: 503 });
  await using narrow = node({
    eth_getLogs: () => new ScriptedError(-32005, "query returned more than 10000 results"),
  });
  const [a, b, c, d] = await probe([logging, limited, dead, narrow]);
  assert.ok(a?.kind === "answers" && b?.kind === "answers" && c?.kind === "silent" && d?.kind === "answers");
  assert.deepEqual(a.simulation, { trace: true, simulate: false });
  assert.deepEqual([a.chainId, a.maxBatch, a.finalized], [1n, Infinity, 0xf0n]);
  assert.equal(b.chainId, 5n);
  assert.ok(b.maxBatch <= 10, String(b.maxBatch));
  assert.equal(c.fault.code, "server_error");
  assert.ok(d.simulation?.trace instanceof RpcFault);
  assert.equal(d.logs?.blocks, undefined);
  assert.equal(d.logs?.refused?.fault.code, "range_too_wide");
});

Deno.test("account: a balance below 100 deliveries is a warning, one below a single delivery a failure", () => {
  const result = (balanceWei: bigint, gasPriceWei = 10n): string =>
    judgeBalance("EVM-1", { account: "0x12", balanceWei, gasPriceWei }).result;
  assert.equal(result(0n), "failed");
  assert.equal(result(2_999_999n), "failed");
  assert.equal(result(3_000_000n), "warning");
  assert.equal(result(299_999_999n), "warning");
  assert.equal(result(300_000_000n), "ok");
  assert.equal(result(0n, 0n), "failed", "an account without anything cannot send, whatever gas costs");
});

Deno.test("host view: an expired, frozen or foreign client of the hub is named", () => {
  const client = toAddress(`0x${"33".repeat(20)}`);
  const authorities = { id: 1n, length: 1, root: toHash256(new Uint8Array(32)) };
  const view: HostConsensusView = {
    state: { latestHeight: 5n, beefyActivationBlock: 0n, current: authorities, next: authorities },
    stateBytes: 256,
    consensusClient: client,
    hubHeight: 7n,
    acceptsHub: true,
    nowSec: 1_000n,
    updatedSec: 940n,
    unstakingSec: 500n,
    challengePeriodSec: 120n,
    isFrozen: false,
    pendingHeight: 5n,
    pendingSetId: 1n,
  };
  const judge = (change: Partial<HostConsensusView>, isRouter = true): readonly [string, string] => {
    const { result, found } = judgeHostView("EVM-1", { ...view, ...change }, {
      hub: "KUSAMA-4009/PAS0",
      isRouter,
    });
    return [result, found];
  };
  assert.deepEqual(judge({}), [
    "ok",
    "height 7 of KUSAMA-4009/PAS0, updated 60 s ago, challenge period 120 s",
  ]);
  assert.equal(judge({ updatedSec: 500n })[0], "failed");
  assert.match(judge({ updatedSec: 500n })[1], /has expired/);
  assert.equal(judge({ isFrozen: true })[0], "warning");
  assert.equal(judge({}, false)[0], "warning");
  assert.deepEqual(judge({ state: undefined, stateBytes: 384 }), [
    "warning",
    `consensus client ${client} keeps a state of 384 bytes, a layout that this version does not know: ` +
    "no proofs of KUSAMA-4009/PAS0 can be sent, only those of other relayers arrive",
  ]);
});

Deno.test("host view: a frozen status of a newer host is named, and the simulation is left to decide", () => {
  const log = new RecordedLog();
  const statuses = ["none", "incoming", "outgoing", "all", "unknown(4)"] as const;
  assert.deepEqual(statuses.map((status) => refusesMessages(log, status)), [false, true, false, true, false]);
  assert.deepEqual(log.lines.map(({ event, fields }) => [event, fields.what]), [
    ["unknown_met", "frozen status unknown(4) of the host"],
  ]);
});

Deno.test("evm checks: what is about the chain comes from an endpoint that answers, while another one hangs", async () => {
  await using hanging = node();
  hanging.failAlways({ kind: "hang" });
  await using good = node({ eth_getCode: () => "0x60", eth_getBalance: () => "0x0" });
  const { chain } = chainUnderTest([hanging.url, good.url], {
    ismpHost: host,
    stateMachine: evmStateMachine(1),
  });
  const { jobs } = chain.planChecks({
    hub,
    fetchKnownHeight: () => Promise.resolve(undefined),
    judgeNonces: ({ latest }) => ({ chain: "EVM-1", check: "nonce", result: "ok", found: String(latest) }),
  });
  // The endpoints themselves have a row each, which waits for the one that hangs.
  const others = jobs.filter(({ check }) => check !== "endpoint");
  const rows = await runChecks({ clock: systemClock }, others, never);
  assert.equal(rows.find(({ check }) => check === "balance")?.result, "failed");
  assert.equal(rows.find(({ check }) => check === "nonce")?.found, "5");
  assert.ok(rows.some(({ check }) => check === "hub_not_accepted"));
  assert.deepEqual(rows.filter(({ found }) => found.includes("no result")), []);
});

Deno.test("evm checks: of a chain that is only a source neither account, nonces nor simulations are checked", async () => {
  await using good = node({
    eth_getCode: () => "0x60",
    eth_getBalance: () => "0x0",
    debug_traceCall: () => new ScriptedError(-32601, "no such method"),
    eth_simulateV1: () => new ScriptedError(-32601, "no such method"),
  });
  const { chain } = chainUnderTest([good.url], {
    ismpHost: host,
    stateMachine: evmStateMachine(1),
    signer: undefined,
  });
  assert.equal(chain.relayer, undefined);
  const { jobs } = chain.planChecks({
    hub,
    fetchKnownHeight: () => Promise.resolve(undefined),
    judgeNonces: () => assert.fail(),
  });
  const rows = await runChecks({ clock: systemClock }, jobs, never);
  const found = rows.map(({ check }) => check);
  for (const check of ["balance", "nonce", "simulation", "balance_low", "simulation_unavailable"] as const) {
    assert.ok(!found.includes(check), check);
  }
  assert.equal(
    rows.find(({ check }) => check === "signer")?.found,
    "no signer: nothing is sent to this chain",
  );
  await assert.rejects(
    chain.signMessage({ preimage: new Uint8Array(), digest: `0x${"00".repeat(32)}` }, never),
  );
});
