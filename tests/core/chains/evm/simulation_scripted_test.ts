import assert from "node:assert/strict";
import { encodeAbiParameters, parseTransaction } from "viem";
import type { Simulation } from "../../../../src/core/chains/submission.ts";
import { encodeDelivery } from "../../../../src/core/chains/evm/calldata.ts";
import { toQuantity } from "../../../../src/core/chains/evm/queries.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { hostEventTopics } from "../../../../src/core/evm/host_abi.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import hostVector from "../../../vectors/evm-host-reads.json" with { type: "json" };
import { FakeClock } from "../../../support/fake_clock.ts";
import { type Answerer, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { accepted, never } from "./chain_fixture.ts";
import { catchFault } from "../../../support/rpc_faults.ts";
import {
  blockOf,
  chainAt,
  deliveryOfPosts,
  host,
  node,
  post,
  readHost,
  sign,
  trySign,
} from "./scripted_node.ts";

const handledLog = (nonce: bigint): unknown => ({
  address: host,
  topics: [hostEventTopics.PostRequestHandled, post(nonce).commitment],
  data: "0x",
});

/** A dispatch whose module goes through. */
function dispatchOf(gasUsed: string, logs: readonly unknown[]): unknown {
  return {
    type: "CALL",
    to: host,
    input: "0xb85e6fbb",
    gasUsed,
    calls: [{ type: "CALL", to: `0x${"00".repeat(20)}`, input: "0x0fee32ce", gasUsed: "0x10" }],
    logs,
  };
}

/** A trace of two dispatches whose modules go through; only the first one is reported, if logs are shown. */
function trace(hasLogs: boolean): unknown {
  const dispatch = (gasUsed: string, logs: readonly unknown[]): unknown => {
    const { logs: shown, ...rest } = Object(dispatchOf(gasUsed, logs));
    return hasLogs ? { ...rest, logs: shown } : rest;
  };
  const calls = [dispatch("0x4000", [handledLog(0n)]), dispatch("0x2000", [])];
  return { type: "CALL", input: "0x698b1267", gasUsed: "0x10000", calls };
}

/** An eth_simulateV1 answer in which the second post alone is handled. */
function ran(changes: Readonly<Record<string, unknown>> = {}): readonly unknown[] {
  const call = { status: "0x1", gasUsed: "0x8000", returnData: "0x", logs: [handledLog(1n)], ...changes };
  return [{ number: "0x101", calls: [call] }];
}

function countOf(rpc: ScriptedRpc, method: string): number {
  return rpc.calls.filter((call) => call.method === method).length;
}

/** Code of a refusal; `accepted` where there is none. */
function codeOf(simulation: Simulation): string {
  return simulation.kind === "refused" ? simulation.refusal.code : simulation.kind;
}

/** Call that was traced last, and the options of that trace. */
function lastTrace(rpc: ScriptedRpc): readonly [call: Readonly<Record<string, string>>, options: unknown] {
  const [call, , options] = rpc.calls.filter(({ method }) => method === "debug_traceCall").at(-1)?.params ??
    [];
  return [Object(call), options];
}

/** Prices of Arbitrum as its precompile tells them: wei for a byte on layer 1, and for a unit of gas. */
function arbitrumPrices(byteWei: bigint, gasWei: bigint): string {
  const words = [9n, byteWei, 9n, 9n, 9n, gasWei];
  return encodeAbiParameters(words.map(() => ({ type: "uint256" as const })), words);
}

/** A node of Arbitrum whose precompile answers so. */
function arbitrumNode(prices: unknown, methods: Readonly<Record<string, Answerer>>): ScriptedRpc {
  return node({
    eth_chainId: () => "0xa4b1",
    eth_call: ([call]) =>
      JSON.stringify(call).includes("00000000006c")
        ? typeof prices === "function" ? prices() : prices
        : hostParams,
    ...methods,
  });
}

const hostParams = hostVector.reads.hostParams.result;

function handledOf(simulation: Simulation): readonly boolean[] {
  assert.ok(simulation.kind === "accepted", JSON.stringify(simulation.kind));
  return simulation.handled;
}

Deno.test("simulation: a tracer that leaves logs out counts as missing for ten minutes; eth_simulateV1 is used", async () => {
  await using rpc = node({ debug_traceCall: () => trace(false), eth_simulateV1: () => ran() });
  const clock = new FakeClock();
  const { chain, log, requests } = chainAt([rpc], {}, clock);
  const delivery = deliveryOfPosts(2);
  const first = await chain.simulator.simulate(delivery, never);
  assert.deepEqual(handledOf(first), [false, true]);
  assert.deepEqual(first.kind === "accepted" ? [first.gasUsed, first.messageGas] : [], [
    0x8000n,
    [0x4000n, 0x4000n],
  ]);
  requests.count = 0;
  assert.deepEqual(handledOf(await chain.simulator.simulate(delivery, never)), [false, true]);
  assert.deepEqual([requests.count, countOf(rpc, "debug_traceCall")], [1, 1]);
  assert.deepEqual([log.events("info").length, log.events("warn").length], [1, 0]);
  await clock.advance(10 * 60_000);
  rpc.on("debug_traceCall", () => trace(true));
  const traced = await chain.simulator.simulate(delivery, never);
  assert.deepEqual(handledOf(traced), [true, false]);
  assert.deepEqual(traced.kind === "accepted" ? traced.messageGas : [], [0x9000n, 0x7000n]);
});

Deno.test("simulation: an endpoint whose traces come without logs is skipped for one with logs", async () => {
  await using blind = node({ debug_traceCall: () => trace(false), eth_simulateV1: () => ran() });
  await using seeing = node({ debug_traceCall: () => trace(true) });
  const { chain } = chainAt([blind, seeing]);
  assert.deepEqual(handledOf(await chain.simulator.simulate(deliveryOfPosts(2), never)), [true, false]);
  assert.equal(countOf(blind, "eth_simulateV1"), 0);
  assert.deepEqual(handledOf(await chain.simulator.simulate(deliveryOfPosts(2), never)), [true, false]);
  assert.equal(countOf(blind, "debug_traceCall"), 1);
});

const refusals: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
  ["revert data as return data", { status: "0x0", returnData: "0x2ad4ae2e", logs: [] }, "duplicate"],
  [
    "revert data in the error",
    { status: "0x0", error: { code: 3, message: "execution reverted", data: "0x1676f4b3" } },
    "timed_out",
  ],
  [
    "no revert data",
    { status: "0x0", error: { code: -32015, message: "execution failed", data: { a: 1 } } },
    "unspecified",
  ],
  ["all gas used", { status: "0x0", gasUsed: "0xf42400" }, "too_large"],
];
for (const [name, changes, code] of refusals) {
  Deno.test(`simulation: eth_simulateV1 refuses a delivery: ${name}`, async () => {
    await using rpc = node({ eth_simulateV1: () => ran(changes) });
    const simulation = await chainAt([rpc]).chain.simulator.simulate(deliveryOfPosts(1), never);
    assert.equal(codeOf(simulation), code);
  });
}

