import assert from "node:assert/strict";
import { judgeBalance, judgeHostView } from "../../../../src/core/chains/evm/chain_checks.ts";
import { refusesMessages } from "../../../../src/core/chains/evm/reads.ts";
import type { HostConsensusView } from "../../../../src/core/chains/hub_client.ts";
import { toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { checkEndpoints } from "../../../../src/core/chains/evm/endpoint_checks.ts";
import { createEvmEndpointSet } from "../../../../src/core/chains/evm/evm_endpoint_set.ts";
import type { ChainCheckContext } from "../../../../src/core/chains/chain_checks.ts";
import { about, type CheckRow, runChecks } from "../../../../src/core/checks/check_row.ts";
import { EndpointUrl } from "../../../../src/core/config/redact.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import {
  type Answerer,
  hang,
  httpStatus,
  ScriptedError,
  scriptedFetch,
  type ScriptedRpc,
} from "../../../support/scripted_rpc.ts";
import { seededRandomness } from "../../../support/seeded_randomness.ts";
import { hub } from "./chain_fixture.ts";
import { chainAt, chainOn, host, hostAnswers, node } from "./scripted_node.ts";
import hostVector from "../../../vectors/evm-host-reads.json" with { type: "json" };
import { RecordedLog } from "../../../support/recorded_log.ts";

const never = new AbortController().signal;

/** Rows about scripted nodes of chain 1, by check: one for each node that has it. */
async function check(
  nodes: readonly ScriptedRpc[],
  { blocksPerQuery, tookMs = 0 }: { readonly blocksPerQuery?: bigint; readonly tookMs?: number } = {},
): Promise<ReadonlyMap<string, readonly CheckRow[]>> {
  const endpoints = createEvmEndpointSet(
    { fetch: scriptedFetch, clock: systemClock, randomness: seededRandomness(1) },
    { stateMachine: evmStateMachine(1), urls: nodes.map(({ url }) => new EndpointUrl(url)) },
  );
  let nowMs = NOW_MS;
  const options = { logsOf: toAddress(host), simulateFrom: toAddress(host), blocksPerQuery };
  const rows = await checkEndpoints(
    endpoints,
    { chain: "EVM-1", chainId: 1n, key: "rpc_urls", ...options, clock: { now: () => (nowMs += tookMs) } },
    never,
  );
  return Map.groupBy(rows, (row) => row.check);
}

const NOW_MS = 1_767_225_600_000;

/** Answers as a node whose head has this height and age. */
function headAt(height: number, ageSec: number): Readonly<Record<string, Answerer>> {
  const timestamp = `0x${(NOW_MS / 1_000 - ageSec).toString(16)}`;
  return {
    eth_getBlockByNumber: ([tag]) => ({
      number: `0x${(tag === "finalized" ? height - 64 : height).toString(16)}`,
      hash: `0x${"07".repeat(32)}`,
      timestamp,
    }),
  };
}

const SOUND: Readonly<Record<string, Answerer>> = {
  ...headAt(1_000, 5),
  // A number beyond 2^53, as some nodes write gas.
  debug_traceCall: () => ({ type: "CREATE", gas: 2 ** 64, logs: [{}] }),
};

function resultsOf(rows: ReadonlyMap<string, readonly CheckRow[]>, of: string): readonly string[] {
  return (rows.get(of) ?? []).map(({ result }) => result);
}

Deno.test("endpoints: a sound one is in order in every row", async () => {
  const sound = node(SOUND);
  const rows = await check([sound]);
  assert.deepEqual([...rows.values()].flat().filter(({ result }) => result !== "ok"), []);
  const checks = "endpoint chain_id head finalized batch logs simulation clock";
  assert.equal([...rows.keys()].join(" "), checks);
});

Deno.test("endpoints: silence is a warning beside others, and a failure alone, with what to do", async () => {
  const sound = node(SOUND);
  const silent = node();
  const advices = [[503, /check the node/], [401, /check the key in the URL and the plan/]] as const;
  for (const [status, advice] of advices) {
    silent.fault = httpStatus(status);
    assert.deepEqual(resultsOf(await check([silent]), "endpoint"), ["failed"]);
    const [row] = (await check([silent, sound])).get("endpoint") ?? [];
    assert.equal(row?.result, "warning");
    assert.match(row?.advice ?? "", advice);
  }
});

