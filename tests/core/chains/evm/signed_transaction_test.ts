import assert from "node:assert/strict";
import fc from "fast-check";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { parseTransaction, serializeTransaction } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { keyAccount } from "../../../../src/core/chains/evm/account.ts";
import { judgeMessage, judgeTransaction } from "../../../../src/core/chains/evm/signed_transaction.ts";
import type { PriceFields, TransactionToSign } from "../../../../src/core/chains/evm/signed_transaction.ts";
import { Secret } from "../../../../src/core/config/redact.ts";
import { fromHex, type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { consensusSignerMessage } from "../../../../src/core/ismp/signed_messages.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../../../devnet/evm/accounts.ts";
import { never } from "./chain_fixture.ts";

const account = keyAccount(new Secret(DEVNET_KEYS.relayer));
const { relayer } = DEVNET_ACCOUNTS;
const other = keyAccount(new Secret(DEVNET_KEYS.user));

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

const sign = async (transaction: TransactionToSign): Promise<Hex> =>
  toHex(await account.signTransaction(transaction, never));

Deno.test("signed transaction: what was asked for is accepted, whatever its fields", async () => {
  await fc.assert(fc.asyncProperty(transactions, async (wanted) => {
    const raw = await sign(wanted);
    assert.deepEqual(judgeTransaction(raw, wanted, account.address), {
      kind: "verified",
      bytes: fromHex(raw),
    });
  }));
});

Deno.test("signed transaction: the bytes are those that viem's account makes", async () => {
  const viems = privateKeyToAccount(DEVNET_KEYS.relayer);
  assert.equal(account.address, viems.address.toLowerCase());
  await fc.assert(fc.asyncProperty(transactions, async (wanted) => {
    assert.equal(await sign(wanted), await viems.signTransaction(wanted));
  }));
});

Deno.test("signed message: the signature is the one that viem's account makes of the digest", async () => {
  const viems = privateKeyToAccount(DEVNET_KEYS.relayer);
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), async (bytes) => {
    const message = consensusSignerMessage(bytes);
    const signature = toHex(await account.signMessage(message, never));
    assert.equal(signature, await viems.sign({ hash: message.digest }));
  }));
});

Deno.test("signed transaction: a transaction that differs in any field is refused by the name of a field", async () => {
  await fc.assert(fc.asyncProperty(transactions, transactions, async (wanted, asked) => {
    for (const field of ["chainId", "nonce", "to", "data", "gas", "value"] as const) {
      const signed = { ...wanted, [field]: asked[field] };
      const isSame = serializeTransaction(signed) === serializeTransaction(wanted);
      const judged = judgeTransaction(await sign(signed), wanted, account.address);
      assert.equal(judged.kind === "verified" ? undefined : judged.field, isSame ? undefined : field);
    }
  }));
});

Deno.test("signed transaction: no single changed, missing or added byte is accepted", async () => {
  await fc.assert(
    fc.asyncProperty(transactions, fc.nat(), fc.integer({ min: 1, max: 255 }), async (wanted, at, flip) => {
      const bytes = fromHex(await sign(wanted));
      const index = at % bytes.length;
      const changed = bytes.with(index, (bytes[index] ?? 0) ^ flip);
      const variants = [changed, bytes.subarray(0, index), Uint8Array.of(...bytes, flip)];
      for (const variant of variants) {
        assert.equal(judgeTransaction(toHex(variant), wanted, account.address).kind, "mismatch");
      }
    }),
  );
});

/** A transaction for tables of answers. */
const wanted: TransactionToSign = {
  type: "eip1559",
  chainId: 31337,
  nonce: 7,
  to: "0x627306090abab3a6e1400e9345bc60c78a8bef57",
  data: "0x0102",
  gas: 100_000n,
  value: 0n,
  maxFeePerGas: 30n,
  maxPriorityFeePerGas: 2n,
};

/** Its fields as the library has them. */
const { to, data } = wanted;
const fields = { chainId: 31337, nonce: 7, to, data, gas: 100_000n, value: 0n } as const;
const fees = { maxFeePerGas: 30n, maxPriorityFeePerGas: 2n } as const;

const legacy: TransactionToSign = { ...fields, type: "legacy", gasPrice: 30n };

/** The same signature with the larger s. */
async function withHighS(transaction: TransactionToSign): Promise<Hex> {
  const { r = "0x", s = "0x", yParity = 0 } = parseTransaction(await sign(transaction));
  const high: Hex = `0x${(secp256k1.Point.CURVE().n - BigInt(s)).toString(16)}`;
  return serializeTransaction(transaction, { r, s: high, yParity: 1 - yParity, v: 28n - BigInt(yParity) });
}