/** Start of the call data of a delivery. */
const deliverySelector = encodeDelivery(deliveryOfPosts(1), host).slice(0, 10);

/** Revert data of `StateCommitmentNotFound()`. */
const HEIGHT_UNKNOWN = "0xa75caa56";

/** Lets time pass for as long as something takes that also waits for answers of a node. */
async function whileTimePasses<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const end = (): void => void (isOver = true);
  work.then(end, end);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    await clock.advance(20);
  }
  return await work;
}

/** How each method tells of a delivery on a node that does not know the proof's height, and on one that does. */
const behind: readonly (readonly [string, string, unknown, unknown])[] = [
  [
    "traces",
    "debug_traceCall",
    { type: "CALL", input: "0x", gasUsed: "0x100", error: "execution reverted", output: HEIGHT_UNKNOWN },
    trace(true),
  ],
  ["eth_simulateV1", "eth_simulateV1", ran({ status: "0x0", returnData: HEIGHT_UNKNOWN, logs: [] }), ran()],
  ["plain calls", "eth_call", new ScriptedError(3, "execution reverted", HEIGHT_UNKNOWN), "0x"],
];
for (const [name, method, unknown, known] of behind) {
  Deno.test(`simulation: a node that is behind is asked again at once, and a few times only: ${name}`, async () => {
    for (const [behindFor, expected] of [[4, "accepted"], [5, "not_ready"]] as const) {
      const clock = new FakeClock();
      await using rpc = node();
      let asked = 0;
      rpc.on(method, (params, self) => {
        const isDelivery = method !== "eth_call" || JSON.stringify(params).includes(deliverySelector);
        if (!isDelivery) return readHost(params, self);
        return asked++ < behindFor ? unknown : known;
      });
      const { chain } = chainAt([rpc], {}, clock);
      const simulation = await whileTimePasses(clock, chain.simulator.simulate(deliveryOfPosts(2), never));
      assert.equal(codeOf(simulation), expected);
    }
  });
}

