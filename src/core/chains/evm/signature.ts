/** Signatures of our key: transactions, and digests for the hub. No requests. */
import { fromHex, type Hex, toHash256, toHex } from "../../encoding/bytes.ts";
import { keccak256 } from "../../encoding/hash.ts";
import type { Signature } from "../../ismp/fees.ts";
import type { SignedSubmission } from "../submission.ts";
import type { EvmContext } from "./evm_context.ts";
import { type GasPrice, highestPriceWei } from "./gas.ts";

/** Call to sign. */
export interface CallToSign {
  readonly to: Hex;
  readonly data: Hex;
  readonly gasLimit: bigint;
  readonly valueWei: bigint;
}

/** Context in which a transaction is signed. */
export interface SigningContext {
  readonly nonce: bigint;
  readonly price: GasPrice;
  /** Chain height at which the search for its inclusion starts. */
  readonly height: bigint;
}

/** Signs the call as a transaction. */
export async function signCall(
  context: EvmContext,
  call: CallToSign,
  { nonce, price, height }: SigningContext,
): Promise<SignedSubmission> {
  const { account, chainId, id, sender } = context.at;
  const plain = {
    chainId,
    nonce: Number(nonce),
    to: call.to,
    data: call.data,
    gas: call.gasLimit,
    value: call.valueWei,
  };
  const serialized = price.type === "legacy"
    ? await account.signTransaction({ ...plain, type: "legacy", gasPrice: price.gasPriceWei })
    : await account.signTransaction({
      ...plain,
      type: "eip1559",
      maxFeePerGas: price.maxFeeWei,
      maxPriorityFeePerGas: price.maxPriorityFeeWei,
    });
  const raw = fromHex(serialized);
  return {
    hash: toHash256(keccak256(raw)),
    chain: id.stateMachine,
    raw,
    account: sender,
    nonce,
    gasPriceWei: highestPriceWei(price),
    gasLimit: call.gasLimit,
    madeAtHeight: height,
  };
}

/**
 * Signs the digest as it is, without a prefix (EIP-191): 65 bytes r, s, v with v 27 or 28
 * (polytope-labs/hyperbridge: modules/utils/crypto/src/verification.rs).
 */
export async function signDigest(context: EvmContext, digest: Uint8Array): Promise<Signature> {
  if (digest.length !== 32) throw new RangeError(`Expected 32 bytes, found ${digest.length}`);
  const signature = fromHex(await context.at.account.sign({ hash: toHex(digest) }));
  return { tag: "Evm", value: { address: fromHex(context.at.sender), signature } };
}