const heads: readonly (readonly [string, number, number, string])[] = [
  ["three blocks and a quarter of a minute", 1_007, 15, "warning"],
  ["two blocks", 1_008, 24, "ok"],
  ["many fast blocks, which are little time", 1_000, 14, "ok"],
];
for (const [what, height, ageSec, result] of heads) {
  Deno.test(`endpoints: heads are compared by blocks and by time: ${what} behind: ${result}`, async () => {
    const newest = node({ ...SOUND, ...headAt(1_010, 0) });
    const stranger = node({ ...SOUND, ...headAt(9_999, -60), eth_chainId: () => "0x2" });
    const behind = node({ ...SOUND, ...headAt(height, ageSec) });
    const rows = await check([behind, newest, stranger]);
    assert.deepEqual(resultsOf(rows, "head"), [result, "ok"]);
    assert.deepEqual(resultsOf(rows, "chain_id"), ["ok", "ok", "warning"]);
  });
}

const lacks: readonly (readonly [
  string,
  string,
  Readonly<Record<string, Answerer>>,
  string,
  Parameters<typeof check>[1]?,
])[] = [
  ["the final block is refused", "finalized", {
    eth_getBlockByNumber: ([tag]) =>
      tag === "finalized"
        ? new ScriptedError(-32000, "no")
        : { number: "0x9", hash: "0x07", timestamp: "0x10" },
  }, "warning"],
  ["answers take long", "endpoint", {}, "warning", { tookMs: 2_001 }],
  ["a wide range is refused", "logs", narrow(1_000), "ok"],
  ["the configured range is refused", "logs", narrow(1_000), "warning", { blocksPerQuery: 5_000n }],
  ["every range is refused", "logs", narrow(0), "failed"],
  ["traces are without logs", "simulation", {
    debug_traceCall: () => ({ type: "CREATE" }),
    eth_simulateV1: () => [{ calls: [{ logs: [{}] }] }],
  }, "warning"],
  ["nothing simulates", "simulation", { debug_traceCall: () => new ScriptedError(-32601, "no") }, "warning"],
];
for (const [what, of, answers, result, options] of lacks) {
  Deno.test(`endpoints: what one lacks is named: ${what}: ${result}`, async () => {
    const lacking = node({ ...SOUND, ...answers });
    assert.deepEqual(resultsOf(await check([lacking], options), of), [result]);
  });
}

/** Answers logs of at most so many blocks. */
function narrow(blocks: number): Readonly<Record<string, Answerer>> {
  return {
    ...headAt(100_000, 5),
    eth_getLogs: ([filter]) => {
      const { fromBlock, toBlock } = Object(filter);
      return Number(toBlock) - Number(fromBlock) < blocks ? [] : new ScriptedError(-32005, "range too wide");
    },
  };
}

Deno.test("endpoints: what one that throttles does not answer is unknown, not missing", async () => {
  const throttled: Answerer = () => new ScriptedError(429, "Too Many Requests");
  const busy = { eth_getLogs: throttled, debug_traceCall: throttled, eth_simulateV1: throttled };
  const rows = await check([node({ ...SOUND, ...busy })]);
  for (const kind of ["logs", "simulation"]) {
    const [row] = rows.get(kind) ?? [];
    assert.equal(row?.result, "warning");
    assert.match(row?.found ?? "", /could not be checked: throttled/);
    assert.match(row?.advice ?? "", /plan with more requests/);
  }
});

