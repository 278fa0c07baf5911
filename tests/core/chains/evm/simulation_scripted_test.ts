import assert from "node:assert/strict";
import { encodeAbiParameters, parseTransaction } from "viem";
import type { Simulation } from "../../../../src/core/chains/submission.ts";
import { encodeDelivery } from "../../../../src/core/chains/evm/calldata.ts";
import { toQuantity } from "../../../../src/core/chains/evm/queries.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { hostEventTopics } from "../../../../src/core/evm/host_abi.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { type Answerer, httpStatus, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { type ChainUnderTest, never } from "./chain_fixture.ts";
import { catchFault, faultWith } from "../../../support/rpc_faults.ts";
import {
  blockOf,
  chainAt,
  chainOn,
  deliveryOfPosts,
  host,
  node,
  post,
  readHost,
  sign,
  trySign,
} from "./scripted_node.ts";
import { accepted, kindOf } from "../../../support/chain_calls.ts";

type Methods = Readonly<Record<string, Answerer>>;

const handledLog = (nonce: bigint): unknown => ({
  address: host,
  topics: [hostEventTopics.PostRequestHandled, post(nonce).commitment],
  data: "0x",
});

/** A dispatch whose module goes through. */
function dispatchOf(gasUsed: string, logs?: readonly unknown[]): unknown {
  const callback = { type: "CALL", to: `0x${"00".repeat(20)}`, input: "0x0fee32ce", gasUsed: "0x10" };
  return { type: "CALL", to: host, input: "0xb85e6fbb", gasUsed, calls: [callback], ...logs && { logs } };
}

/** A trace of two dispatches whose modules go through; only the first one is reported, if logs are shown. */
function trace(hasLogs: boolean): unknown {
  const calls = [
    dispatchOf("0x4000", hasLogs ? [handledLog(0n)] : undefined),
    dispatchOf("0x2000", hasLogs ? [] : undefined),
  ];
  return { type: "CALL", input: "0x698b1267", gasUsed: "0x10000", calls };
}

/** An eth_simulateV1 answer in which the second post alone is handled. */
function ran(changes: Readonly<Record<string, unknown>> = {}): readonly unknown[] {
  const call = { status: "0x1", gasUsed: "0x8000", returnData: "0x", logs: [handledLog(1n)], ...changes };
  return [{ number: "0x101", calls: [call] }];
}

const seeing: Methods = { debug_traceCall: () => trace(true) };
const blindTracer: Methods = { debug_traceCall: () => trace(false), eth_simulateV1: () => ran() };

/** Call that was traced last, and the options of that trace. */
function lastTrace(rpc: ScriptedRpc): readonly [call: Readonly<Record<string, string>>, options: unknown] {
  const [call, , options] = rpc.paramsOf("debug_traceCall").at(-1) ?? [];
  return [Object(call), options];
}

/** Prices of Arbitrum as its precompile tells them: wei for a byte on layer 1, and for a unit of gas. */
function arbitrumPrices(byteWei: bigint, gasWei: bigint): string {
  const words = [9n, byteWei, 9n, 9n, 9n, gasWei];
  return encodeAbiParameters(words.map(() => ({ type: "uint256" as const })), words);
}

/** An adapter for a node of Arbitrum whose precompile answers so. */
function onArbitrum(prices: () => unknown, methods: Methods): ReturnType<typeof chainOn> {
  return chainOn({
    eth_chainId: () => "0xa4b1",
    eth_call: (params, self) =>
      JSON.stringify(params[0]).includes("00000000006c") ? prices() : readHost(params, self),
    ...methods,
  }, { stateMachine: evmStateMachine(42161) });
}

/** The simulation of a delivery of posts. */
function simulate({ chain }: Pick<ChainUnderTest, "chain">, posts = 2): Promise<Simulation> {
  return chain.simulator.simulate(deliveryOfPosts(posts), never);
}

/** Which posts are handled in it. */
async function handledBy(on: Pick<ChainUnderTest, "chain">, posts = 2): Promise<readonly boolean[]> {
  return (await accepted(on.chain, deliveryOfPosts(posts))).handled;
}

/** What was guessed of two posts without seeing their modules. */
async function guessedBy({ chain }: Pick<ChainUnderTest, "chain">): Promise<readonly unknown[]> {
  const { isBlind, handled } = await accepted(chain, deliveryOfPosts(2));
  return [isBlind, handled];
}

Deno.test("simulation: a tracer that leaves logs out counts as missing for ten minutes; eth_simulateV1 is used", async () => {
  const on = chainOn(blindTracer);
  const { chain, log, requests, rpc, clock } = on;
  const first = await accepted(chain, deliveryOfPosts(2));
  assert.deepEqual([first.handled, first.gasUsed, first.messageGas], [
    [false, true],
    0x8000n,
    [0x4000n, 0x4000n],
  ]);
  requests.count = 0;
  assert.deepEqual(await handledBy(on), [false, true]);
  assert.deepEqual([requests.count, rpc.countOf("debug_traceCall")], [1, 1]);
  assert.deepEqual([log.events("info").length, log.events("warn").length], [1, 0]);
  await clock.advance(10 * 60_000);
  rpc.onAll(seeing);
  const traced = await accepted(chain, deliveryOfPosts(2));
  assert.deepEqual([traced.handled, traced.messageGas], [[true, false], [0x9000n, 0x7000n]]);
});

Deno.test("simulation: an endpoint whose traces come without logs is skipped for one with logs", async () => {
  const blind = node(blindTracer);
  const both = chainAt([blind, node(seeing)]);
  for (let round = 0; round < 2; round++) assert.deepEqual(await handledBy(both), [true, false]);
  assert.deepEqual([blind.countOf("eth_simulateV1"), blind.countOf("debug_traceCall")], [0, 1]);
});

Deno.test("simulation: by eth_simulateV1 a delivery is refused for what reverts it, or for all its gas", async () => {
  const refusals: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
    [{ returnData: "0x2ad4ae2e", logs: [] }, "duplicate"],
    [{ error: { code: 3, message: "execution reverted", data: "0x1676f4b3" } }, "timed_out"],
    [{ error: { code: -32015, message: "execution failed", data: { a: 1 } } }, "unspecified"],
    [{ gasUsed: "0xf42400" }, "too_large"],
  ];
  for (const [changes, code] of refusals) {
    const on = chainOn({ eth_simulateV1: () => ran({ status: "0x0", ...changes }) });
    assert.equal(kindOf(await simulate(on, 1)), code);
  }
});