Deno.test("simulation: what a node refuses for other reasons is simulated in another way, and asked again next time", async () => {
  const no: Answerer = () => new ScriptedError(-32000, "this is not for you");
  await using rpc = node({ debug_traceCall: no, eth_simulateV1: no });
  const { chain, log } = chainAt([rpc]);
  assert.deepEqual(handledOf(await chain.simulator.simulate(deliveryOfPosts(1), never)), [true]);
  assert.deepEqual([...log.events("info"), ...log.events("warn")], []);
  rpc.on("eth_simulateV1", () => ran({ logs: [] }));
  assert.deepEqual(handledOf(await chain.simulator.simulate(deliveryOfPosts(1), never)), [false]);
});

/** Shows a transfer of nothing, and answers everything else with an error. */
function onlyTrivial(error: ScriptedError): Answerer {
  return ([call]) =>
    JSON.stringify(call).includes('"data":"0x"') ? { type: "CALL", input: "0x", gasUsed: "0x5208" } : error;
}

for (
  const [said, asked] of [
    [new ScriptedError(-32003, "response too large"), 1],
    [new ScriptedError(-32000, "execution timeout"), 1],
    [new ScriptedError(-32000, "this is not for you"), 1],
    [new ScriptedError(-32603, "Internal error"), 2],
    [new ScriptedError(-32000, "context deadline exceeded"), 2],
  ] as const
) {
  Deno.test(`simulation: where other calls are traced, "${said.message}" is about the delivery, and no other way is tried`, async () => {
    await using rpc = node({ debug_traceCall: onlyTrivial(said), eth_simulateV1: () => ran() });
    const { chain, log } = chainAt([rpc]);
    for (const count of [1, 2]) {
      const before = countOf(rpc, "debug_traceCall");
      const simulation = await chain.simulator.simulate(deliveryOfPosts(count), never);
      assert.equal(codeOf(simulation), "untraceable");
      const tries = rpc.calls.slice().filter(({ method, params: [call] }) =>
        method === "debug_traceCall" && !JSON.stringify(call).includes('"data":"0x"')
      ).length;
      assert.ok(tries >= asked * count && countOf(rpc, "debug_traceCall") > before);
    }
    assert.deepEqual([countOf(rpc, "eth_simulateV1"), countOf(rpc, "eth_estimateGas")], [0, 0]);
    assert.deepEqual([...log.events("info"), ...log.events("warn")], []);
    // The endpoint is well: nothing keeps the next question waiting.
    rpc.on("debug_traceCall", () => trace(true));
    assert.deepEqual(handledOf(await chain.simulator.simulate(deliveryOfPosts(2), never)), [true, false]);
  });
}

Deno.test("simulation: a node that traces nothing for now is a fault of the node, not of the delivery", async () => {
  await using rpc = node({ debug_traceCall: () => new ScriptedError(-32603, "Internal error") });
  const fault = await catchFault(chainAt([rpc]).chain.simulator.simulate(deliveryOfPosts(1), never));
  assert.equal(fault.code, "server_error");
});

Deno.test("simulation: a delivery of consensus proofs alone that no trace shows is simulated in another way", async () => {
  await using rpc = node({
    debug_traceCall: onlyTrivial(new ScriptedError(-32003, "response too large")),
    eth_simulateV1: () => ran({ logs: [] }),
  });
  const steps = [{ kind: "consensus", proof: new Uint8Array(10) }] as const;
  assert.equal((await chainAt([rpc]).chain.simulator.simulate({ steps }, never)).kind, "accepted");
});

