/** Both implementations of the curve say the same, about real signatures and about broken ones. */
import assert from "node:assert/strict";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import {
  decompressKey,
  loadCurve,
  recoverKey,
} from "../../../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { concatBytes, fromHex, keccak256, toHex } from "../../../../../src/core/encoding/bytes.ts";

const { ORDER } = secp256k1.Point.Fn;
const PRIME = secp256k1.Point.Fp.ORDER;

function word(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, "0"));
}

interface Question {
  readonly name: string;
  readonly ask: () => Uint8Array | undefined;
}

const secrets = Array.from({ length: 12 }, (_, at) => keccak256(Uint8Array.of(at)));
const hash = keccak256(new TextEncoder().encode("a commitment"));
const signed = secrets.map((secret) => secp256k1.sign(hash, secret, { prehash: false, format: "recovered" }));

function recovering(name: string, signature: Uint8Array, of: Uint8Array = hash): readonly Question[] {
  return ([0, 1] as const).map((recovery) => ({
    name: `${name}, recovery id ${recovery}`,
    ask: () => recoverKey(of, signature, recovery),
  }));
}

const questions: readonly Question[] = [
  ...signed.flatMap((bytes, at) => recovering(`signature ${at}`, bytes.slice(1))),
  // A nonce that is a coordinate of no point, for half of them.
  ...signed.flatMap((bytes, at) =>
    recovering(`changed signature ${at}`, bytes.slice(1).with(5, (bytes[6] ?? 0) ^ 1))
  ),
  ...[0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, PRIME - 1n, 2n ** 256n - 1n].flatMap((value) => [
    ...recovering(`r = ${value}`, concatBytes(word(value), (signed[0] ?? hash).slice(33))),
    ...recovering(`s = ${value}`, concatBytes((signed[0] ?? hash).slice(1, 33), word(value))),
  ]),
  ...recovering("a hash of zeros", (signed[1] ?? hash).slice(1), new Uint8Array(32)),
  ...recovering("a hash of the order", (signed[1] ?? hash).slice(1), word(ORDER)),
  ...recovering("a hash of ones", (signed[1] ?? hash).slice(1), new Uint8Array(32).fill(0xff)),
  ...recovering("a short signature", new Uint8Array(63)),
  ...recovering("a short hash", (signed[2] ?? hash).slice(1), new Uint8Array(31)),
  ...secrets.map((secret, at) => ({
    name: `key ${at}`,
    ask: () => decompressKey(secp256k1.getPublicKey(secret)),
  })),
  ...[0, 1, 2, 3, 4, 5, 6, 7].flatMap((head) =>
    [0n, 1n, 5n, PRIME - 1n, PRIME, PRIME + 1n].map((x) => ({
      name: `key ${head}, x = ${x}`,
      ask: () => decompressKey(concatBytes(Uint8Array.of(head), word(x))),
    }))
  ),
  ...[0, 32, 34, 65].map((length) => ({
    name: `${length} bytes`,
    ask: () => decompressKey(new Uint8Array(length)),
  })),
  {
    name: "an uncompressed key",
    ask: () => decompressKey(secp256k1.getPublicKey(secrets[0] ?? hash, false)),
  },
];

const answers = (): readonly string[] =>
  questions.map(({ name, ask }) => {
    const found = ask();
    return `${name}: ${found === undefined ? "none" : toHex(found)}`;
  });

Deno.test("points of the curve: libsecp256k1 and the library say the same of every key and signature", async () => {
  const before = answers();
  const known = signed.map((bytes, at) => {
    const [recovery] = bytes;
    assert.ok(recovery === 0 || recovery === 1);
    return recoverKey(hash, bytes.slice(1), recovery) ??
      assert.fail(`signature ${at}`);
  });
  assert.deepEqual(known, secrets.map((secret) => secp256k1.getPublicKey(secret, false)));
  await loadCurve();
  assert.deepEqual(answers(), before);
  const isNone = (text: string): boolean => text.endsWith(": none");
  assert.ok(before.some(isNone) && !before.every(isNone));
});
