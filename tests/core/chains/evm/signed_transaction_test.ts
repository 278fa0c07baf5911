import assert from "node:assert/strict";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { parseTransaction, serializeTransaction } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { keyAccount, signTransaction } from "../../../../src/core/chains/evm/account.ts";
import {
  type PriceFields,
  readOwnTransaction,
  type TransactionToSign,
} from "../../../../src/core/chains/evm/signed_transaction.ts";
import { Secret } from "../../../../src/core/config/redact.ts";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { signedMessage } from "../../../../src/core/ismp/signed_messages.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../../../devnet/evm/accounts.ts";
import { never } from "./chain_fixture.ts";

const account = keyAccount(new Secret(DEVNET_KEYS.relayer));
const viems = privateKeyToAccount(DEVNET_KEYS.relayer);

const wei = fc.bigInt({ min: 0n, max: 2n ** 96n });
const price: fc.Arbitrary<PriceFields> = fc.oneof(
  wei.map((gasPrice) => ({ type: "legacy" as const, gasPrice })),
  fc.tuple(wei, wei).map(([one, two]) => ({
    type: "eip1559" as const,
    maxFeePerGas: one > two ? one : two,
    maxPriorityFeePerGas: one > two ? two : one,
  })),
);
const transactions: fc.Arbitrary<TransactionToSign> = fc.tuple(
  price,
  fc.record({
    chainId: fc.integer({ min: 1, max: 2 ** 40 }),
    nonce: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    to: fc.uint8Array({ minLength: 20, maxLength: 20 }).map(toAddress),
    data: fc.uint8Array({ maxLength: 300 }).map(toHex),
    gas: fc.bigInt({ min: 0n, max: 2n ** 40n }),
    value: wei,
  }),
).map(([offered, call]) => ({ ...offered, ...call }));

const sign = (transaction: TransactionToSign): Promise<Uint8Array> =>
  signTransaction(account, transaction, never);

const readOwn = (raw: Uint8Array, chainId: number): TransactionToSign =>
  readOwnTransaction(raw, { chainId, sender: account.address });

Deno.test("signed transaction: the bytes are those that viem's account makes, and are read again", async () => {
  assert.equal(account.address, viems.address.toLowerCase());
  await fc.assert(fc.asyncProperty(transactions, async (wanted) => {
    const raw = await sign(wanted);
    assert.equal(toHex(raw), await viems.signTransaction(wanted));
    assert.deepEqual(readOwn(raw, wanted.chainId), wanted);
  }));
});

Deno.test("signed message: the signature is the one that viem's account makes of the digest", async () => {
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), async (bytes) => {
    const message = signedMessage(bytes);
    assert.equal(toHex(await account.sign(message, never)), await viems.sign({ hash: message.digest }));
  }));
});

const refusal = /none of ours: nothing is signed in its place/;

Deno.test("signed transaction: no single changed, missing or added byte is read as ours", async () => {
  await fc.assert(
    fc.asyncProperty(transactions, fc.nat(), fc.integer({ min: 1, max: 255 }), async (wanted, at, flip) => {
      const bytes = await sign(wanted);
      const index = at % bytes.length;
      const changed = bytes.with(index, (bytes[index] ?? 0) ^ flip);
      for (const variant of [changed, bytes.subarray(0, index), Uint8Array.of(...bytes, flip)]) {
        assert.throws(() => readOwn(variant, wanted.chainId), refusal);
      }
    }),
  );
});

const fields = {
  chainId: 31337,
  nonce: 7,
  to: DEVNET_ACCOUNTS.user.address,
  data: "0x0102",
  gas: 100_000n,
} as const;
const legacy = { ...fields, type: "legacy", gasPrice: 30n, value: 0n } as const;
const typed = { ...fields, type: "eip1559", maxFeePerGas: 30n, maxPriorityFeePerGas: 2n } as const;

const others: readonly (readonly [string, () => Promise<string> | string])[] = [
  ["another account", () => privateKeyToAccount(DEVNET_KEYS.user).signTransaction(typed)],
  ["another chain", () => viems.signTransaction({ ...legacy, chainId: 1 })],
  ["no chain", () => viems.signTransaction({ ...legacy, chainId: undefined })],
  ["no recipient", () => viems.signTransaction({ ...typed, to: undefined })],
  [
    "an access list",
    () => viems.signTransaction({ ...typed, accessList: [{ address: typed.to, storageKeys: [] }] }),
  ],
  ["no signature", () => serializeTransaction(typed)],
  ["the larger s", async () => {
    const { r = "0x", s = "0x", yParity = 0 } = parseTransaction(await viems.signTransaction(typed));
    const high = (secp256k1.Point.CURVE().n - BigInt(s)).toString(16);
    return serializeTransaction({ ...typed, chainId: 1 }, { r, s: `0x${high}`, yParity: 1 - yParity });
  }],
  ["other bytes", () => `0x02${"ff".repeat(40)}`],
  ["nothing", () => "0x"],
];
for (const [name, make] of others) {
  Deno.test(`signed transaction: not ours: ${name}`, async () => {
    const raw = fromHex(await make());
    assert.throws(() => readOwn(raw, 31337), refusal);
  });
}
