import assert from "node:assert/strict";
import calls from "../../../vectors/evm-handler-calls.json" with { type: "json" };
import hubScale from "../../../vectors/hub-scale.json" with { type: "json" };
import { concatBytes, fromHex, type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { PostRequest } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import {
  matchPayments,
  parsePayment,
  type PaymentPost,
  readPayment,
  WITHDRAWAL_MODULE,
} from "../../../../src/messaging/fees/withdrawals/payment_scan.ts";

const hub = parseStateMachine("KUSAMA-4009");
const chain = parseStateMachine("EVM-31337");
const para = parseStateMachine("KUSAMA-2000");

function word(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, "0"));
}

function evmBody(beneficiary: Uint8Array, ...words: bigint[]): Uint8Array {
  return concatBytes(Uint8Array.of(0), new Uint8Array(12), beneficiary, ...words.map(word));
}

const ours = new Uint8Array(20).fill(0x11);
const theirs = new Uint8Array(20).fill(0x22);
const token = 0x5fbdb2315678afecb367f032d93f642f64180aa3n;

Deno.test("payment: the body that the real host manager paid out", () => {
  const call = calls.calls.find(({ name }) => name.includes("relayer fee withdrawal"));
  const value = call?.messages?.[0]?.value;
  assert.ok(value !== undefined && "body" in value && value.body !== undefined);
  const payment = readPayment(chain, fromHex(value.body));
  assert.ok(payment);
  assert.equal(toHex(payment.beneficiary), calls.relayer.toLowerCase());
  assert.equal(payment.amount, 1_000_000_000_000_000n);
  assert.equal(toHex(WITHDRAWAL_MODULE), "from" in value ? value.from : undefined);
});

Deno.test("payment: EVM bodies of July 2025 and of the genesis runtimes", () => {
  for (const words of [[5n, 0n], [5n, 1n], [5n]]) {
    assert.deepEqual(readPayment(chain, evmBody(ours, ...words)), { beneficiary: ours, amount: 5n });
  }
});

Deno.test("payment: Substrate bodies with index 0 and with index 2 (F25)", () => {
  const vector = hubScale.vectors.find(({ name }) => name === "WithdrawRelayerFees");
  assert.ok(vector?.scale);
  const body = fromHex(vector.scale);
  for (const index of [0, 2]) {
    const payment = readPayment(para, concatBytes(Uint8Array.of(index), body.subarray(1)));
    assert.equal(payment?.amount, 12_345_678n);
    assert.equal(
      payment && toHex(payment.beneficiary),
      "0x0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
    );
  }
});

Deno.test("payment: other bodies are no payments", () => {
  const good = evmBody(ours, 5n, token);
  const dirty = good.slice();
  dirty[5] = 1;
  const params = concatBytes(Uint8Array.of(1), good.subarray(1));
  for (
    const body of [
      new Uint8Array(),
      good.subarray(0, 96),
      concatBytes(good, new Uint8Array(1)),
      dirty,
      params,
    ]
  ) {
    assert.equal(readPayment(chain, body), undefined);
  }
  const substrate = concatBytes(Uint8Array.of(0), new Uint8Array(48));
  assert.equal(readPayment(para, substrate)?.amount, 0n);
  assert.equal(readPayment(para, substrate.subarray(0, 48)), undefined);
  assert.equal(readPayment(para, concatBytes(Uint8Array.of(1), new Uint8Array(48))), undefined);
  assert.equal(readPayment(para, good), undefined);
});

function post(index: number, body: Uint8Array, change: Partial<PostRequest> = {}): PaymentPost {
  const commitment: Hex = `0x${index.toString(16).padStart(64, "0")}`;
  return {
    commitment,
    hubBlock: 1n,
    request: {
      source: hub,
      dest: chain,
      nonce: BigInt(index),
      from: WITHDRAWAL_MODULE,
      to: new Uint8Array(20),
      timeoutTimestampSec: 0n,
      body,
      ...change,
    },
  };
}

Deno.test("payment: only the hub's own module pays, and only on the chain that is asked about", () => {
  const body = evmBody(ours, 5n, token);
  const facts = { hub, chain };
  assert.ok(parsePayment(post(1, body).request, facts));
  assert.equal(parsePayment(post(1, body, { source: chain }).request, facts), undefined);
  assert.equal(parsePayment(post(1, body, { dest: para }).request, facts), undefined);
  assert.equal(parsePayment(post(1, body, { from: new Uint8Array(9) }).request, facts), undefined);
});

const facts = { hub, chain, isOwnPayee: (account: Uint8Array) => toHex(account) === toHex(ours) };

function matched(
  expected: readonly { readonly id: number; readonly amount: bigint }[],
  posts: readonly PaymentPost[],
): { matches: (readonly [number, bigint])[]; unexpected: bigint[] } {
  const found = matchPayments(expected.map((row) => ({ ...row, payee: ours })), posts, facts);
  return {
    matches: found.matches.map(({ id, post }) => [id, post.request.nonce] as const),
    unexpected: found.unexpected.map(({ post }) => post.request.nonce),
  };
}

Deno.test("payment: a block with another relayer's payment and two of ours gives each withdrawal its own (F5)", () => {
  const posts = [
    post(1, evmBody(theirs, 100n, token)),
    post(2, evmBody(ours, 300n, token)),
    post(3, evmBody(ours, 100n, token)),
  ];
  assert.deepEqual(matched([{ id: 7, amount: 100n }, { id: 8, amount: 300n }], posts), {
    matches: [[7, 3n], [8, 2n]],
    unexpected: [],
  });
});

Deno.test("payment: fees that came in after the order make the payment larger", () => {
  const posts = [post(1, evmBody(ours, 150n, token)), post(2, evmBody(ours, 120n, token))];
  // 120 is expected exactly by the second order, so the first one has the larger payment.
  assert.deepEqual(matched([{ id: 1, amount: 100n }, { id: 2, amount: 120n }], posts), {
    matches: [[2, 2n], [1, 1n]],
    unexpected: [],
  });
  assert.deepEqual(matched([{ id: 1, amount: 151n }], posts), { matches: [], unexpected: [2n, 1n] });
});

Deno.test("payment: one to us that no order expects is reported, one to others is not", () => {
  const posts = [post(1, evmBody(ours, 5n, token)), post(2, evmBody(theirs, 5n, token))];
  assert.deepEqual(matched([], posts), { matches: [], unexpected: [1n] });
});
