import assert from "node:assert/strict";
import { gasLimitFor } from "../../../../src/core/chains/evm/gas.ts";
import { GasExpectation, isFittingLimit } from "../../../../src/core/chains/evm/message_gas.ts";
import type { Delivery } from "../../../../src/core/chains/submission.ts";
import { type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { deliveryOfPosts } from "./scripted_node.ts";

/** Data of zeros and other bytes, with what they cost. */
const data = (zeros: number, others: number): Hex =>
  toHex(Uint8Array.from([...new Array<number>(zeros).fill(0), ...new Array<number>(others).fill(1)]));

/** Remembers a delivery of so many posts that used so much beside its bytes. */
const note = (memory: GasExpectation, count: number, gas: bigint): void =>
  memory.note({ delivery: deliveryOfPosts(count), data: data(1, 1), gasUsed: 21_000n + 20n + gas });

/** Limit for gas, with the margin. */
const limitOf = (gas: bigint): bigint => gasLimitFor(gas) * 106n / 100n;

Deno.test("gas expectation: bytes are computed, what a delivery uses beside them is remembered", () => {
  const memory = new GasExpectation();
  assert.equal(memory.expectLimit(deliveryOfPosts(2), data(0, 0)), undefined);
  note(memory, 2, 130_000n);
  assert.equal(memory.expectLimit(deliveryOfPosts(2), data(0, 0)), limitOf(151_000n));
  assert.equal(memory.expectLimit(deliveryOfPosts(2), data(10, 100)), limitOf(151_000n + 40n + 1_600n));
  note(memory, 2, 150_000n);
  assert.equal(memory.expectLimit(deliveryOfPosts(2), data(0, 0)), limitOf(171_000n));
  assert.equal(memory.expectLimit(deliveryOfPosts(3), data(0, 0)), undefined);
});

Deno.test("gas expectation: nothing is expected of modules never seen, nor beside consensus proofs", () => {
  const memory = new GasExpectation();
  note(memory, 1, 60_000n);
  const [step] = deliveryOfPosts(1).steps;
  assert.ok(step?.kind === "messages");
  const [message] = step.messages;
  assert.ok(message?.kind === "post");
  const elsewhere = postMessage({ ...message.request, to: new Uint8Array(20).fill(9) });
  const other: Delivery = { steps: [{ ...step, messages: [elsewhere] }] };
  assert.equal(memory.expectLimit(other, data(0, 0)), undefined);
  const proved: Delivery = { steps: [{ kind: "consensus", proof: new Uint8Array(9) }, step] };
  assert.equal(memory.expectLimit(proved, data(0, 0)), undefined);
});

Deno.test("gas expectation: a limit fits from what is needed to a quarter more", () => {
  for (const [limit, fits] of [[99n, false], [100n, true], [125n, true], [126n, false]] as const) {
    assert.equal(isFittingLimit(limit, 100n), fits, `${limit}`);
  }
});
