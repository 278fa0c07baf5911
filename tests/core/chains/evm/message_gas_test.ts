import { deepStrictEqual as equal, ok } from "node:assert/strict";
import fc from "fast-check";
import type { Delivery, DeliveryStep } from "../../../../src/core/chains/submission.ts";
import { attributeGas } from "../../../../src/core/chains/evm/message_gas.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { evmStateMachine, parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import type { StepFrame } from "../../../../src/core/evm/trace.ts";
import { hub } from "./chain_fixture.ts";

function messages(leafIndices: readonly bigint[], large?: bigint): DeliveryStep {
  return {
    kind: "messages",
    messages: leafIndices.map((nonce) =>
      postMessage({
        source: parseStateMachine("POLKADOT-2000"),
        dest: evmStateMachine(1),
        nonce,
        from: Uint8Array.of(1),
        to: new Uint8Array(20),
        timeoutTimestampSec: 0n,
        body: new Uint8Array(nonce === large ? 40_000 : 60),
      })
    ),
    proof: { kind: "mmr", height: { id: hub, height: 1n }, leafCount: 100n, items: [], leafIndices },
  };
}

const consensus: DeliveryStep = { kind: "consensus", proof: new Uint8Array(700) };
const frame = (gasUsed: bigint, ...dispatches: readonly bigint[]): StepFrame => ({
  gasUsed,
  dispatches: dispatches.map((each) => ({ gasUsed: each, isModuleDone: true })),
});
const of = (...steps: readonly DeliveryStep[]): Delivery => ({ steps });
const sum = (parts: readonly bigint[]): bigint => parts.reduce((total, part) => total + part, 0n);

Deno.test("message gas: each message has its dispatch and an equal share of the rest, to the last unit", () => {
  const gas = { gasUsed: 1000n, steps: [frame(1000n, 100n, 300n, 200n)] };
  equal(attributeGas(of(messages([1n, 2n, 3n])), gas), [234n, 433n, 333n]);
});

Deno.test("message gas: dispatches are in the order of the leaves, whatever the order of the messages (F15)", () => {
  const gas = { gasUsed: 900n, steps: [frame(900n, 100n, 300n, 200n)] };
  equal(attributeGas(of(messages([9n, 2n, 5n])), gas), [300n, 200n, 400n]);
});

Deno.test("message gas: without frames, or with frames that do not fit, the shares are equal", () => {
  for (const steps of [undefined, [], [frame(90n, 10n)], [frame(90n, 1n, 2n), frame(3n)]]) {
    equal(attributeGas(of(messages([1n, 2n])), { gasUsed: 101n, steps }), [51n, 50n]);
  }
  equal(attributeGas(of(consensus), { gasUsed: 101n, steps: [frame(90n)] }), []);
});

Deno.test("message gas: consensus steps and their bytes are left for the consensus proofs", () => {
  const steps = [frame(200_000n), frame(150_000n, 100_000n)];
  const [own = 0n] = attributeGas(of(consensus, messages([1n])), { gasUsed: 385_000n, steps });
  equal(own, 150_000n + 17_759n, "and its share of the base and the call data");
  // With messages alone everything is theirs.
  const bundle = of(messages([1n]), messages([2n]));
  const all = attributeGas(bundle, {
    gasUsed: 385_000n,
    steps: [frame(200_000n, 1000n), frame(150_000n, 10n)],
  });
  equal(all, [217_500n, 167_500n]);
});

Deno.test("message gas: call data and copies are paid by the message that is large, not by its company", () => {
  const large = attributeGas(of(messages([1n, 2n, 3n], 1n)), {
    gasUsed: 1_650_000n,
    steps: [frame(1_100_000n, 10_000n, 10_000n, 10_000n)],
  });
  ok(large.slice(1).every((each) => each < 65_000n), String(large));
  equal(sum(large), 1_650_000n);
});

Deno.test("message gas: together the messages never take more than the transaction uses", () => {
  const gas = fc.bigInt({ min: 0n, max: 10n ** 7n });
  const shape = fc.record({
    gasUsed: gas,
    hasConsensusProofs: fc.boolean(),
    consensusProofs: gas,
    step: gas,
    dispatches: fc.array(gas, { minLength: 1, maxLength: 8 }),
  });
  fc.assert(fc.property(shape, ({ gasUsed, hasConsensusProofs, consensusProofs, step, dispatches }) => {
    const own = messages(dispatches.map((_, index) => BigInt(index)));
    const frames = frame(step, ...dispatches);
    const parts = hasConsensusProofs
      ? attributeGas(of(consensus, own), { gasUsed, steps: [frame(consensusProofs), frames] })
      : attributeGas(of(own), { gasUsed, steps: [frames] });
    equal(parts.length, dispatches.length);
    ok(parts.every((part) => part >= 0n) && sum(parts) <= gasUsed);
    if (!hasConsensusProofs && sum(dispatches) <= step && step <= gasUsed) equal(sum(parts), gasUsed);
  }));
});