/** Start of the call data of a delivery. */
const deliverySelector = encodeDelivery(deliveryOfPosts(1), host).slice(0, 10);

/** Answers the delivery itself, and getters as usual. */
function onDelivery(answer: () => unknown): Answerer {
  return (params, self) =>
    JSON.stringify(params).includes(deliverySelector) ? answer() : readHost(params, self);
}

/** Revert data of `StateCommitmentNotFound()`. */
const HEIGHT_UNKNOWN = "0xa75caa56";

/** How each method tells of a delivery on a node that does not know the proof's height, and on one that does. */
const behind: readonly (readonly [string, unknown, unknown])[] = [
  [
    "debug_traceCall",
    { type: "CALL", input: "0x", gasUsed: "0x100", error: "execution reverted", output: HEIGHT_UNKNOWN },
    trace(true),
  ],
  ["eth_simulateV1", ran({ status: "0x0", returnData: HEIGHT_UNKNOWN, logs: [] }), ran()],
  ["eth_call", new ScriptedError(3, "execution reverted", HEIGHT_UNKNOWN), "0x"],
];
for (const [method, unknown, known] of behind) {
  Deno.test(`simulation: a node that is behind is asked again at once, and a few times only: ${method}`, async () => {
    for (const [behindFor, expected] of [[4, "accepted"], [5, "not_ready"]] as const) {
      let asked = 0;
      const answer = (): unknown => asked++ < behindFor ? unknown : known;
      const on = chainOn({ [method]: method === "eth_call" ? onDelivery(answer) : answer });
      assert.equal(kindOf(await on.clock.run(simulate(on))), expected);
    }
  });
}

Deno.test("simulation: what a node refuses for other reasons is simulated in another way, and asked again next time", async () => {
  const no: Answerer = () => new ScriptedError(-32000, "this is not for you");
  const on = chainOn({ debug_traceCall: no, eth_simulateV1: no });
  assert.deepEqual(await handledBy(on, 1), [true]);
  assert.deepEqual([...on.log.events("info"), ...on.log.events("warn")], []);
  on.rpc.on("eth_simulateV1", () => ran({ logs: [] }));
  assert.deepEqual(await handledBy(on, 1), [false]);
});

