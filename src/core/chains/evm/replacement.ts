/**
 * Replacements of a pending transaction: the same call for another price, or a zero-value transfer. When and at which
 * price is decided elsewhere.
 */
import { withoutSignature } from "../../evm/fee_oracles.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { AccountNonces, Replacement, ReplacementState } from "../replacement.ts";
import type { SignedSubmission } from "../submission.ts";
import { type EvmContext, EvmPart } from "./evm_context.ts";
import { addCosts } from "./fees.ts";
import { type GasPrice, gasPriceFor, highest, TRANSFER_GAS } from "./gas.ts";
import { addNonces, askNonces } from "./nonces.ts";
import { accountBalance, gasEstimate } from "./queries.ts";
import { askWitnesses, callOne, orFault, RpcBatch } from "./rpc_batch.ts";
import { signFor } from "./sender.ts";
import { priceOf, readOwnTransaction, toPriceFields, type TransactionToSign } from "./signed_transaction.ts";

/** Replacement of our transactions. */
export class EvmReplacement extends EvmPart implements Replacement {
  /** Fetches the market price, nonces and balance, and whether the submission still has an effect. One request. */
  async fetchReplacementState(submission: SignedSubmission, signal: AbortSignal): Promise<ReplacementState> {
    const { endpoints, sender, gasPriceBufferPercent, maximumGasPriceWei } = this.context.at;
    const own = readOwn(this.context, submission);
    const batch = new RpcBatch(endpoints);
    const nonces = addNonces(sender, batch);
    const costs = addCosts(this.context, batch, () => withoutSignature(submission.raw));
    const balance = batch.add(accountBalance(sender));
    const params = batch.add(this.context.hostParams.query);
    await batch.send({ signal });
    const bounded = await this.context.prices.bound(costs(), batch.host, signal);
    this.context.hostParams.note(params());
    return {
      offered: priceOf(own),
      market: gasPriceFor(bounded, gasPriceBufferPercent),
      dataCostWei: bounded.dataCostWei(own.gas),
      maximumWei: maximumGasPriceWei,
      nonces: nonces(),
      balanceWei: balance(),
      // A cancelling transfer goes to ourselves.
      isHandlerReplaced: ![sender, params().handler].includes(own.to),
    };
  }

  /**
   * Fetches the nonces of our account as the further of two endpoints counts them: with those of one that is behind, our
   * own transactions would look foreign.
   * @throws {RpcFault} when none answers.
   */
  async fetchNonces(signal: AbortSignal): Promise<AccountNonces> {
    const { endpoints, sender } = this.context.at;
    const read = (endpoint: RpcEndpointSet): Promise<AccountNonces> => askNonces(sender, endpoint, signal);
    const found = await askWitnesses(endpoints.each(), read);
    const [first, second = first] = found;
    if (first === undefined || second === undefined) return await read(endpoints);
    return { latest: highest(first.latest, second.latest), pending: highest(first.pending, second.pending) };
  }

  /** Signs the same call at the same nonce with another price. Nothing is asked of the chain. */
  async resign(
    submission: SignedSubmission,
    price: GasPrice,
    signal: AbortSignal,
  ): Promise<SignedSubmission> {
    const transaction = { ...readOwn(this.context, submission), ...toPriceFields(price) };
    const { dataCostWei, madeAtHeight: height } = submission;
    return await signFor(this.context, { transaction, dataCostWei, height }, signal);
  }

  /** Signs a zero-value transfer to ourselves at the same nonce. One request, for the gas of a transfer. */
  async cancel(
    submission: SignedSubmission,
    price: GasPrice,
    signal: AbortSignal,
  ): Promise<SignedSubmission> {
    const { endpoints, sender } = this.context.at;
    const own = readOwn(this.context, submission);
    const query = orFault(gasEstimate({ from: sender, to: sender, data: "0x" }));
    const estimate = await callOne(endpoints, query, { signal });
    if (estimate instanceof RpcFault && estimate.reaction === "retry") throw estimate;
    const isPlain = estimate instanceof RpcFault || estimate <= TRANSFER_GAS;
    const gas = isPlain ? TRANSFER_GAS : estimate * 5n / 4n;
    const call = { chainId: own.chainId, nonce: own.nonce, to: sender, data: "0x", gas, value: 0n } as const;
    const transaction = { ...toPriceFields(price), ...call };
    // A transfer has less data.
    const { dataCostWei, madeAtHeight: height } = submission;
    return await signFor(this.context, { transaction, dataCostWei, height }, signal);
  }
}

/** The transaction of a submission, whose bytes may come from a database. @throws {Error} when it is not ours */
function readOwn({ at }: EvmContext, { account, chain, nonce, raw }: SignedSubmission): TransactionToSign {
  if (account !== at.sender || chain !== at.id.stateMachine) {
    throw new Error("The submission is not one of this account on this chain");
  }
  const own = readOwnTransaction(raw, at);
  if (BigInt(own.nonce) === nonce) return own;
  throw new Error("The submission has another nonce than its transaction");
}
