/** Signers and addresses, of real signatures and keys and of broken ones, are those of another implementation. */
import assert from "node:assert/strict";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import {
  authorityAddress,
  recoverAuthority,
  toContractSignature,
} from "../../../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";

const { ORDER } = secp256k1.Point.Fn;
const PRIME = secp256k1.Point.Fp.ORDER;

function word(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, "0"));
}

const hash = keccak256(new TextEncoder().encode("a commitment"));
const secrets = Array.from({ length: 12 }, (_, at) => keccak256(Uint8Array.of(at)));
/** r and s of signatures of the hash, with their recovery ids. */
const signed = secrets.map((secret) => {
  const bytes = secp256k1.sign(hash, secret, { prehash: false, format: "recovered" });
  return { compact: bytes.slice(1), recovery: bytes[0] ?? 0 };
});

/** What the library in JavaScript makes of a point. */
const addressBy = (make: () => Uint8Array): string => {
  try {
    return toHex(keccak256(make().subarray(1)).subarray(12));
  } catch {
    return "none";
  }
};

Deno.test("points of the curve: the signers of votes are those that another library recovers", () => {
  const [{ compact: first } = { compact: hash }] = signed;
  const changed = signed.map(({ compact }) => compact.with(5, (compact[6] ?? 0) ^ 1));
  const strange = [0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, PRIME - 1n, 2n ** 256n - 1n].flatMap((value) => [
    concatBytes(word(value), first.slice(32)),
    concatBytes(first.slice(0, 32), word(value)),
  ]);
  const hashes = [hash, new Uint8Array(32), word(ORDER), new Uint8Array(32).fill(0xff)];
  const found: string[] = [];
  for (const compact of [...signed.map((each) => each.compact), ...changed, ...strange]) {
    for (const [recovery, of] of [0, 1].flatMap((id) => hashes.map((each) => [id, each] as const))) {
      // Contracts refuse the larger s.
      const isLarge = BigInt(toHex(compact.subarray(32))) > ORDER / 2n;
      const expected = isLarge ? "none" : addressBy(() => {
        const parsed = secp256k1.Signature.fromBytes(compact).addRecoveryBit(recovery);
        return parsed.recoverPublicKey(of).toBytes(false);
      });
      const vote = concatBytes(compact, Uint8Array.of(recovery + 27));
      const address = recoverAuthority(toHash256(of), vote);
      assert.equal(address === undefined ? "none" : toHex(address), expected);
      found.push(expected);
    }
  }
  assert.ok(found.includes("none") && !found.every((each) => each === "none"));
  for (const [at, { compact, recovery }] of signed.entries()) {
    const vote = toContractSignature(concatBytes(compact, Uint8Array.of(recovery)));
    const own = secp256k1.getPublicKey(secrets[at] ?? hash, false);
    assert.deepEqual(recoverAuthority(toHash256(hash), vote), keccak256(own.subarray(1)).subarray(12));
    assert.equal(recoverAuthority(toHash256(hash), vote.subarray(1)), undefined, "a short signature");
    assert.equal(recoverAuthority(toHash256(hash), vote.with(64, 26)), undefined, "no recovery id");
  }
});

Deno.test("points of the curve: keys have the addresses that another library gives, and none where they are no point", () => {
  const heads = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((head) =>
    [0n, 1n, 5n, PRIME - 1n, PRIME, PRIME + 1n].map((x) => concatBytes(Uint8Array.of(head), word(x)))
  );
  for (const key of [...secrets.map((secret) => secp256k1.getPublicKey(secret)), ...heads]) {
    const expected = addressBy(() => secp256k1.Point.fromBytes(key).toBytes(false));
    assert.equal(toHex(authorityAddress(key)), expected === "none" ? toHex(new Uint8Array(20)) : expected);
  }
});
