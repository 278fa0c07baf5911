/**
 * Signs a delivery after an accepted simulation: everything that may have changed is read again first. Broadcasts what
 * was signed.
 */
import { unsignedCall } from "../../evm/fee_oracles.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type {
  BroadcastResult,
  Delivery,
  Refusal,
  Sender,
  SignedSubmission,
  SigningInput,
  SigningResult,
} from "../submission.ts";
import { collectMessages, encodeDelivery } from "./calldata.ts";
import { capAfterDataCost, capPrice, currentPriceWei, gasPriceFor, highestPriceWei } from "./gas.ts";
import { addCosts } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import { addSigningFacts, findContested, findFreshFacts, type ReadFacts } from "./signing_facts.ts";
import { accountBalance, blockAt, rawTransaction } from "./queries.ts";
import { callOne, faultAt, RpcBatch } from "./rpc_batch.ts";
import { signCall } from "./signature.ts";
import { faultToRefusal } from "./refusals.ts";

/** Signing and broadcasting from our account. */
export class EvmSender implements Sender {
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /**
   * Reads receipts, the host's view of the hub, handler, nonce, price and balance in one request, unless the simulation
   * has just done so, and signs. Nothing is sent. The same request checks whether a competitor's delivery of one of the
   * messages is in the node's mempool; if so, a second one finds out which.
   */
  async sign(
    delivery: Delivery,
    { simulation, nonceAtLeast, maxGasPriceWei }: SigningInput,
    signal: AbortSignal,
  ): Promise<SigningResult> {
    const { gasPriceBufferPercent, maximumGasPriceWei, sender } = this.#context.at;
    const { gasLimit } = simulation;
    const facts = findFreshFacts(this.#context.at.clock, delivery, simulation) ??
      await this.#readFacts(delivery, gasLimit, signal);
    const { call, receipts, knownFrom, params, block, balanceWei } = facts;
    if (receipts.some((relayer) => relayer !== undefined)) return { kind: "overtaken", receipts };
    if (knownFrom !== undefined) return { kind: "proofs_known", from: knownFrom };
    if (this.#context.hostParams.note(params) || params.handler !== call.handler) {
      return refused({ code: "not_ready", detail: "the host has another handler since the simulation" });
    }
    if (facts.isContested) {
      const contested = await findContested(this.#context, call.messages, signal);
      if (contested.length > 0) {
        return refused({
          code: "duplicate",
          detail: "a delivery of it is pending in the mempool",
          messages: contested,
        });
      }
    }
    const { gasPriceWei, lowestTipWei, dataCostWei } = facts.costs;
    const market = { gasPriceWei, lowestTipWei, baseFeeWei: block.baseFeePerGas ?? undefined };
    const nowWei = currentPriceWei(market);
    const moreWei = dataCostWei(simulation.gasUsed) - simulation.dataCostWei;
    const paidWei = maxGasPriceWei && capAfterDataCost(maxGasPriceWei, moreWei, simulation.gasUsed);
    if (paidWei !== undefined && nowWei > paidWei) {
      const besideData = paidWei === maxGasPriceWei ? "" : " beside its data, which costs more than before";
      const detail = `gas costs ${nowWei} wei now, ${paidWei} wei may be paid${besideData}`;
      return refused({ code: "too_expensive", detail });
    }
    if (maximumGasPriceWei !== undefined && nowWei > maximumGasPriceWei) {
      const detail = `gas costs ${nowWei} wei now, above maximum_gas_price = ${maximumGasPriceWei} wei`;
      return refused({ code: "price_limit", detail });
    }
    const price = [paidWei, maximumGasPriceWei].reduce(
      (offered, capWei) => capWei === undefined ? offered : capPrice(offered, capWei),
      gasPriceFor(market, gasPriceBufferPercent),
    );
    const neededWei = gasLimit * highestPriceWei(price) + dataCostWei(gasLimit);
    if (balanceWei < neededWei) {
      const missingWei = neededWei - balanceWei;
      const detail =
        `${sender} has ${balanceWei} wei and may need ${neededWei} wei: ${missingWei} wei are missing`;
      return refused({ code: "insufficient_funds", detail });
    }
    const atLeast = nonceAtLeast ?? 0n;
    const transaction = {
      to: params.handler,
      data: call.data,
      gasLimit,
      valueWei: 0n,
      nonce: facts.nonce > atLeast ? facts.nonce : atLeast,
      price,
      dataCostWei: dataCostWei(gasLimit),
      height: block.number,
    };
    return { kind: "signed", submission: await signCall(this.#context, transaction, signal) };
  }

  /** Reads what a signature needs. One request. */
  async #readFacts(delivery: Delivery, gasLimit: bigint, signal: AbortSignal): Promise<ReadFacts> {
    const { chainId, endpoints, host, sender } = this.#context.at;
    const { handler } = await this.#context.hostParams.read(signal);
    const data = encodeDelivery(delivery, host);
    const call = { delivery, messages: collectMessages(delivery), handler, data, gasLimit };
    const batch = new RpcBatch(endpoints);
    const costs = addCosts(this.#context, batch, () => unsignedCall({ chainId, to: handler, data }));
    const market = { costs, balance: batch.add(accountBalance(sender)), head: batch.add(blockAt("latest")) };
    const facts = addSigningFacts(this.#context, batch, { call, market });
    const check = (place: FaultPlace): RpcFault | undefined =>
      market.head() === undefined ? faultAt("malformed", place, "no newest block") : undefined;
    await batch.send({ signal, check });
    const read = facts();
    const named = { ...read.costs, baseFeeWei: read.block.baseFeePerGas ?? undefined };
    return { ...read, costs: await this.#context.prices.bound(named, batch.host, signal) };
  }

  /** Broadcasts the bytes. One request. */
  async broadcast(
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<BroadcastResult> {
    try {
      await callOne(this.#context.at.endpoints, rawTransaction(submission.raw), { signal });
      return { kind: "sent" };
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      return broadcastResultOf(fault);
    }
  }
}

function broadcastResultOf(fault: RpcFault): BroadcastResult {
  const detail = fault.detail ?? fault.code;
  switch (fault.code) {
    case "already_known":
      return { kind: "alreadyKnown" };
    case "nonce_too_low":
      return { kind: "nonceUsed" };
    case "underpriced":
      return { kind: "underpriced" };
    case "insufficient_funds":
      return { kind: "refused", refusal: { code: "insufficient_funds", detail } };
    case "too_large":
      return { kind: "refused", refusal: { code: "too_large", detail } };
    case "reverted":
      return { kind: "refused", refusal: faultToRefusal(fault, 1) ?? { code: "unspecified", detail } };
    case "nonce_too_high":
    case "refused":
      return { kind: "refused", refusal: { code: "unspecified", detail } };
    default:
      // Nothing is known about the bytes: they may have arrived.
      throw fault;
  }
}

function refused(refusal: Refusal): SigningResult {
  return { kind: "refused", refusal };
}