const answers: readonly (readonly [string, TransactionToSign, () => Promise<string> | string, RegExp])[] = [
  ["another nonce", wanted, () => sign({ ...wanted, nonce: 8 }), /^nonce is 8 instead of 7$/],
  ["another chain", wanted, () => sign({ ...wanted, chainId: 1 }), /^chainId is 1 instead of 31337$/],
  ["another chain, legacy", legacy, () => sign({ ...legacy, chainId: 1 }), /^chainId is 1 instead of 31337$/],
  ["a value", wanted, () => sign({ ...wanted, value: 5n }), /^value is 5 instead of 0$/],
  ["other data of one length", wanted, () => sign({ ...wanted, data: "0x0103" }), /^data has other bytes$/],
  ["more data", wanted, () => sign({ ...wanted, data: "0x010203" }), /^data has other bytes$/],
  [
    "a higher price",
    legacy,
    () => sign({ ...legacy, type: "legacy", gasPrice: 31n }),
    /^gasPrice is 31 instead of 30$/,
  ],
  [
    "a higher tip",
    wanted,
    () => sign({ ...wanted, maxPriorityFeePerGas: 3n }),
    /^maxPriorityFeePerGas is 3 instead of 2$/,
  ],
  ["another type", wanted, () => sign(legacy), /^type is legacy instead of eip1559$/],
  [
    "a transaction without a recipient",
    wanted,
    () => signed({ ...fields, ...fees, to: undefined, type: "eip1559" }),
    /^to is 0 instead of 0x6273/,
  ],
  [
    "an access list",
    wanted,
    () => signed({ ...fields, ...fees, type: "eip1559", accessList: [{ address: to, storageKeys: [] }] }),
    /^result has other bytes than a transaction with these fields$/,
  ],
  [
    "no replay protection",
    legacy,
    () => signed({ ...fields, type: "legacy", gasPrice: 30n, chainId: undefined }),
    /^chainId is 0 instead of 31337$/,
  ],
  ["no signature", wanted, () => serializeTransaction(wanted), /^result has no signature$/],
  [
    "a signature of another key",
    wanted,
    async () => toHex(await other.signTransaction(wanted, never)),
    new RegExp(`^sender is ${other.address} instead of ${account.address}$`),
  ],
  ["the other signature", wanted, () => withHighS(wanted), /^s is in the upper half/],
  ["the other signature, legacy", legacy, () => withHighS(legacy), /^s is in the upper half/],
  [
    "a signature of zeros",
    wanted,
    () => serializeTransaction(wanted, { r: "0x00", s: "0x00", yParity: 0 }),
    /^(?:signature is not one of this curve|result has no signature)$/,
  ],
  ["no hex", wanted, () => "signed", /^result is not hex$/],
  ["half a byte", wanted, () => "0x02f", /^result is not hex$/],
  ["nothing", wanted, () => "0x", /^result is not hex$/],
  ["other bytes", wanted, () => `0x02${"ff".repeat(40)}`, /^result is no signed transaction$/],
  ["a text of JSON", wanted, () => '{"raw":"0x02"}', /^result is not hex$/],
];

/** What a key signs that asks nothing. */
function signed(transaction: Parameters<typeof serializeTransaction>[0]): Promise<Hex> {
  return relayer.signTransaction(transaction);
}

for (const [name, asked, answer, expected] of answers) {
  Deno.test(`signed transaction: refused: ${name}`, async () => {
    const judged = judgeTransaction(await answer(), asked, account.address);
    assert.ok(judged.kind === "mismatch");
    assert.match(`${judged.field} ${judged.explanation}`, expected);
  });
}

const message = consensusSignerMessage(Uint8Array.of(1, 2, 3));

Deno.test("signed message: the account's signature is accepted, with v 27 or 28 whatever form it has", async () => {
  const own = await account.signMessage(message, never);
  const v = own[64] ?? 0;
  for (const form of [own, own.with(64, v - 27)]) {
    assert.deepEqual(judgeMessage(toHex(form), message, account.address), { kind: "verified", bytes: own });
  }
});

Deno.test("signed message: other keys, other messages, prefixes, high s and garbage are refused", async () => {
  const own = await account.signMessage(message, never);
  const high = secp256k1.Point.CURVE().n - BigInt(toHex(own.subarray(32, 64)));
  const highS = `${toHex(own.subarray(0, 32))}${high.toString(16).padStart(64, "0")}${
    own[64] === 27 ? "1c" : "1b"
  }`;
  const rows: readonly (readonly [string, string, RegExp])[] = [
    ["of another key", toHex(await other.signMessage(message, never)), /^sender is 0x/],
    [
      "of another message",
      toHex(await account.signMessage(consensusSignerMessage(new Uint8Array()), never)),
      /^sender is 0x/,
    ],
    [
      "with a prefix, as eth_sign makes it",
      await relayer.signMessage({ message: { raw: message.preimage } }),
      /^sender is 0x/,
    ],
    ["with the larger s", highS, /^s is in the upper half/],
    ["with another v", toHex(own.with(64, 29)), /^signature is not one of this curve$/],
    ["of zeros", `0x${"00".repeat(65)}`, /^signature is not one of this curve$/],
    ["too short", toHex(own.subarray(0, 64)), /^signature has 64 bytes instead of 65$/],
    ["no hex", "OK", /^signature is not hex$/],
  ];
  for (const [name, answer, expected] of rows) {
    const judged = judgeMessage(answer, message, account.address);
    assert.ok(judged.kind === "mismatch", name);
    assert.match(`${judged.field} ${judged.explanation}`, expected, name);
  }
});
