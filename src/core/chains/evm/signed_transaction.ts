/** Transactions as the bytes that are signed, sent, and read from the database again. Pure. */
import { recover } from "../../encoding/coded_error.ts";
import { parseTransaction, serializeTransaction } from "viem";
import { concatBytes, fromHex, type Hex, toHex } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import {
  recoverEvmAddress,
  SignatureError,
  type SignedMessage,
  signedMessage,
} from "../../ismp/signed_messages.ts";
import type { GasPrice } from "./gas.ts";

/** Gas price of a transaction, in the form of viem. */
export type PriceFields =
  | { readonly type: "legacy"; readonly gasPrice: bigint }
  | { readonly type: "eip1559"; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** A transaction as it is to be signed, in the form of viem; its access list is empty. */
export type TransactionToSign = PriceFields & {
  readonly chainId: number;
  readonly nonce: number;
  readonly to: Address;
  readonly data: Hex;
  readonly gas: bigint;
  readonly value: bigint;
};

/** A price in the form of viem. */
export function toPriceFields(price: GasPrice): PriceFields {
  if (price.type === "legacy") return { type: "legacy", gasPrice: price.gasPriceWei };
  return { type: "eip1559", maxFeePerGas: price.maxFeeWei, maxPriorityFeePerGas: price.maxPriorityFeeWei };
}

/** The price that a transaction offers. */
export function priceOf(fields: PriceFields): GasPrice {
  if (fields.type === "legacy") return { type: "legacy", gasPriceWei: fields.gasPrice };
  return { type: "eip1559", maxFeeWei: fields.maxFeePerGas, maxPriorityFeeWei: fields.maxPriorityFeePerGas };
}

/** What is signed of a transaction: its bytes without a signature. */
export function messageOf(transaction: TransactionToSign): SignedMessage {
  return signedMessage(fromHex(serializeTransaction(transaction)));
}

/** The bytes that are sent. @param signature 65 bytes r, s, v with v 27 or 28 */
export function encodeSigned(transaction: TransactionToSign, signature: Uint8Array): Uint8Array {
  const [r, s] = [toHex(signature.subarray(0, 32)), toHex(signature.subarray(32, 64))];
  const v = signature[64] ?? 0;
  return fromHex(serializeTransaction(transaction, { r, s, v: BigInt(v), yParity: v - 27 }));
}

/**
 * Reads a transaction that our account signed for the chain before, e.g. from a database, which others may have changed.
 * @throws {Error} when another account signed it, for another chain, or with anything else in it.
 */
export function readOwnTransaction(
  raw: Uint8Array,
  { chainId, sender }: { readonly chainId: number; readonly sender: Address },
): TransactionToSign {
  const own = parseSigned(raw, chainId);
  if (own !== undefined && isOwn(own, raw, sender)) return own.transaction;
  throw new Error("The stored transaction is none of ours: nothing is signed in its place");
}

/** A transaction with its signature of 65 bytes. */
interface SignedTransaction {
  readonly transaction: TransactionToSign;
  readonly signature: Uint8Array;
}

/** The fields of signed bytes that transactions of ours have; the library leaves out what is zero. */
function parseSigned(raw: Uint8Array, chainId: number): SignedTransaction | undefined {
  try {
    const { r = "0x", s = "0x", yParity = 0, nonce = 0, to, data = "0x", gas = 0n, value = 0n, ...price } =
      parseTransaction(toHex(raw));
    if (to === undefined || to === null) return undefined;
    const call = { chainId, nonce, to: toAddress(to), data, gas, value };
    const signature = concatBytes(toWord(r), toWord(s), Uint8Array.of(27 + yParity));
    return { transaction: { ...readPrice(price), ...call }, signature };
  } catch {
    return undefined; // whatever the library finds wrong with bytes of another program
  }
}

function readPrice(
  { gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, type }: {
    readonly type?: string | undefined;
    readonly gasPrice?: bigint | undefined;
    readonly maxFeePerGas?: bigint | undefined;
    readonly maxPriorityFeePerGas?: bigint | undefined;
  },
): PriceFields {
  return type === "legacy" ? { type, gasPrice } : { type: "eip1559", maxFeePerGas, maxPriorityFeePerGas };
}

/** True when the bytes are exactly this transaction, signed by `sender`. */
function isOwn({ transaction, signature }: SignedTransaction, raw: Uint8Array, sender: Address): boolean {
  if (toHex(encodeSigned(transaction, signature)) !== toHex(raw)) return false;
  const recoverAddress = (): Uint8Array => recoverEvmAddress(messageOf(transaction).digest, signature);
  const found = recover(SignatureError, recoverAddress, () => undefined);
  return found !== undefined && toHex(found) === sender;
}

function toWord(hex: Hex): Uint8Array {
  return fromHex(hex.slice(2).padStart(64, "0"));
}
