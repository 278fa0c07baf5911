/** Gas of calls in memory: call data, running out of it, and modules that know a simulation. */
import assert from "node:assert/strict";
import { type Hash256, type Hex, toHash256 } from "../../src/core/encoding/bytes.ts";
import { postMessage } from "../../src/core/ismp/message.ts";
import { parseStateMachine, toConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import type { Delivery } from "../../src/core/chains/submission.ts";
import { type CallTerms, dataGas, type GasRun, type Module, runCall } from "./memory_gas.ts";
import { emptyState, sealOf } from "./memory_host.ts";

const hub = {
  stateMachine: parseStateMachine("POLKADOT-3367"),
  consensusStateId: toConsensusStateId("PARA"),
};
const root = toHash256(new Uint8Array(32).fill(1));
const dest = parseStateMachine("EVM-1");

/** What a delivery of messages to such modules does. */
function run(
  modules: readonly Module[],
  terms: Partial<CallTerms> = {},
  known: readonly number[] = [],
): GasRun {
  const messages = modules.map((_, index) =>
    postMessage({
      source: parseStateMachine("EVM-56"),
      dest,
      nonce: BigInt(index),
      from: new Uint8Array(20),
      to: new Uint8Array(20),
      timeoutTimestampSec: 0n,
      body: new Uint8Array(3),
    })
  );
  const state = emptyState();
  state.counterparties.set(`${hub.stateMachine}/${hub.consensusStateId}`, {
    latest: 5n,
    heights: new Map([[5n, { root, updatedAtSec: 0n }]]),
  });
  for (const index of known) {
    const commitment = messages[index]?.commitment;
    if (commitment !== undefined) state.receipts.set(commitment, new Uint8Array(20));
  }
  const delivery: Delivery = {
    steps: [{
      kind: "messages",
      messages,
      proof: {
        kind: "mmr",
        height: { id: hub, height: 5n },
        leafCount: 9n,
        items: [sealOf(root, messages)],
        leafIndices: messages.map((_, index) => BigInt(index)),
      },
    }],
  };
  const of = new Map<Hash256, Module | undefined>(
    messages.map(({ commitment }, index) => [commitment, modules[index]]),
  );
  const rules = {
    id: { stateMachine: dest, consensusStateId: toConsensusStateId("ETH0") },
    family: "evm",
    isHub: false,
    challengePeriodSec: 0n,
    failing: new Set<Hash256>(),
    quarrels: [],
    moduleOf: ({ commitment }: { readonly commitment: Hash256 }): Module =>
      of.get(commitment) ?? { gas: 1n, act: "ok" },
  } as const;
  return runCall(rules, { state, noted: { height: 7n, timeSec: 70n } }, {
    delivery,
    terms: {
      data: "0x",
      gasLimit: 1_000_000n,
      gasPriceWei: 1n,
      balanceWei: 1n,
      number: 8n,
      nowSec: 80n,
      isBlock: true,
      ...terms,
    },
  });
}

const ok: Module = { gas: 10_000n, act: "ok" };

Deno.test("memory gas: call data costs 4 and 16 for each byte, and 10 and 40 where that is all a transaction does", () => {
  const data: Hex = `0x${"00".repeat(100)}${"ff".repeat(1_000)}`;
  assert.deepEqual(dataGas(data), { intrinsic: 21_000n + 400n + 16_000n, floor: 21_000n + 1_000n + 40_000n });
});

Deno.test("memory gas: what modules do to a transaction and to the messages beside theirs", () => {
  const cases: readonly [string, GasRun, readonly boolean[] | "out of gas" | "reverted"][] = [
    ["all behave", run([ok, ok]), [true, true]],
    ["one fails", run([ok, { gas: 10_000n, act: "fail" }]), [true, false]],
    ["one wants more than there is", run([ok, { gas: 2_000_000n, act: "ok" }]), [true, false]],
    ["one uses all, and nothing is left for the next", run([{ gas: "all", act: "fail" }, ok]), "out of gas"],
    ["one uses most, and leaves enough", run([{ gas: "most", act: "fail" }, ok]), [false, true]],
    ["one starves the host", run([ok, { gas: "all", act: "starve" }]), "out of gas"],
    ["the last one is delivered already", run([ok, ok, ok], {}, [2]), "reverted"],
  ];
  for (const [name, { execution, isOutOfGas, gasUsed }, wanted] of cases) {
    const found = execution.kind === "done" ? execution.handled : isOutOfGas ? "out of gas" : "reverted";
    assert.deepEqual(found, wanted, name);
    if (isOutOfGas) assert.equal(gasUsed, 1_000_000n, name);
  }
  const [whole, cut] = [run([ok, ok, ok]).gasUsed, run([ok, ok, ok], {}, [2]).gasUsed];
  assert.ok(cut * 100n > whole * 60n, "a revert costs what came before it");
});

Deno.test("memory gas: a module knows a simulation by what it differs in, and by nothing else", () => {
  const cases: readonly [NonNullable<Module["knows"]>, Partial<CallTerms>][] = [
    ["everything", { isBlock: false }],
    ["number", { number: 7n }],
    ["time", { nowSec: 70n }],
    ["price", { gasPriceWei: 0n }],
    ["balance", { balanceWei: 10n ** 22n }],
    ["gas", { gasLimit: 16_000_000n }],
  ];
  for (const [knows, terms] of cases) {
    const handledWith = (changes: Partial<CallTerms>): unknown => {
      const { execution } = run([{ gas: 10_000n, act: "fail", knows }], changes);
      return execution.kind === "done" ? execution.handled : execution;
    };
    assert.deepEqual([handledWith(terms), handledWith({})], [[true], [false]], knows);
  }
});
