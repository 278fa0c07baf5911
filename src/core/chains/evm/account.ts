/** Accounts that sign on EVM chains: transactions, and messages for the hub. */
import { signerAddress } from "../../config/secrets.ts";
import type { Secret } from "../../config/redact.ts";
import { fromHex, type Hex } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import type { Signature } from "../../ismp/fees.ts";
import { signDigest, type SignedMessage } from "../../ismp/signed_messages.ts";
import { encodeSigned, messageOf, type TransactionToSign } from "./signed_transaction.ts";

/** An account that signs, with a key of our own or of a remote signer. Signing sends nothing and may be repeated. */
export interface SigningAccount {
  readonly address: Address;
  /** Who holds its key, if not this program: host and port, safe to log. */
  readonly remoteHost?: string;
  /**
   * Signs the digest of a message as it is, without a prefix (EIP-191): 65 bytes r, s, v with v 27 or 28 and the lower s.
   * Transactions are messages, too (see {@link signTransaction}); the hub verifies such signatures (polytope-labs/hyperbridge:
   * modules/utils/crypto/src/verification.rs).
   */
  sign(message: SignedMessage, signal: AbortSignal): Promise<Uint8Array>;
}

/** Account of a chain that is only read: nobody's address, and no signature. */
export const readOnlyAccount: SigningAccount = {
  address: toAddress(`0x${"00".repeat(20)}`),
  sign: () => Promise.reject(new Error("Nothing is signed for a chain that is only a source")),
};

/** Creates the account of a private key. It signs in this process, without requests. @throws {SignatureError} `bad_key` */
export function keyAccount(key: Secret<Hex>): SigningAccount {
  return {
    address: toAddress(signerAddress(key)),
    sign: ({ digest }) => Promise.try(() => signDigest(fromHex(key.reveal()), digest)),
  };
}

/** Signs a message in the form that the hub verifies. */
export async function signMessage(
  account: SigningAccount,
  message: SignedMessage,
  signal: AbortSignal,
): Promise<Signature> {
  const signature = await account.sign(message, signal);
  return { tag: "Evm", value: { address: fromHex(account.address), signature } };
}

/** Signs a transaction; returns its bytes for the broadcast. */
export async function signTransaction(
  account: SigningAccount,
  transaction: TransactionToSign,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return encodeSigned(transaction, await account.sign(messageOf(transaction), signal));
}
