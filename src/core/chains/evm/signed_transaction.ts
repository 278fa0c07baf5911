/** Transactions signed elsewhere, compared with what was to be signed. Pure. Start reading at {@link judgeTransaction}. */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { parseTransaction } from "viem";
import {
  concatBytes,
  equalBytes,
  fromHex,
  type Hash256,
  type Hex,
  toHash256,
  toHex,
} from "../../encoding/bytes.ts";
import { keccak256 } from "../../encoding/hash.ts";
import type { Address } from "../../evm/address.ts";
import { recoverEvmAddress, SignatureError, type SignedMessage } from "../../ismp/signed_messages.ts";
import { encodeSigned, encodeUnsigned, type TransactionToSign } from "./encoded_transaction.ts";

/** What a signer answered instead of what was asked for. Holds public values only. */
export interface SignerMismatch {
  readonly kind: "mismatch";
  /** Name of the field that differs, as JSON-RPC has it; `sender`: another key signed. */
  readonly field: string;
  /** What is wrong with the field: the rest of a sentence that begins with it. */
  readonly explanation: string;
}

/** An answer that is what was asked for, as bytes. */
export interface VerifiedAnswer {
  readonly kind: "verified";
  readonly bytes: Uint8Array;
}

/** Judgement of an answer. */
export type SignerJudgement = VerifiedAnswer | SignerMismatch;

/** Signatures with a larger s are refused by nodes since Homestead (EIP-2). */
const HIGHEST_S = secp256k1.Point.CURVE().n / 2n;

/**
 * Compares an answer with the transaction that was to be signed: every field, the signature and its sender, and at last
 * the bytes as a whole, so that nothing else is in them.
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
  const differing = findDifference(parsed, wanted);
  if (differing !== undefined) return differing;
  const { r, s, yParity } = parsed;
  if (r === undefined || s === undefined || yParity === undefined) {
    return mismatch("result", "has no signature");
  }
  const signature = concatBytes(toWord(r), toWord(s), Uint8Array.of(27 + yParity));
  const digest = toHash256(keccak256(encodeUnsigned(wanted)));
  const unusable = judgeSignature(digest, signature, sender);
  if (unusable !== undefined) return unusable;
  const bytes = fromHex(raw);
  return equalBytes(encodeSigned(wanted, signature), bytes)
    ? { kind: "verified", bytes }
    : mismatch("result", "has other bytes than a transaction with these fields");
}

/** Compares a signature with the message that was to be signed. Its bytes are r, s and v with v 27 or 28. */
export function judgeMessage(
  answer: string,
  { digest }: SignedMessage,
  sender: Address,
): SignerJudgement {
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
function judgeSignature(
  digest: Hash256,
  signature: Uint8Array,
  sender: Address,
): SignerMismatch | undefined {
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

/** Fields of a parsed transaction that are compared; `undefined`: it has none such. */
interface ParsedTransaction {
  readonly type?: string | undefined;
  readonly chainId?: number | undefined;
  readonly nonce?: number | undefined;
  readonly to?: Hex | null | undefined;
  readonly value?: bigint | undefined;
  readonly data?: Hex | undefined;
  readonly gas?: bigint | undefined;
  readonly gasPrice?: bigint | undefined;
  readonly maxFeePerGas?: bigint | undefined;
  readonly maxPriorityFeePerGas?: bigint | undefined;
  readonly accessList?: readonly unknown[] | undefined;
  readonly r?: Hex | undefined;
  readonly s?: Hex | undefined;
  readonly yParity?: number | undefined;
}

function parse(raw: Hex): ParsedTransaction | undefined {
  try {
    return parseTransaction(raw);
  } catch {
    // Whatever the library finds wrong with bytes of another program.
    return undefined;
  }
}

/** Finds the first field that differs, those first that explain others. */
function findDifference(found: ParsedTransaction, wanted: TransactionToSign): SignerMismatch | undefined {
  const { price } = wanted;
  const numbers: readonly (readonly [string, unknown, unknown])[] = [
    ["type", found.type, price.type],
    ["chainId", found.chainId, wanted.chainId],
    ["nonce", found.nonce ?? 0, Number(wanted.nonce)],
    ["to", found.to?.toLowerCase(), wanted.to],
    ["value", found.value ?? 0n, wanted.valueWei],
    ["gas", found.gas ?? 0n, wanted.gasLimit],
    ["gasPrice", found.gasPrice, price.type === "legacy" ? price.gasPriceWei : undefined],
    ["maxFeePerGas", found.maxFeePerGas, price.type === "legacy" ? undefined : price.maxFeeWei],
    [
      "maxPriorityFeePerGas",
      found.maxPriorityFeePerGas,
      price.type === "legacy" ? undefined : price.maxPriorityFeeWei,
    ],
  ];
  for (const [field, is, should] of numbers) {
    // The library leaves out what is zero.
    if (is === should || (is === undefined && should === 0n)) continue;
    return mismatch(field, `is ${is ?? "missing"} instead of ${should}`);
  }
  if ((found.data ?? "0x") !== wanted.data) {
    const [is, should] = [found.data ?? "0x", wanted.data].map((data) => data.length / 2 - 1);
    return mismatch("data", is === should ? "has other bytes" : `has ${is} bytes instead of ${should}`);
  }
  const entries = found.accessList?.length ?? 0;
  return entries === 0 ? undefined : mismatch("accessList", `has ${entries} entries instead of none`);
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
