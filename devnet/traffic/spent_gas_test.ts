/** What counts as gas for nothing, in traces that are made up and in those of a node. */
import assert from "node:assert/strict";
import { type Abi, type Hex, toFunctionSelector } from "viem";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { batchCall, consensusCall, postRequestsCall } from "../../src/core/evm/handler_calls.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import {
  hub,
  mountainRoot,
  postTo,
  proveFromHub,
  withHost,
} from "../../tests/core/chains/evm/chain_fixture.ts";
import { DEVNET_ACCOUNTS } from "../evm/accounts.ts";
import { DevnetTransactionFault, type IsmpHost } from "../evm/deploy.ts";
import { proveHub } from "../evm/host_admin.ts";
import { evmHostAbi, handlerV2Abi } from "../../src/core/evm/host_abi.ts";
import {
  type CallFrame,
  classifyTrace,
  describeSpentGas,
  parseSpentGas,
  readSpentGas,
  sumSpentGas,
} from "./spent_gas.ts";

const HOST = "0x00000000000000000000000000000000000000aA";
const HANDLER = "0x00000000000000000000000000000000000000bb";

function selector(abi: Abi, name: string): Hex {
  const found = abi.find((item) => item.type === "function" && item.name === name);
  if (found?.type !== "function") throw new RangeError(`No function ${name}`);
  return toFunctionSelector(found);
}

const call = (to: string, input: string, gasUsed: number, calls: readonly CallFrame[] = []): CallFrame => ({
  to: to.toLowerCase(),
  input,
  gasUsed: `0x${gasUsed.toString(16)}`,
  calls,
});
const batch = (...calls: readonly CallFrame[]): CallFrame =>
  call(HANDLER, selector(handlerV2Abi, "batchCall"), 1_000, calls);
const proof = (gasUsed: number, isNews: boolean): CallFrame =>
  call(HANDLER, selector(handlerV2Abi, "handleConsensus"), gasUsed, [
    call(HOST, selector(evmHostAbi, "consensusState"), 5),
    ...isNews ? [call(HOST, selector(evmHostAbi, "storeConsensusState"), 5)] : [],
  ]);
const message = (gasUsed: number, isTaken: boolean): CallFrame =>
  call(HANDLER, selector(handlerV2Abi, "handlePostRequests"), gasUsed + 10, [{
    ...call(HOST, selector(evmHostAbi, "dispatchIncoming"), gasUsed),
    logs: isTaken ? [{ address: HOST }] : [],
  }]);

Deno.test("spent gas: what of a transaction was for nothing", () => {
  const cases: readonly (readonly [string, CallFrame, object])[] = [
    ["all taken", batch(proof(300, true), message(50, true)), {}],
    ["a failed transaction", { ...batch(message(50, true)), error: "execution reverted" }, {
      reverted: 2_000n,
    }],
    ["no call of a handler", call(HANDLER, "0x", 21), { cancelling: 2_000n }],
    ["a proof that the host knew, before messages", batch(proof(300, false), message(50, true)), {
      "known proof": 300n,
    }],
    ["such a proof alone", proof(300, false), { "known proof": 2_000n }],
    ["one of two messages", batch(message(50, true), message(70, false)), { "not executed": 70n }],
    ["nothing taken", batch(proof(300, false), message(50, false)), { "not executed": 2_000n }],
    ["a needed proof with a wasted message", batch(proof(300, true), message(50, false)), {
      "not executed": 50n,
    }],
  ];
  for (const [name, trace, wasted] of cases) {
    assert.deepEqual(Object.fromEntries(classifyTrace(trace, 2_000n, HOST)), wasted, name);
  }
});

