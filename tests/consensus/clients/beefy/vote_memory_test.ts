import assert from "node:assert/strict";
import { rememberVotes } from "../../../../src/consensus/clients/beefy/proof_finder.ts";
import type { RecoverAuthority } from "../../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { type Hash256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";

function countingRecovery(): { readonly asked: string[]; readonly recover: RecoverAuthority } {
  const asked: string[] = [];
  const recover: RecoverAuthority = (hash, signature) => {
    asked.push(`${hash} ${toHex(signature)}`);
    return signature[0] === 0 ? undefined : Uint8Array.of(signature[0] ?? 0, hash.length);
  };
  return { asked, recover };
}

function hashAt(at: number): Hash256 {
  return toHash256(new Uint8Array(32).fill(at));
}

function signatureAt(at: number): Uint8Array {
  return new Uint8Array(65).fill(at % 256).with(1, Math.floor(at / 256));
}

Deno.test("vote memory: a vote is recovered once, and one that names nobody stays so", () => {
  const { asked, recover } = countingRecovery();
  const remembered = rememberVotes(recover);
  const first = remembered(hashAt(1), signatureAt(7));
  assert.deepEqual(remembered(hashAt(1), signatureAt(7)), first);
  assert.equal(remembered(hashAt(1), signatureAt(0)), undefined);
  assert.equal(remembered(hashAt(1), signatureAt(0)), undefined);
  assert.equal(asked.length, 2);
});

Deno.test("vote memory: the same signature of another commitment is another vote", () => {
  const { asked, recover } = countingRecovery();
  const remembered = rememberVotes(recover);
  remembered(hashAt(1), signatureAt(7));
  remembered(hashAt(2), signatureAt(7));
  remembered(hashAt(1), signatureAt(7).with(64, 1));
  assert.equal(asked.length, 3);
});

Deno.test("vote memory: it has a limit, and forgets the oldest", () => {
  const { asked, recover } = countingRecovery();
  const remembered = rememberVotes(recover);
  for (let at = 0; at <= 2_048; at++) remembered(hashAt(1), signatureAt(at + 1));
  assert.equal(asked.length, 2_049);
  remembered(hashAt(1), signatureAt(2_049));
  assert.equal(asked.length, 2_049);
  remembered(hashAt(1), signatureAt(1));
  assert.equal(asked.length, 2_050);
});
