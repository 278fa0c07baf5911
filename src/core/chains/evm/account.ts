/** Accounts that sign on EVM chains: transactions, and messages for the hub. */
import { signerAddress } from "../../config/secrets.ts";
import type { Secret } from "../../config/redact.ts";
import { fromHex, type Hex } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import type { Signature } from "../../ismp/fees.ts";
import { signDigest, type SignedMessage } from "../../ismp/signed_messages.ts";
import { digestOf, encodeSigned, type TransactionToSign } from "./signed_transaction.ts";

/** Who holds the key of an account, if not this program. */
export interface RemoteKeyHolder {
  /** Host and port; safe to log. */
  readonly host: string;
  /** Lists the addresses whose keys it holds. */
  fetchAddresses(signal: AbortSignal): Promise<readonly string[]>;
}

/** An account that signs, with a key of our own or of a remote signer. Signing sends nothing and may be repeated. */
export interface SigningAccount {
  readonly address: Address;
  /** Who holds its key; absent: this program. */
  readonly remote?: RemoteKeyHolder;
  /** Signs a transaction and returns its bytes for the broadcast. */
  signTransaction(transaction: TransactionToSign, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Signs the digest of a message as it is, without a prefix (EIP-191): 65 bytes r, s, v with v 27 or 28, as the hub
   * verifies them (polytope-labs/hyperbridge: modules/utils/crypto/src/verification.rs).
   */
  signMessage(message: SignedMessage, signal: AbortSignal): Promise<Uint8Array>;
}

/** Account of a chain that is only read: nobody's address, and no signature. */
export const readOnlyAccount: SigningAccount = {
  address: toAddress(`0x${"00".repeat(20)}`),
  signTransaction: () => Promise.reject(new Error("Nothing is signed for a chain that is only a source")),
  signMessage: () => Promise.reject(new Error("Nothing is signed for a chain that is only a source")),
};

/** Creates the account of a private key. It signs in this process, without requests. @throws {SignatureError} `bad_key` */
export function keyAccount(key: Secret<Hex>): SigningAccount {
  const secret = (): Uint8Array => fromHex(key.reveal());
  const sign = (transaction: TransactionToSign): Uint8Array =>
    encodeSigned(transaction, signDigest(secret(), digestOf(transaction)));
  return {
    address: toAddress(signerAddress(key)),
    signTransaction: (transaction) => Promise.try(sign, transaction),
    signMessage: ({ digest }) => Promise.try(() => signDigest(secret(), digest)),
  };
}

/** Signs a message in the form that the hub verifies. */
export async function signMessage(
  account: SigningAccount,
  message: SignedMessage,
  signal: AbortSignal,
): Promise<Signature> {
  const signature = await account.signMessage(message, signal);
  return { tag: "Evm", value: { address: fromHex(account.address), signature } };
}
