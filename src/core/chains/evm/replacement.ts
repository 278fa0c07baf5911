/**
 * Replacements of a pending transaction: the same call for another price, or a zero-value transfer. When and at which
 * price is decided elsewhere.
 */
import { parseTransaction } from "viem";
import { toHex } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { AccountNonces, Replacement, ReplacementState } from "../replacement.ts";
import type { SignedSubmission } from "../submission.ts";
import { addCosts } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import { type GasPrice, gasPriceFor } from "./gas.ts";
import { accountBalance, accountNonce, blockAt, gasEstimate } from "./queries.ts";
import { faultAt, RpcBatch } from "./rpc_batch.ts";
import { signCall } from "./signature.ts";

/** Gas of a plain transfer; chains that also charge for layer 1 need more. */
const TRANSFER_GAS = 21_000n;

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
    const batch = new RpcBatch(endpoints);
    const nonces = addNonces(this.#context, batch);
    const costs = addCosts(this.#context, batch);
    const balance = batch.add(accountBalance(sender));
    const params = batch.add(this.#context.hostParams.query);
    const head = batch.add(blockAt("latest"));
    const check = (place: FaultPlace): RpcFault | undefined =>
      head() === undefined ? faultAt("malformed", place, "no newest block") : undefined;
    await batch.send({ signal, check });
    const baseFeeWei = head()?.baseFeePerGas ?? undefined;
    const bounded = await this.#context.prices.bound(costs(), batch.host, signal);
    this.#context.hostParams.note(params());
    return {
      offered: offeredPrice(submission),
      market: gasPriceFor({ ...bounded, baseFeeWei }, gasPriceBufferPercent),
      maximumWei: maximumGasPriceWei,
      nonces: nonces(),
      balanceWei: balance(),
      isHandlerReplaced: !goesTo(submission, [sender, params().handler]),
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
    const nonce = ownNonce(this.#context, submission);
    const { to, data, gas, value } = parseTransaction(toHex(submission.raw));
    if (to === undefined || to === null || gas === undefined) throw new Error("The submission calls nothing");
    const call = { to: toAddress(to), data: data ?? "0x", gasLimit: gas, valueWei: value ?? 0n } as const;
    const height = submission.madeAtHeight;
    return await signCall(this.#context, { ...call, nonce, price, height }, signal);
  }

  /** Signs a zero-value transfer to ourselves at the same nonce. One request, for the gas of a transfer. */
  async cancel(
    submission: SignedSubmission,
    price: GasPrice,
    signal: AbortSignal,
  ): Promise<SignedSubmission> {
    const { endpoints, sender } = this.#context.at;
    const nonce = ownNonce(this.#context, submission);
    const batch = new RpcBatch(endpoints);
    const estimated = batch.addOptional(gasEstimate({ from: sender, to: sender, data: "0x" }));
    await batch.send({ signal });
    const estimate = estimated();
    if (estimate instanceof RpcFault && estimate.reaction === "retry") throw estimate;
    const isPlain = estimate instanceof RpcFault || estimate <= TRANSFER_GAS;
    const gasLimit = isPlain ? TRANSFER_GAS : estimate * 5n / 4n;
    const call = { to: sender, data: "0x", gasLimit, valueWei: 0n } as const;
    const height = submission.madeAtHeight;
    return await signCall(this.#context, { ...call, nonce, price, height }, signal);
  }
}

/** True when a submission calls one of these addresses; a cancelling transfer goes to ourselves. */
function goesTo({ raw }: SignedSubmission, addresses: readonly Address[]): boolean {
  const { to } = parseTransaction(toHex(raw));
  return to !== undefined && to !== null && addresses.includes(toAddress(to));
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

/** Gas price offered by a signed transaction. */
function offeredPrice(submission: SignedSubmission): GasPrice {
  const signed = parseTransaction(toHex(submission.raw));
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = signed;
  if (signed.type === "legacy" && gasPrice !== undefined) return { type: "legacy", gasPriceWei: gasPrice };
  if (signed.type === "eip1559" && maxFeePerGas !== undefined) {
    return { type: "eip1559", maxFeeWei: maxFeePerGas, maxPriorityFeeWei: maxPriorityFeePerGas ?? 0n };
  }
  throw new Error(`A submission of type ${signed.type} is not ours`);
}

function ownNonce(context: EvmContext, { account, nonce, chain }: SignedSubmission): bigint {
  if (account !== context.at.sender || chain !== context.at.id.stateMachine || nonce === undefined) {
    throw new Error("The submission is not one of this account on this chain");
  }
  return nonce;
}
