import assert from "node:assert/strict";
import { concatBytes, fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import {
  type BeefyClientState,
  decodeBeefyClientState,
  encodeBeefyClientState,
} from "../../../src/core/evm/beefy_client_state.ts";

const root = (byte: number): ReturnType<typeof toHash256> => toHash256(new Uint8Array(32).fill(byte));

const state: BeefyClientState = {
  latestHeight: 2n ** 200n,
  beefyActivationBlock: 19_551_000n,
  current: { id: 2n ** 64n - 1n, length: 2 ** 32 - 1, root: root(7) },
  next: { id: 8n, length: 600, root: root(9) },
};

/** The words of a state with a fourth one in each set. */
function withCommitments(eight: Uint8Array): Uint8Array {
  const [current, next] = [fromHex(root(0xaa)), fromHex(root(0xbb))];
  return concatBytes(eight.slice(0, 160), current, eight.slice(160), next);
}

Deno.test("BEEFY client: eight words are a state, and ten whose sets have a commitment for proofs of another kind", () => {
  const eight = encodeBeefyClientState(state);
  assert.equal(eight.length, 256);
  assert.deepEqual(decodeBeefyClientState(eight), state);
  assert.deepEqual(decodeBeefyClientState(withCommitments(eight)), state);
});

Deno.test("BEEFY client: other lengths, and numbers that the contract's types do not hold, are no state", () => {
  const eight = encodeBeefyClientState(state);
  for (const length of [0, 32, 255, 257, 288, 384]) {
    assert.equal(decodeBeefyClientState(new Uint8Array(length)), undefined, `${length} bytes`);
  }
  for (const [word, byte] of [[2, 23], [3, 27], [5, 23], [6, 27]] as const) {
    const at = 32 * word + byte;
    assert.equal(decodeBeefyClientState(eight.with(at, 1)), undefined, `word ${word}`);
  }
  assert.notEqual(decodeBeefyClientState(eight.with(24 + 64, 1)), undefined);
});
