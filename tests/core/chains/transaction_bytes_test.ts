import assert from "node:assert/strict";
import {
  fittingProofs,
  learnMaxBytes,
  limitNamedIn,
  MAX_TRANSACTION_BYTES,
} from "../../../src/core/chains/transaction_bytes.ts";

Deno.test("transaction bytes: as many proofs go into a transaction as nodes relay and the handler takes, at least one", () => {
  const sizes = (bytes: readonly number[], maxProofs: number, maxBytes = MAX_TRANSACTION_BYTES): number[] =>
    fittingProofs(bytes.map((length) => ({ bytes: new Uint8Array(length) })), { maxProofs, maxBytes })
      .map((each) => each.bytes.length);
  assert.deepEqual(sizes([1_300, 1_300, 1_300, 1_300], 3), [1_300, 1_300, 1_300]);
  assert.deepEqual(sizes([92_000, 92_000], 3), [92_000]);
  assert.deepEqual(sizes([60_000, 60_000, 60_000], 3), [60_000, 60_000]);
  assert.deepEqual(sizes([60_000, 60_000, 60_000], 3, 91_000), [60_000]);
  assert.deepEqual(sizes([500_000], 3), [500_000]);
  assert.deepEqual(sizes([1, 2], 1), [1]);
  assert.deepEqual(sizes([], 3), []);
});

Deno.test("transaction bytes: a refusal sets the limit that it names, or three quarters of what was refused", () => {
  // Texts of go-ethereum (core/txpool/validation.go and core/txpool/legacypool).
  const named = learnMaxBytes(140_000, "oversized data: transaction size 140000, limit 98304");
  assert.equal(named, 98_304 - 1_024);
  assert.equal(learnMaxBytes(100_000, "oversized data"), 75_000 - 1_024);
  assert.equal(
    learnMaxBytes(100_000, "oversized data: limit 131072"),
    75_000 - 1_024,
    "no limit that was kept",
  );
});

Deno.test("transaction bytes: refusals one after the other never end below one byte nor above what every node takes", () => {
  let maxBytes = MAX_TRANSACTION_BYTES;
  for (let refusal = 0; refusal < 60; refusal++) {
    const next = learnMaxBytes(maxBytes, "too large");
    assert.ok(next <= maxBytes && next >= 1);
    maxBytes = next;
  }
  assert.equal(learnMaxBytes(10_000_000, "too large"), MAX_TRANSACTION_BYTES);
});

const refusals: readonly (readonly [string, ReturnType<typeof limitNamedIn>])[] = [
  ["tx fee (1.31 ether) exceeds the configured cap (1.00 ether)", "cost"],
  ["transaction gas limit too high (cap: 16777216, tx: 20000000)", "cost"],
  ["exceeds block gas limit", "cost"],
  ["GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 31000000", "cost"],
  ["Transaction fee cap exceeded", "cost"],
  ["tx fee exceeds cap: 1.2 ether", "cost"],
  ["exceeds max transaction gas limit", "cost"],
  ["exceeds maximum gas limit of a transaction: 30000000", "cost"],
  ["tx gas (31000000) exceeds max tx gas limit (30000000)", "cost"],
  ["Transaction gas limit exceeds block gas limit", "cost"],
  ["in-flight tx limit reached for EIP-7702 delegated EOA", "in_flight"],
  ["in-flight transaction limit reached for delegated accounts", "in_flight"],
  ["gapped-nonce tx from delegated accounts", "in_flight"],
  ["input data length 131500 exceeds max size 131072", "bytes"],
  ["RLP_TOO_LONG: rlp too long", "bytes"],
  ["MaxTxSizeExceeded", "bytes"],
  ["txpool is full", undefined],
  ["transaction rejected by sender policy", undefined],
];
for (const [text, limit] of refusals) {
  Deno.test(`transaction bytes: "${text}" names ${limit ?? "no limit"}`, () => {
    assert.equal(limitNamedIn(text), limit);
  });
}