Deno.test("endpoints: how many calls one takes in a request is found", async () => {
  for (const [max, result] of [[1, "warning"], [4, "warning"], [10, "ok"]] as const) {
    const limited = node(SOUND);
    const error = { code: -32600, message: `maximum batch size is ${max}` };
    limited.fault = ({ length }) =>
      length > max ? Response.json({ jsonrpc: "2.0", id: null, error }) : undefined;
    assert.deepEqual(resultsOf(await check([limited]), "batch"), [result], String(max));
  }
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

Deno.test("host view: an expired, expiring, frozen or foreign client of the hub is named", () => {
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
    const at = { chain: "EVM-97", hub: "KUSAMA-4009/PAS0", isRouter };
    const { result, found } = judgeHostView({ ...view, ...change }, at);
    return [result, found];
  };
  assert.deepEqual(judge({}), [
    "ok",
    "height 7 of KUSAMA-4009/PAS0, updated 60 s ago, challenge period 120 s",
  ]);
  assert.equal(judge({ updatedSec: 500n })[0], "failed");
  assert.match(judge({ updatedSec: 500n })[1], /has expired/);
  assert.equal(judge({ updatedSec: 750n })[0], "ok");
  assert.deepEqual(judge({ updatedSec: 749n }), [
    "warning",
    `consensus client ${client} expires 8 min after its last update: height 7 of KUSAMA-4009/PAS0, updated 4 min ago`,
  ]);
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

/** Rows about the chain at these nodes. The endpoints themselves have a row each, which waits for one that hangs. */
async function checkChain(
  { chain, clock }: ReturnType<typeof chainAt>,
  judgeNonces: ChainCheckContext["judgeNonces"] = ({ latest }) => about("EVM-1").ok("nonce", String(latest)),
): Promise<readonly CheckRow[]> {
  const jobs = chain.planChecks({
    hub,
    fetchKnownHeight: () => Promise.resolve(undefined),
    judgeNonces,
    checkPrices: async (router, signal) => [
      about("EVM-1").ok("price", String(await router.fetchRouterPrice(signal))),
    ],
  });
  return await clock.run(runChecks({ clock }, jobs.filter(({ check }) => check !== "endpoint"), never));
}

const poor: Readonly<Record<string, Answerer>> = { eth_getCode: () => "0x60", eth_getBalance: () => "0x0" };

Deno.test("evm checks: what is about the chain comes from an endpoint that answers, while another one hangs", async () => {
  const hanging = Object.assign(node(), { fault: hang });
  const rows = await checkChain(chainAt([hanging, node(poor)]));
  assert.equal(rows.find(({ check }) => check === "balance")?.result, "failed");
  assert.equal(rows.find(({ check }) => check === "nonce")?.found, "5");
  assert.ok(rows.some(({ check }) => check === "hub_not_accepted"));
  assert.deepEqual(rows.filter(({ found }) => found.includes("no result")), []);
});

const useless: readonly (readonly [string, ScriptedRpc, string])[] = [
  ["hangs", Object.assign(node(), { fault: hang }), "endpoint failed, signer ok"],
  ["serves another chain", node({ eth_chainId: () => "0x2" }), "endpoint ok, chain_id failed, signer ok"],
];
for (const [what, rpc, expected] of useless) {
  Deno.test(`evm checks: that the only endpoint ${what} is said once, and not of its proofs`, async () => {
    const { chain, clock } = chainAt([rpc]);
    const jobs = chain.planChecks({ hub, fetchKnownHeight: () => Promise.resolve(5n) });
    const rows = await clock.run(runChecks({ clock }, jobs, never));
    assert.equal(rows.map(({ check, result }) => `${check} ${result}`).join(", "), expected);
  });
}

Deno.test("evm checks: a read of the host's contracts that fails hides neither nonces nor the price", async () => {
  const fails = new ScriptedError(-32001, "Unable to complete request at this time.");
  const rows = await checkChain(chainOn({ ...poor, eth_call: hostAnswers(() => fails) }));
  const found = (of: string): string | undefined => rows.find(({ check }) => check === of)?.found;
  assert.match(found("host") ?? "", /server_error/);
  assert.deepEqual([found("nonce"), found("price")], ["5", String(10n ** 27n)]);
});

Deno.test("evm checks: an endpoint without the contract is not believed what it says of the host", async () => {
  const without = node();
  const rows = await checkChain(chainAt([without, node(poor)]));
  assert.deepEqual(rows.filter(({ check }) => check === "host_not_found"), []);
  assert.equal(rows.find(({ check }) => check === "head")?.endpoint, without.host);
  const alone = await checkChain(chainAt([without]));
  assert.deepEqual(alone.filter(({ check }) => check === "head"), [], "no other one has it");
});

Deno.test("evm checks: an endpoint whose host is of the configured hub is believed before another one", async () => {
  const [ours, theirs] = ["KUSAMA-4009", "KUSAMA-4008"].map((name) =>
    toHex(new TextEncoder().encode(name)).slice(2)
  );
  const foreign = hostVector.reads.hostParams.result.replace(ours ?? "", theirs ?? "");
  const rows = await checkChain(chainAt([node({ ...poor, eth_call: () => foreign }), node(poor)]));
  assert.deepEqual(rows.filter(({ check }) => check === "host_wrong_hub"), []);
});

Deno.test("evm checks: what they read of the host is not what the program works with", async () => {
  const on = chainOn(poor);
  await on.chain.check(hub, never);
  const { decoded, result } = hostVector.reads.hostParams;
  const other = result.replace(decoded.handler.slice(2).toLowerCase(), "11".repeat(20));
  on.rpc.on("eth_call", () => other);
  const rows = await checkChain(on);
  assert.match(rows.find(({ check }) => check === "host")?.found ?? "", /handler 0x11/);
  assert.deepEqual(on.log.events("info"), []);
});

Deno.test("evm checks: of a chain that is only a source neither account, nonces nor simulations are checked", async () => {
  const on = chainOn(poor, { signer: undefined });
  assert.equal(on.chain.relayer, undefined);
  const rows = await checkChain(on, () => assert.fail());
  assert.deepEqual(rows.filter(({ check }) => ["balance", "nonce", "simulation"].includes(check)), []);
  const signer = rows.find(({ check }) => check === "signer");
  assert.equal(signer?.found, "no signer: nothing is sent to this chain");
  const digest = toHash256(new Uint8Array(32));
  await assert.rejects(on.chain.signMessage({ preimage: new Uint8Array(), digest }, never));
});
