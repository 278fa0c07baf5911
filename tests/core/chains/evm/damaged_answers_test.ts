/** Every part of an endpoint's answers damaged in turn: a fault of that endpoint, never another error or an odd number. */
import assert from "node:assert/strict";
import { UnprovableKeyError } from "../../../../src/core/chains/proofs.ts";
import type { EvmChain } from "../../../../src/core/chains/evm/evm_chain.ts";
import { fromHex } from "../../../../src/core/encoding/bytes.ts";
import { hostEventTopics } from "../../../../src/core/evm/host_abi.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import { damage, Draw } from "../../../support/draw.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import type { Answerer } from "../../../support/scripted_rpc.ts";
import { chainUnderTest, hub, never } from "./chain_fixture.ts";
import {
  blockHash,
  deliveryOfPosts,
  host,
  hostStateRoot as stateRoot,
  nodeAnswers,
  post,
  proveEmpty,
  requestLog,
} from "./scripted_node.ts";

const handled = {
  address: host,
  topics: [hostEventTopics.PostRequestHandled, post(0n).commitment],
  data: `0x${"00".repeat(12)}${"11".repeat(20)}`,
};
const callback = { type: "CALL", to: host, input: "0x0fee32ce", gasUsed: "0x10" };
const dispatch = {
  type: "CALL",
  to: host,
  input: "0xb85e6fbb",
  gasUsed: "0x4000",
  calls: [callback],
  logs: [handled],
};

/** What an honest node answers. */
const answers: Readonly<Record<string, Answerer>> = {
  ...nodeAnswers,
  eth_getBlockByNumber: () => ({
    number: "0x100",
    hash: blockHash,
    timestamp: "0x10",
    baseFeePerGas: "0x50",
    stateRoot,
  }),
  eth_getLogs: () => [{ ...requestLog(0, 0x21), removed: false }, requestLog(1, 0x22)],
  debug_traceCall: () => ({ type: "CALL", input: "0x698b1267", gasUsed: "0x10000", calls: [dispatch] }),
  eth_simulateV1:
    () => [{ calls: [{ status: "0x1", gasUsed: "0x8000", returnData: "0x", logs: [handled] }] }],
  eth_getProof: proveEmpty,
  eth_getTransactionReceipt: () => ({
    blockNumber: "0x90",
    blockHash,
    status: "0x1",
    gasUsed: "0x5208",
    effectiveGasPrice: "0x64",
    logs: [handled],
  }),
};

/** Damages one call of some requests. */
function damagedNode(draw: Draw): Fetch {
  return (_, { body }) => {
    const parsed = JSON.parse(String(body));
    const calls = [parsed].flat();
    const struck = draw.chance(60) ? draw.between(0, calls.length - 1) : -1;
    const wire = calls.map(({ id, method, params }, index) => {
      const result = answers[method]?.(params, Object(undefined));
      return { jsonrpc: "2.0", id, result: index === struck ? damage(result, draw) : result };
    });
    return Promise.resolve(Response.json(Array.isArray(parsed) ? wire : wire[0]));
  };
}

const reads: Readonly<Record<string, (chain: EvmChain) => Promise<unknown>>> = {
  height: ({ reads }) => reads.fetchHeight(never),
  finalHeight: ({ reads }) => reads.fetchFinalHeight(never),
  blockTime: ({ reads }) => reads.fetchBlockTime(0x100n, never),
  view: ({ reads }) => reads.fetchView(hub, never),
  updateTime: ({ reads }) => reads.fetchUpdateTime({ id: hub, height: 9n }, never),
  stateRoot: ({ reads }) => reads.fetchStateRoot({ id: hub, height: 9n }, never),
  receipts: ({ reads }) => reads.fetchReceipts([post(0n), post(1n)], never),
  events: ({ events }) => events.fetchEvents(0x20n, 0x30n, never),
  transaction: ({ events }) =>
    events.findTransaction?.(blockHash, never) ?? Promise.reject(new Error("No search")),
  simulation: ({ simulator }) => simulator.simulate(deliveryOfPosts(1), never),
  proof: ({ proofs }) => proofs.proveState([fromHex(blockHash)], { height: 0x100n, stateRoot }, never),
};

/** Integers in a value that no counter of blocks, seconds or gas can be. */
function oddNumbers(value: unknown): readonly unknown[] {
  if (typeof value === "bigint") return value >= 0n && value < 1n << 64n ? [] : [value];
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  return Object.values(value).flatMap(oddNumbers);
}

Deno.test("damaged answers: 4,000 of them are faults of their endpoint, or are read without odd numbers", async () => {
  const draw = new Draw(29);
  let faults = 0;
  for (let count = 0; count < 4_000; count++) {
    const [name = "", read = () => Promise.resolve()] =
      Object.entries(reads)[count % Object.keys(reads).length] ?? [];
    const clock = new FakeClock();
    const place = { ismpHost: host, stateMachine: evmStateMachine(1) };
    const { chain } = chainUnderTest(["http://node"], place, clock, damagedNode(draw));
    try {
      // Prices are bounded elsewhere: gas_prices_test.ts.
      const { gasPriceWei: _price, ...value } = Object(await clock.run(read(chain)));
      assert.deepEqual(oddNumbers(value), [], `${name}, answer ${count}`);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      const isFault = error instanceof RpcFault || error instanceof UnprovableKeyError;
      assert.ok(isFault, `${name}, answer ${count}: ${error instanceof Error ? error.stack : error}`);
      faults++;
    }
  }
  assert.ok(faults > 500 && faults < 3_500, `${faults} faults`);
});
