/** What transactions cost besides gas, as far as oracles and receipts tell it. */
import assert from "node:assert/strict";
import { concatHex, decodeFunctionData, numberToHex, parseAbi } from "viem";
import { decodeArbPrices, opStackOracle } from "../../../../src/core/evm/fee_oracles.ts";
import { ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { faultWith } from "../../../support/rpc_faults.ts";
import { never } from "./chain_fixture.ts";
import { blockHash, chainOn, deliveryOfPosts, node, readHost, sign } from "./scripted_node.ts";
import { accepted } from "../../../support/chain_calls.ts";

const word = (value: bigint): string => `0x${value.toString(16).padStart(64, "0")}`;
const oracleAbi = parseAbi([
  "function gasPrice() view returns (uint256)",
  "function getL1Fee(bytes data) view returns (uint256)",
  "function getOperatorFee(uint256 gasUsed) view returns (uint256)",
]);
const reverts = new ScriptedError(3, "execution reverted");
const pruned = new ScriptedError(-32000, "missing trie node 00 (path )");
const [SCALAR, CONSTANT, GAS, L1_FEE] = [7n, 5_000n, 200_000n, 100n];

/** Answers of the oracle to the operator fee; `undefined`: the fork does not have it. */
type OperatorFee = (gas: bigint, tag: string) => bigint | ScriptedError;
const isthmus: OperatorFee = (gas) => gas * SCALAR / 1_000_000n + CONSTANT;
const jovian: OperatorFee = (gas) => gas * SCALAR * 100n + CONSTANT;

/** A node of the OP stack with a receipt of our transaction. */
function opNode(
  operatorFee: OperatorFee,
  receipt: Readonly<Record<string, unknown>> = {},
  oracle = (_name: string): "answers" | "fails" | "none" => "answers",
): ScriptedRpc {
  return node({
    eth_call: ([call, tag], ...rest) => {
      const { to, data } = call as { readonly to: string; readonly data: `0x${string}` };
      if (to !== opStackOracle) return readHost([call, tag], ...rest);
      const { functionName, args } = decodeFunctionData({ abi: oracleAbi, data });
      const state = oracle(functionName);
      if (state !== "answers") return state === "none" ? "0x" : new ScriptedError(-32603, "internal error");
      if (functionName !== "getOperatorFee") return word(functionName === "gasPrice" ? 100n : 40n);
      const wei = operatorFee(args[0], String(tag));
      return wei instanceof ScriptedError ? wei : word(wei);
    },
    eth_getTransactionByHash: () => ({ hash: blockHash, blockNumber: "0xf0" }),
    eth_getTransactionReceipt: () => ({
      blockNumber: "0xf0",
      blockHash,
      status: "0x1",
      gasUsed: `0x${GAS.toString(16)}`,
      effectiveGasPrice: "0x64",
      l1Fee: "0x64",
      logs: [],
      ...receipt,
    }),
  });
}

const named = { operatorFeeScalar: "0x7", operatorFeeConstant: "0x1388" };

const mined: readonly [string, OperatorFee, Readonly<Record<string, unknown>>, bigint, bigint?][] = [
  ["on a chain without such fees", () => reverts, { l1Fee: null, effectiveGasPrice: "0x50" }, 0n, 80n],
  ["where the node does not tell it", () => reverts, { l1Fee: "much", effectiveGasPrice: undefined }, 0n],
  ["before Isthmus", () => reverts, {}, L1_FEE],
  ["since Isthmus", isthmus, named, L1_FEE + 1n + CONSTANT],
  ["since Jovian", jovian, named, L1_FEE + GAS * 700n + CONSTANT],
  ["where receipts do not name it", jovian, {}, L1_FEE + GAS * 700n + CONSTANT],
  ["where it is named as nothing", jovian, { operatorFeeScalar: "0x0", operatorFeeConstant: "0x0" }, L1_FEE],
  ["with parameters of an unknown shape", isthmus, { operatorFeeScalar: [1] }, L1_FEE + 1n + CONSTANT],
  [
    "as it is now, where the block's state is gone",
    (gas, tag) => tag === "latest" ? jovian(gas, tag) : pruned,
    named,
    L1_FEE + GAS * 700n + CONSTANT,
  ],
];

for (const [what, operatorFee, receipt, dataCostWei, gasPriceWei = 100n] of mined) {
  Deno.test(`costs: what a mined transaction cost is what its receipt and the oracle say, ${what}`, async () => {
    const { chain } = chainOn(opNode(operatorFee, receipt));
    const delivery = deliveryOfPosts(1);
    const simulation = await accepted(chain, delivery);
    const outcome = await chain.outcomes.fetchOutcome(await sign(chain, { simulation }, delivery), never);
    assert.deepEqual(outcome.kind === "included" && outcome.spent, {
      gasUsed: GAS,
      gasPriceWei,
      dataCostWei,
    });
  });
}

Deno.test("costs: a transaction is bounded by what its whole gas limit costs, at every fork and when it is replaced", async () => {
  for (const fee of [isthmus, jovian]) {
    const { chain } = chainOn(opNode(fee));
    const delivery = deliveryOfPosts(1);
    const simulation = await accepted(chain, delivery);
    const submission = await sign(chain, { simulation }, delivery);
    const atMost = fee(simulation.gasLimit, "latest");
    assert.ok(!(atMost instanceof ScriptedError));
    const state = await chain.replacement.fetchReplacementState(submission, never);
    const again = await chain.replacement.resign(submission, state.offered, never);
    const bounds = [simulation.maxDataCostWei, submission.dataCostWei, state.dataCostWei, again.dataCostWei];
    for (const bound of bounds) assert.ok(bound === 40n + atMost || bound === 41n + atMost, `${bound}`);
  }
});

Deno.test("costs: one answer does not decide for good whether a chain is one of the OP stack", async () => {
  let hasOracle = false;
  const { chain, clock } = chainOn(opNode(jovian, {}, () => hasOracle ? "answers" : "none"));
  const simulate = async (): Promise<bigint | string> => {
    const result = await chain.simulator.simulate(deliveryOfPosts(1), never);
    return result.kind === "accepted" ? result.dataCostWei : result.kind;
  };
  assert.equal(await simulate(), 0n);
  hasOracle = true;
  await clock.advance(10 * 60_000);
  assert.ok(await simulate() as bigint > CONSTANT, "a node that was wrong once");
  hasOracle = false;
  await assert.rejects(simulate(), faultWith("malformed"), "never taken for nothing at once");
  assert.equal(await simulate(), 0n);
});

Deno.test("costs: elsewhere nothing is asked beside the price once the chain is known", async () => {
  const { chain, rpc } = chainOn();
  await chain.gas.fetchGasQuote(never);
  const before = rpc.calls.length;
  await chain.gas.fetchGasQuote(never);
  const methods = rpc.calls.slice(before).map(({ method }) => method);
  assert.deepEqual(methods, ["eth_gasPrice", "eth_getBlockByNumber"]);
});

Deno.test("costs: what an oracle of the OP stack does not say just now is a fault, never nothing", async () => {
  for (const [silent, code] of [["gasPrice", "server_error"], ["getL1Fee", "server_error"]] as const) {
    let isSilent = true;
    const { chain } = chainOn(
      opNode(jovian, {}, (name) => isSilent && name === silent ? "fails" : "answers"),
    );
    await assert.rejects(chain.simulator.simulate(deliveryOfPosts(1), never), faultWith(code));
    isSilent = false;
    assert.ok((await accepted(chain, deliveryOfPosts(1))).dataCostWei > CONSTANT);
  }
});

Deno.test("costs: of Arbitrum's six prices the second is that of a published byte, and the last that of gas", () => {
  const prices = concatHex([1n, 2n, 3n, 4n, 5n, 6n].map((price) => numberToHex(price, { size: 32 })));
  assert.deepEqual(decodeArbPrices(prices), { layer1ByteWei: 2n, gasPriceWei: 6n });
});