Deno.test("spent gas: lines of devnets are summed up, the largest reason first", () => {
  const lines = [
    '{"test":"a_test.ts","transactions":2,"gas":"900","wasted":{"reverted":"100"}}',
    '{"test":"b_test.ts","transactions":3,"gas":"1100","wasted":{"reverted":"50","known proof":"400"}}',
    '{"test":"c_test.ts","transactions":0,"gas":"0","wasted":{}}',
  ];
  const read = parseSpentGas(`${lines.join("\n")}\n`);
  assert.deepEqual(read.map(({ test }) => test), ["a_test.ts", "b_test.ts", "c_test.ts"]);
  assert.equal(
    describeSpentGas(sumSpentGas(read)),
    "wasted gas: 550 of 2000 in 5 transactions (known proof 400, reverted 150)",
  );
  assert.equal(describeSpentGas(sumSpentGas([])), "wasted gas: 0 of 0 in 0 transactions (none)");
});

/** The call that delivers messages whose mountain range holds nothing else. */
async function deliveryTo(
  host: IsmpHost,
  messages: readonly Extract<Message, { kind: "post" }>[],
  hubHeight: bigint,
): Promise<Hex> {
  const { leafCount, leafIndices, items } = await proveFromHub(host, messages, hubHeight);
  return postRequestsCall(
    { host: toAddress(host.addresses.host), hub: hub.stateMachine, hubHeight },
    messages.map(({ request }) => request),
    { leafCount, items, leafIndicesAndPos: leafIndices.map((leafIndex) => ({ leafIndex, pos: leafIndex })) },
  );
}

Deno.test("spent gas: wasted transactions, and wasted parts of them, are found in a node's traces", () =>
  withHost(31441, async (host) => {
    const { relayer, user } = DEVNET_ACCOUNTS;
    const to = host.addresses.handler;
    const send = (data: Hex, gas = 5_000_000n): ReturnType<IsmpHost["transact"]> =>
      host.transact(relayer, { to, data, gas });
    const node = { rpcUrl: host.rpcUrl, resume: (): void => {} };
    const wasted = async (): Promise<Readonly<Record<string, bigint>>> =>
      Object.fromEntries((await readSpentGas([{ node, host }])).wasted);

    const first = [postTo(host, 1n)];
    const known = consensusCall(
      toAddress(host.addresses.host),
      fromHex(
        await proveHub(host, {
          height: 10n,
          timestampSec: 1n,
          mmrRoot: mountainRoot(first),
          childTrieRoot: `0x${"01".repeat(32)}`,
        }),
      ),
    );
    const taken = await send(await deliveryTo(host, first, 10n));
    assert.deepEqual(await wasted(), {});

    const alone = await send(known);
    assert.deepEqual(await wasted(), { "known proof": alone.gasUsed });
    await send(batchCall([known, await deliveryTo(host, [postTo(host, 2n)], 11n)]));
    const { "known proof": proofs = 0n, ...others } = await wasted();
    assert.deepEqual(others, {});
    assert.ok(proofs > alone.gasUsed && proofs < 2n * alone.gasUsed, "the part of the second transaction");

    const failing = { to: host.addresses.feeToken };
    const mixed = await send(await deliveryTo(host, [postTo(host, 3n), postTo(host, 4n, failing)], 12n));
    const { "not executed": part = 0n } = await wasted();
    assert.ok(part > 0n && part < mixed.gasUsed / 2n, `${part}`);
    const inVain = await send(await deliveryTo(host, [postTo(host, 5n, failing)], 13n));
    assert.equal((await wasted())["not executed"], part + inVain.gasUsed);

    const again = await deliveryTo(host, first, 14n);
    await assert.rejects(send(again), DevnetTransactionFault);
    const cancelling = await host.transact(relayer, { to: relayer.address, data: "0x" });
    await host.transact(user, { to: user.address, data: "0x" });
    const { transactions, gas, wasted: all } = await readSpentGas([{ node, host }]);
    assert.equal(all.get("cancelling"), cancelling.gasUsed);
    assert.ok((all.get("reverted") ?? 0n) > 21_000n);
    assert.equal(transactions, 7, "of relayers");
    assert.ok(gas > taken.gasUsed + mixed.gasUsed + inVain.gasUsed + alone.gasUsed);
  }));
