/**
 * Transactions as the bytes that are signed and sent. Pure. Source: EIP-155 (legacy transactions), EIP-2718 and EIP-1559
 * (type 2).
 */
import { RLP } from "@ethereumjs/rlp";
import { concatBytes, fromHex, type Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import type { GasPrice } from "./gas.ts";

/** A transaction as it is to be signed; its access list is empty. */
export interface TransactionToSign {
  readonly chainId: number;
  readonly nonce: bigint;
  readonly to: Address;
  readonly data: Hex;
  readonly gasLimit: bigint;
  readonly valueWei: bigint;
  /** Also decides about the type of the transaction. */
  readonly price: GasPrice;
}

const TYPE_1559 = Uint8Array.of(2);

/** The bytes whose keccak256 is signed. */
export function encodeUnsigned(transaction: TransactionToSign): Uint8Array {
  const chainId = BigInt(transaction.chainId);
  return encode(transaction, transaction.price.type === "legacy" ? [chainId, 0n, 0n] : []);
}

/** The bytes that are sent. @param signature 65 bytes r, s, v with v 27 or 28 */
export function encodeSigned(transaction: TransactionToSign, signature: Uint8Array): Uint8Array {
  const r = toInteger(signature.subarray(0, 32));
  const s = toInteger(signature.subarray(32, 64));
  const yParity = BigInt((signature[64] ?? 0) - 27);
  const v = transaction.price.type === "legacy" ? BigInt(transaction.chainId) * 2n + 35n + yParity : yParity;
  return encode(transaction, [v, r, s]);
}

function encode(
  { chainId, nonce, to, data, gasLimit, valueWei, price }: TransactionToSign,
  end: readonly bigint[],
): Uint8Array {
  const call = [gasLimit, fromHex(to), valueWei, fromHex(data)];
  if (price.type === "legacy") return RLP.encode([nonce, price.gasPriceWei, ...call, ...end]);
  const accessList: never[] = [];
  const head = [BigInt(chainId), nonce, price.maxPriorityFeeWei, price.maxFeeWei];
  return concatBytes(TYPE_1559, RLP.encode([...head, ...call, accessList, ...end]));
}

function toInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytes.toHex()}`);
}