function isTrivial(call: unknown): boolean {
  return JSON.stringify(call).includes('"data":"0x"');
}

/** Shows a transfer of nothing, and answers everything else with an error. */
function onlyTrivial(error: ScriptedError): Answerer {
  return ([call]) => isTrivial(call) ? { type: "CALL", input: "0x", gasUsed: "0x5208" } : error;
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
    const on = chainOn({ debug_traceCall: onlyTrivial(said), eth_simulateV1: () => ran() });
    const { log, rpc } = on;
    for (const count of [1, 2]) {
      const before = rpc.countOf("debug_traceCall");
      assert.equal(kindOf(await simulate(on, count)), "untraceable");
      const tries = rpc.paramsOf("debug_traceCall").filter(([call]) => !isTrivial(call)).length;
      assert.ok(tries >= asked * count && rpc.countOf("debug_traceCall") > before);
    }
    assert.deepEqual([rpc.countOf("eth_simulateV1"), rpc.countOf("eth_estimateGas")], [0, 0]);
    assert.deepEqual([...log.events("info"), ...log.events("warn")], []);
    // The endpoint is well: nothing keeps the next question waiting.
    rpc.onAll(seeing);
    assert.deepEqual(await handledBy(on), [true, false]);
  });
}

Deno.test("simulation: a node that traces nothing for now is a fault of the node, not of the delivery", async () => {
  const on = chainOn({ debug_traceCall: () => new ScriptedError(-32603, "Internal error") });
  await assert.rejects(simulate(on), faultWith("server_error"));
});

Deno.test("simulation: a delivery of consensus proofs alone that no trace shows is simulated in another way", async () => {
  const { chain } = chainOn({
    debug_traceCall: onlyTrivial(new ScriptedError(-32003, "response too large")),
    eth_simulateV1: () => ran({ logs: [] }),
  });
  await accepted(chain, { steps: [{ kind: "consensus", proof: new Uint8Array(10) }] });
});

Deno.test("simulation: the trace that counts has the gas limit and the price of the transaction, and the sender's own balance", async () => {
  const top = { ...Object(trace(true)), calls: [dispatchOf("0x4000", [handledLog(0n)])] };
  const methods = { debug_traceCall: () => top, eth_getBlockByNumber: () => blockOf("0x50") };
  const { chain, rpc } = chainOn(methods, { gasPriceBufferPercent: 10 });
  const simulation = await accepted(chain, deliveryOfPosts(1));
  const [call, options] = lastTrace(rpc);
  const { gas, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(
    toHex((await sign(chain, { simulation })).raw),
  );
  assert.deepEqual(
    [call.gas, call.maxFeePerGas, call.maxPriorityFeePerGas].map((traced = "") => BigInt(traced)),
    [gas, maxFeePerGas, maxPriorityFeePerGas],
  );
  assert.equal(JSON.stringify(options).includes("stateOverrides"), false);

  // An account that could not pay is imagined with just enough, so that what is missing is told when signing.
  rpc.on("eth_getBalance", () => "0x7");
  const poor = chainOn(rpc, { gasPriceBufferPercent: 10 }).chain;
  const imagined = await accepted(poor, deliveryOfPosts(1));
  const { stateOverrides } = Object(lastTrace(rpc)[1]);
  assert.deepEqual(Object.values(stateOverrides), [{ balance: toQuantity(BigInt(gas ?? 0) * 132n) }]);
  assert.equal(kindOf(await trySign(poor, { simulation: imagined })), "insufficient_funds");
});

Deno.test("simulation: by eth_simulateV1 all the gas that may be paid for counts, at the price of the transaction", async () => {
  const { chain, rpc } = chainOn({
    eth_simulateV1: () => ran({ logs: [handledLog(0n)] }),
    eth_getBlockByNumber: () => blockOf("0x50"),
  });
  const { gasUsed, gasLimit, messageGas } = await accepted(chain, deliveryOfPosts(1));
  assert.deepEqual([gasUsed, messageGas], [gasLimit, [gasLimit]]);
  const text = JSON.stringify(rpc.paramsOf("eth_simulateV1").at(-1));
  for (const part of ['"gasPrice":"0x64"', '"baseFeePerGas":"0x50"', `"gas":"${toQuantity(gasLimit)}"`]) {
    assert.ok(text.includes(part), part);
  }
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
    const alone = chainOn({ debug_traceCall: () => answer, eth_simulateV1: () => ran() });
    assert.deepEqual(await handledBy(alone), [false, true]);
    assert.deepEqual(alone.log.events("info"), ["endpoint_limited.tracing"]);
    assert.deepEqual(await handledBy(chainAt([alone.rpc, node(seeing)])), [true, false]);
    alone.rpc.on("eth_simulateV1", () => answer);
    assert.deepEqual(await guessedBy(chainOn(alone.rpc)), [true, [true, true]]);
    // The endpoint is well: it keeps serving everything else at once.
    assert.equal(await alone.chain.reads.fetchHeight(never), 0x100n);
  });
}