Deno.test("simulation: the trace that counts has the gas limit and the price of the transaction, and the sender's own balance", async () => {
  const top = { ...Object(trace(true)), calls: [dispatchOf("0x4000", [handledLog(0n)])] };
  await using rpc = node({
    debug_traceCall: () => top,
    eth_getBlockByNumber: () => blockOf("0x50"),
  });
  const { chain } = chainAt([rpc], { gasPriceBufferPercent: 10 });
  const simulation = await accepted(chain, deliveryOfPosts(1));
  const [call, options] = lastTrace(rpc);
  const signed = await sign(chain, { simulation });
  const { gas, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(toHex(signed.raw));
  const { gas: gasTraced, maxFeePerGas: feeTraced, maxPriorityFeePerGas: tipTraced } = call;
  assert.deepEqual(
    [gasTraced, feeTraced, tipTraced].map((traced = "") => BigInt(traced)),
    [gas, maxFeePerGas, maxPriorityFeePerGas],
  );
  assert.equal(JSON.stringify(options).includes("stateOverrides"), false);

  // An account that could not pay is imagined with just enough, so that what is missing is told when signing.
  rpc.on("eth_getBalance", () => "0x7");
  const poor = chainAt([rpc], { gasPriceBufferPercent: 10 }).chain;
  const imagined = await accepted(poor, deliveryOfPosts(1));
  const { stateOverrides } = Object(lastTrace(rpc)[1]);
  assert.deepEqual(Object.values(stateOverrides), [{ balance: toQuantity(BigInt(gas ?? 0) * 132n) }]);
  const refused = await trySign(poor, { simulation: imagined });
  assert.equal(refused.kind === "refused" ? refused.refusal.code : refused.kind, "insufficient_funds");
});

/** True for a getter, false for the delivery itself. */
function readsHost(params: readonly unknown[]): boolean {
  return !JSON.stringify(params).includes(deliverySelector);
}

Deno.test("simulation: by eth_simulateV1 all the gas that may be paid for counts, at the price of the transaction", async () => {
  await using rpc = node({
    eth_simulateV1: () => ran({ logs: [handledLog(0n)] }),
    eth_getBlockByNumber: () => blockOf("0x50"),
  });
  const simulation = await chainAt([rpc]).chain.simulator.simulate(deliveryOfPosts(1), never);
  assert.ok(simulation.kind === "accepted");
  assert.deepEqual([simulation.gasUsed, simulation.messageGas], [simulation.gasLimit, [simulation.gasLimit]]);
  const [blocks] = rpc.calls.filter(({ method }) => method === "eth_simulateV1").at(-1)?.params ?? [];
  const text = JSON.stringify(blocks);
  assert.match(text, /"gasPrice":"0x64"/);
  assert.match(text, /"baseFeePerGas":"0x50"/);
  assert.ok(text.includes(`"gas":"${toQuantity(simulation.gasLimit)}"`));
});

/** What nodes answer by the name of a method that they do not have as others do. */
const oddAnswers: readonly (readonly [string, unknown])[] = [
  ["struct logs of Besu", {
    gas: 250_000,
    failed: false,
    returnValue: "",
    structLogs: [{ pc: 0, op: "PUSH1" }],
  }],
  ["a wrapped frame", [{ result: trace(true) }]],
  ["null", null],
  ["a number", 7],
  ["no call", [{ calls: [] }]],
  ["the top call only", { type: "CALL", input: "0x698b1267", gasUsed: "0x10000" }],
  ["gas of 70 bits", { type: "CALL", gasUsed: "0x400000000000000000" }],
];
for (const [name, answer] of oddAnswers) {
  Deno.test(`simulation: an answer of another shape is another method of that name: ${name}`, async () => {
    await using odd = node({ debug_traceCall: () => answer, eth_simulateV1: () => ran() });
    const alone = chainAt([odd]);
    assert.deepEqual(handledOf(await alone.chain.simulator.simulate(deliveryOfPosts(2), never)), [
      false,
      true,
    ]);
    assert.deepEqual(alone.log.events("info"), ["endpoint_limited.tracing"]);
    await using seeing = node({ debug_traceCall: () => trace(true) });
    const both = chainAt([odd, seeing]).chain;
    assert.deepEqual(handledOf(await both.simulator.simulate(deliveryOfPosts(2), never)), [true, false]);
    odd.on("eth_simulateV1", () => answer);
    const blind = await chainAt([odd]).chain.simulator.simulate(deliveryOfPosts(2), never);
    assert.deepEqual([blind.kind === "accepted" && blind.isBlind, handledOf(blind)], [true, [true, true]]);
    // The endpoint is well: it keeps serving everything else at once.
    assert.equal(await alone.chain.reads.fetchHeight(never), 0x100n);
  });
}

Deno.test("simulation: why a plain call fails without a reason of the host is not known", async () => {
  await using rpc = node();
  const reverting = (data: string | undefined): void =>
    void rpc.on(
      "eth_call",
      (params, self) =>
        readsHost(params) ? readHost(params, self) : new ScriptedError(3, "execution reverted", data),
    );
  const { chain } = chainAt([rpc]);
  for (
    const [data, code] of [[undefined, "untraceable"], ["0x", "untraceable"], [
      "0x2ad4ae2e",
      "duplicate",
    ]] as const
  ) {
    reverting(data);
    const simulation = await chain.simulator.simulate(deliveryOfPosts(1), never);
    assert.equal(codeOf(simulation), code);
  }
});

/** Time that moves on by itself where somebody waits for a paused endpoint. */
class HastyClock extends FakeClock {
  override async sleep(ms: number): Promise<void> {
    await this.advance(ms);
  }
}

const withoutTraces: readonly (readonly [string, Readonly<Record<string, Answerer>>])[] = [
  ["one without traces", {}],
  ["one whose traces come without logs", { debug_traceCall: () => trace(false) }],
];
for (const [what, answers] of withoutTraces) {
  for (const status of [401, 503]) {
    Deno.test(`simulation: while the endpoint that traces answers HTTP ${status}, nothing is guessed by a plain call of ${what}, for five minutes`, async () => {
      await using plain = node(answers);
      await using tracing = node({ debug_traceCall: () => trace(true) });
      const clock = new HastyClock();
      const { chain } = chainAt([plain, tracing], {}, clock);
      const simulate = (): Promise<Simulation> => chain.simulator.simulate(deliveryOfPosts(2), never);
      assert.deepEqual(handledOf(await simulate()), [true, false]);
      tracing.onBatch(() => ({ kind: "status", status }));
      for (let minute = 0; minute < 5; minute++) {
        assert.equal((await catchFault(simulate())).reaction, "retry", `${minute}`);
        await clock.advance(60_000);
      }
      const blind = await simulate();
      assert.deepEqual([blind.kind === "accepted" && blind.isBlind, handledOf(blind)], [true, [true, true]]);
      tracing.onBatch(() => undefined);
      await clock.advance(60_000);
      assert.deepEqual(handledOf(await simulate()), [true, false]);
      tracing.on("debug_traceCall", () => new ScriptedError(-32005, "rate limit exceeded"));
      assert.equal((await catchFault(simulate())).reaction, "retry");
    });
  }
}

const arbitrum = { stateMachine: evmStateMachine(42161) };

Deno.test("simulation: on Arbitrum the price is the higher of the node's and the precompile's", async () => {
  for (const [last, expected] of [[70n, 100n], [170n, 170n]] as const) {
    await using rpc = arbitrumNode(arbitrumPrices(9n, last), { eth_simulateV1: () => ran() });
    const { chain, requests } = chainAt([rpc], arbitrum);
    assert.deepEqual(await chain.gas.fetchGasQuote(never), { gasPriceWei: expected });
    requests.count = 0;
    await chain.gas.fetchGasQuote(never);
    assert.equal(requests.count, 1);
    const { gasPriceWei } = await accepted(chain, deliveryOfPosts(2));
    assert.equal(gasPriceWei, expected);
  }
});

Deno.test("simulation: on Arbitrum the gas is the estimate, else that of layer 1 is counted; a price that cannot be read is a fault", async () => {
  const [byteWei, gasWei] = [50_000n, 100n];
  let estimate: unknown = "0x30000";
  let prices: unknown = arbitrumPrices(byteWei, gasWei);
  await using rpc = arbitrumNode(() => prices, {
    eth_simulateV1: () => ran({ gasUsed: "0x20000" }),
    eth_estimateGas: () => estimate,
  });
  const { chain } = chainAt([rpc], arbitrum);
  assert.equal((await accepted(chain, deliveryOfPosts(2))).gasUsed, 0x30000n);
  estimate = new ScriptedError(-32000, "gas required exceeds allowance (32000000)");
  const { gasUsed, gasLimit } = await accepted(chain, deliveryOfPosts(2));
  const layer1Bytes = (gasUsed - 0x20000n) * gasWei / byteWei;
  // Two posts, their proof and a signature.
  assert.ok(layer1Bytes > 900n && layer1Bytes < 3_000n && gasLimit > gasUsed, `${layer1Bytes}`);
  prices = new ScriptedError(-32603, "internal error");
  assert.notEqual((await catchFault(chain.simulator.simulate(deliveryOfPosts(2), never))).reaction, "drop");
});
