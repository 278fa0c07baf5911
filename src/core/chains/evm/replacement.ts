/**
 * Replacements of a pending transaction: the same call for another price, or a zero-value transfer. When and at which
 * price is decided elsewhere.
 */
import { withoutSignature } from "../../evm/fee_oracles.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type { AccountNonces, Replacement, ReplacementState } from "../replacement.ts";
import type { SignedSubmission } from "../submission.ts";
import { type GasPrice, gasPriceFor, TRANSFER_GAS } from "./gas.ts";
import { addCosts } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import { accountBalance, accountNonce, blockAt, gasEstimate } from "./queries.ts";
import { faultAt, RpcBatch } from "./rpc_batch.ts";
import { signCall } from "./signature.ts";
import { readOwnTransaction, type TransactionToSign } from "./signed_transaction.ts";

/** Replacement of our transactions. */
export class EvmReplacement implements Replacement {
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** Fetches the market price, nonces and balance, and whether the submission still has an effect. One request. */
  async fetchReplacementState(
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<ReplacementState> {
    const { endpoints, sender, gasPriceBufferPercent, maximumGasPriceWei } = this.#context.at;
    const own = readOwn(this.#context, submission);
    const batch = new RpcBatch(endpoints);
    const nonces = addNonces(this.#context, batch);
    const costs = addCosts(this.#context, batch, () => withoutSignature(submission.raw));
    const balance = batch.add(accountBalance(sender));
    const params = batch.add(this.#context.hostParams.query);
    const head = batch.add(blockAt("latest"));
    const check = (place: FaultPlace): RpcFault | undefined =>
      head() === undefined ? faultAt("malformed", place, "no newest block") : undefined;
    await batch.send({ signal, check });
    const baseFeeWei = head()?.baseFeePerGas ?? undefined;
    const bounded = await this.#context.prices.bound({ ...costs(), baseFeeWei }, batch.host, signal);
    this.#context.hostParams.note(params());
    return {
      offered: own.price,
      market: gasPriceFor(bounded, gasPriceBufferPercent),
      dataCostWei: bounded.dataCostWei(own.gasLimit),
      maximumWei: maximumGasPriceWei,
      nonces: nonces(),
      balanceWei: balance(),
      // A cancelling transfer goes to ourselves.
      isHandlerReplaced: ![sender, params().handler].includes(own.to),
    };
  }

  /**
   * Fetches the nonces of our account from the most advanced endpoint: a lagging one would make our own nonces look
   * foreign. One request to each endpoint.
   * @throws {RpcFault} when none answers.
   */
  async fetchNonces(signal: AbortSignal): Promise<AccountNonces> {
    let furthest: AccountNonces | undefined;
    let fault: RpcFault | undefined;
    for (const endpoint of this.#context.at.endpoints.each()) {
      const batch = new RpcBatch(endpoint);
      const nonces = addNonces(this.#context, batch);
      try {
        await batch.send({ signal, timeoutMs: NONCES_TIMEOUT_MS });
      } catch (error) {
        if (!(error instanceof RpcFault)) throw error;
        fault ??= error;
        continue;
      }
      const { latest, pending } = nonces();
      furthest = {
        latest: furthest === undefined || latest > furthest.latest ? latest : furthest.latest,
        pending: furthest === undefined || pending > furthest.pending ? pending : furthest.pending,
      };
    }
    if (furthest !== undefined) return furthest;
    throw fault ?? new Error("A chain without endpoints");
  }

  /** Signs the same call at the same nonce with another price. Nothing is asked of the chain. */
  async resign(
    submission: SignedSubmission,
    price: GasPrice,
    signal: AbortSignal,
  ): Promise<SignedSubmission> {
    const own = readOwn(this.#context, submission);
    if (own.nonce !== ownNonce(submission)) {
      throw new Error("The submission has another nonce than its transaction");
    }
    const { dataCostWei, madeAtHeight: height } = submission;
    return await signCall(this.#context, { ...own, price, dataCostWei, height }, signal);
  }

  /** Signs a zero-value transfer to ourselves at the same nonce. One request, for the gas of a transfer. */
  async cancel(
    submission: SignedSubmission,
    price: GasPrice,
    signal: AbortSignal,
  ): Promise<SignedSubmission> {
    const { endpoints, sender } = this.#context.at;
    readOwn(this.#context, submission);
    const nonce = ownNonce(submission);
    const batch = new RpcBatch(endpoints);
    const estimated = batch.addOptional(gasEstimate({ from: sender, to: sender, data: "0x" }));
    await batch.send({ signal });
    const estimate = estimated();
    if (estimate instanceof RpcFault && estimate.reaction === "retry") throw estimate;
    const isPlain = estimate instanceof RpcFault || estimate <= TRANSFER_GAS;
    const gasLimit = isPlain ? TRANSFER_GAS : estimate * 5n / 4n;
    const call = { to: sender, data: "0x", gasLimit, valueWei: 0n } as const;
    // A transfer has less data.
    const { dataCostWei, madeAtHeight: height } = submission;
    return await signCall(this.#context, { ...call, nonce, price, dataCostWei, height }, signal);
  }
}

/** Timeout per endpoint; a slower one is ignored. */
const NONCES_TIMEOUT_MS = 10_000;

/** Adds the nonces to a batch; a node that does not expose its mempool counts mined transactions. */
function addNonces(context: EvmContext, batch: RpcBatch): () => AccountNonces {
  const { sender } = context.at;
  const latest = batch.add(accountNonce(sender));
  const pending = batch.addOptional(accountNonce(sender, "pending"));
  return () => {
    const found = pending();
    const isUsable = !(found instanceof RpcFault) && found > latest();
    return { latest: latest(), pending: isUsable ? found : latest() };
  };
}

/** The transaction of a submission, whose bytes may come from a database. @throws {Error} when it is not ours */
function readOwn({ at }: EvmContext, { account, chain, raw }: SignedSubmission): TransactionToSign {
  if (account !== at.sender || chain !== at.id.stateMachine) {
    throw new Error("The submission is not one of this account on this chain");
  }
  return readOwnTransaction(raw, at);
}

function ownNonce({ nonce }: SignedSubmission): bigint {
  if (nonce === undefined) throw new Error("The submission has no nonce");
  return nonce;
}
