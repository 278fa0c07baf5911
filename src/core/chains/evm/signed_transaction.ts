/**
 * Transactions as the bytes that are signed and sent, and those signed elsewhere compared with what was to be signed.
 * Pure. Start reading at {@link judgeTransaction}.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { parseTransaction, serializeTransaction, type TransactionSerializable } from "viem";
import type { Hash256, Hex } from "../../encoding/bytes.ts";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import { recoverEvmAddress, SignatureError, type SignedMessage } from "../../ismp/signed_messages.ts";
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

/** The hash that is signed. */
export function digestOf(transaction: TransactionToSign): Hash256 {
  return toHash256(keccak256(fromHex(serializeTransaction(transaction))));
}

/** The bytes that are sent. @param signature 65 bytes r, s, v with v 27 or 28 */
export function encodeSigned(transaction: TransactionToSign, signature: Uint8Array): Uint8Array {
  const [r, s] = [toHex(signature.subarray(0, 32)), toHex(signature.subarray(32, 64))];
  const v = signature[64] ?? 0;
  return fromHex(serializeTransaction(transaction, { r, s, v: BigInt(v), yParity: v - 27 }));
}

/** What a signer answered instead of what was asked for. Holds public values only. */
export interface SignerMismatch {
  readonly kind: "mismatch";
  /** Name of the field that differs, as JSON-RPC has it; `sender`: another key signed. */
  readonly field: string;
  /** What is wrong with the field: the rest of a sentence that begins with it. */
  readonly explanation: string;
}

/** Judgement of an answer; `verified`: it is what was asked for, as bytes. */
export type SignerJudgement = { readonly kind: "verified"; readonly bytes: Uint8Array } | SignerMismatch;

/** Signatures with a larger s are refused by nodes since Homestead (EIP-2). */
const HIGHEST_S = secp256k1.Point.CURVE().n / 2n;

/**
 * Compares an answer with the transaction that was to be signed, byte for byte, and its signature with the sender. Fields
 * only explain what differs.
 */
export function judgeTransaction(
  answer: string,
  wanted: TransactionToSign,
  sender: Address,
): SignerJudgement {
  const raw = readHex(answer);
  if (raw === undefined) return mismatch("result", "is not hex");
  const parsed = parse(raw);
  if (parsed === undefined) return mismatch("result", "is no signed transaction");
  const { r, s, yParity } = parsed;
  if (r === undefined || s === undefined || yParity === undefined) {
    return mismatch("result", "has no signature");
  }
  const signature = concatBytes(toWord(r), toWord(s), Uint8Array.of(27 + yParity));
  const bytes = encodeSigned(wanted, signature);
  if (toHex(bytes) !== raw) return findDifference(parsed, wanted);
  return judgeSignature(digestOf(wanted), signature, sender) ?? { kind: "verified", bytes };
}

/**
 * Reads a transaction that our account signed for the chain before, e.g. from a database, which others may have changed.
 * @throws {Error} when another account signed it, for another chain, or with anything else in it.
 */
export function readOwnTransaction(
  raw: Uint8Array,
  { chainId, sender }: { readonly chainId: number; readonly sender: Address },
): TransactionToSign {
  const parsed = parse(toHex(raw));
  const price = parsed === undefined ? undefined : readPrice(parsed);
  if (typeof parsed?.to !== "string" || price === undefined) {
    throw new Error("The stored transaction is none of ours: nothing is signed in its place");
  }
  const { nonce = 0, to, data = "0x", gas = 0n, value = 0n } = parsed;
  const own: TransactionToSign = { ...price, chainId, nonce, to: toAddress(to), data, gas, value };
  const judged = judgeTransaction(toHex(raw), own, sender);
  if (judged.kind === "verified") return own;
  const { field, explanation } = judged;
  throw new Error(
    `The stored transaction is none of ours (${field} ${explanation}): nothing is signed in its place`,
  );
}

/** The library leaves out what is zero. */
function readPrice(
  { type, gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: ParsedTransaction,
): PriceFields | undefined {
  if (type === "legacy") return { type, gasPrice };
  return type === "eip1559" ? { type, maxFeePerGas, maxPriorityFeePerGas } : undefined;
}

/** Compares a signature with the message that was to be signed. Its bytes are r, s and v with v 27 or 28. */
export function judgeMessage(answer: string, { digest }: SignedMessage, sender: Address): SignerJudgement {
  const raw = readHex(answer);
  if (raw === undefined) return mismatch("signature", "is not hex");
  const given = fromHex(raw);
  if (given.length !== 65) return mismatch("signature", `has ${given.length} bytes instead of 65`);
  const unusable = judgeSignature(digest, given, sender);
  if (unusable !== undefined) return unusable;
  const v = given[64] ?? 0;
  return { kind: "verified", bytes: concatBytes(given.subarray(0, 64), Uint8Array.of(v < 27 ? v + 27 : v)) };
}

/** What is wrong with a signature of 65 bytes; `undefined`: it is the sender's. */
function judgeSignature(digest: Hash256, signature: Uint8Array, sender: Address): SignerMismatch | undefined {
  if (BigInt(toHex(signature.subarray(32, 64))) > HIGHEST_S) {
    return mismatch("s", "is in the upper half of the curve's order, which nodes refuse (EIP-2)");
  }
  try {
    const found = toHex(recoverEvmAddress(digest, signature));
    return found === sender ? undefined : mismatch("sender", `is ${found} instead of ${sender}`);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return mismatch("signature", "is not one of this curve");
  }
}

type ParsedTransaction = TransactionSerializable & {
  readonly r?: Hex | undefined;
  readonly s?: Hex | undefined;
  readonly yParity?: number | undefined;
};

function parse(raw: Hex): ParsedTransaction | undefined {
  try {
    return parseTransaction(raw);
  } catch {
    // Whatever the library finds wrong with bytes of another program.
    return undefined;
  }
}

/** Names the first field that differs. The library leaves out what is zero or empty. */
function findDifference(found: object, wanted: object): SignerMismatch {
  const show = (value: unknown): string => value === "0x" || !value ? "0" : String(value).toLowerCase();
  const fields = new Map<string, unknown>(Object.entries(found));
  for (const [field, value] of Object.entries(wanted)) {
    const [is, should] = [show(fields.get(field)), show(value)];
    if (is === should) continue;
    return mismatch(field, field === "data" ? "has other bytes" : `is ${is} instead of ${should}`);
  }
  return mismatch("result", "has other bytes than a transaction with these fields");
}

/** Lower case; `undefined`: no whole bytes in hex. */
function readHex(text: string): Hex | undefined {
  return /^0x(?:[0-9a-f]{2})+$/i.test(text) ? toHex(fromHex(text)) : undefined;
}

function toWord(hex: Hex): Uint8Array {
  return fromHex(hex.slice(2).padStart(64, "0"));
}

function mismatch(field: string, explanation: string): SignerMismatch {
  return { kind: "mismatch", field, explanation };
}