Deno.test("simulation: why a plain call fails without a reason of the host is not known", async () => {
  for (
    const [data, code] of [[undefined, "untraceable"], ["0x", "untraceable"], [
      "0x2ad4ae2e",
      "duplicate",
    ]] as const
  ) {
    const on = chainOn({ eth_call: onDelivery(() => new ScriptedError(3, "execution reverted", data)) });
    assert.equal(kindOf(await simulate(on, 1)), code);
  }
});

for (
  const [what, methods] of [["without traces", {}], ["whose traces come without logs", {
    debug_traceCall: () => trace(false),
  }]] as const
) {
  for (const status of [401, 503]) {
    Deno.test(`simulation: while the endpoint that traces answers HTTP ${status}, nothing is guessed by a plain call of one ${what}, for five minutes`, async () => {
      const tracing = node(seeing);
      const on = chainAt([node(methods), tracing]);
      const { clock } = on;
      assert.deepEqual(await handledBy(on), [true, false]);
      tracing.fault = httpStatus(status);
      for (let minute = 0; minute < 5; minute++) {
        assert.equal((await clock.run(catchFault(simulate(on)))).reaction, "retry", `${minute}`);
        await clock.advance(60_000);
      }
      assert.deepEqual(await clock.run(guessedBy(on)), [true, [true, true]]);
      tracing.fault = undefined;
      await clock.advance(60_000);
      assert.deepEqual(await clock.run(handledBy(on)), [true, false]);
      tracing.on("debug_traceCall", () => new ScriptedError(-32005, "rate limit exceeded"));
      assert.equal((await clock.run(catchFault(simulate(on)))).reaction, "retry");
    });
  }
}

Deno.test("simulation: on Arbitrum the price is the higher of the node's and the precompile's", async () => {
  for (const [last, gasPriceWei] of [[70n, 100n], [170n, 170n]] as const) {
    const { chain, requests } = onArbitrum(() => arbitrumPrices(9n, last), { eth_simulateV1: () => ran() });
    assert.deepEqual(await chain.gas.fetchGasQuote(never), { gasPriceWei });
    requests.count = 0;
    await chain.gas.fetchGasQuote(never);
    assert.equal(requests.count, 1);
    assert.equal((await accepted(chain, deliveryOfPosts(2))).gasPriceWei, gasPriceWei);
  }
});

Deno.test("simulation: on Arbitrum the gas is the estimate, else that of layer 1 is counted; a price that cannot be read is a fault", async () => {
  const [byteWei, gasWei] = [50_000n, 100n];
  let estimate: unknown = "0x30000";
  let prices: unknown = arbitrumPrices(byteWei, gasWei);
  const on = onArbitrum(() => prices, {
    eth_simulateV1: () => ran({ gasUsed: "0x20000" }),
    eth_estimateGas: () => estimate,
  });
  assert.equal((await accepted(on.chain, deliveryOfPosts(2))).gasUsed, 0x30000n);
  estimate = new ScriptedError(-32000, "gas required exceeds allowance (32000000)");
  const { gasUsed, gasLimit } = await accepted(on.chain, deliveryOfPosts(2));
  const layer1Bytes = (gasUsed - 0x20000n) * gasWei / byteWei;
  // Two posts, their proof and a signature.
  assert.ok(layer1Bytes > 900n && layer1Bytes < 3_000n && gasLimit > gasUsed, `${layer1Bytes}`);
  prices = new ScriptedError(-32603, "internal error");
  assert.notEqual((await catchFault(simulate(on))).reaction, "drop");
});
