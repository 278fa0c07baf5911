/** Signatures of our account: transactions for its chain, and messages for the hub. */
import { fromHex, type Hex, toHash256 } from "../../encoding/bytes.ts";
import { keccak256 } from "../../encoding/bytes.ts";
import type { Signature } from "../../ismp/fees.ts";
import type { SignedMessage } from "../../ismp/signed_messages.ts";
import type { SignedSubmission } from "../submission.ts";
import type { EvmContext } from "./evm_context.ts";
import { type GasPrice, highestPriceWei } from "./gas.ts";

/** Call to sign, with what makes it a transaction. */
export interface CallToSign {
  readonly to: Hex;
  readonly data: Hex;
  readonly gasLimit: bigint;
  readonly valueWei: bigint;
  readonly nonce: bigint;
  readonly price: GasPrice;
  /** The most that it costs besides gas, wei. */
  readonly dataCostWei?: bigint | undefined;
  /** Chain height at which the search for its inclusion starts. */
  readonly height: bigint;
}

/** Signs the call as a transaction. */
export async function signCall(
  context: EvmContext,
  { height, dataCostWei, ...call }: CallToSign,
  signal: AbortSignal,
): Promise<SignedSubmission> {
  const { account, chainId, id } = context.at;
  const raw = await account.signTransaction({ chainId, ...call }, signal);
  context.prices.noteOffer(call.price);
  return {
    hash: toHash256(keccak256(raw)),
    chain: id.stateMachine,
    raw,
    account: account.address,
    nonce: call.nonce,
    gasPriceWei: highestPriceWei(call.price),
    gasLimit: call.gasLimit,
    dataCostWei,
    madeAtHeight: height,
  };
}

/** Signs a message in the form that the hub verifies. */
export async function signMessage(
  { at: { account } }: EvmContext,
  message: SignedMessage,
  signal: AbortSignal,
): Promise<Signature> {
  const signature = await account.signMessage(message, signal);
  return { tag: "Evm", value: { address: fromHex(account.address), signature } };
}
