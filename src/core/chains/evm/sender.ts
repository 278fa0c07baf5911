/**
 * Signs a delivery after an accepted simulation: everything that may have changed is read again first. Broadcasts what
 * was signed.
 */
import { keccak256, toHash256 } from "../../encoding/bytes.ts";
import { onFault, RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { linkedAbort } from "../../runtime/linked_abort.ts";
import {
  type BroadcastResult,
  collectMessages,
  type Delivery,
  type Refusal,
  type RefusalCode,
  type Sender,
  type SignedSubmission,
  type SigningInput,
  type SigningResult,
} from "../submission.ts";
import { signTransaction } from "./account.ts";
import { encodeDelivery } from "./calldata.ts";
import { type EvmContext, EvmPart } from "./evm_context.ts";
import {
  capAfterDataCost,
  capPrice,
  currentPriceWei,
  type GasPrice,
  gasPriceFor,
  highestPriceWei,
} from "./gas.ts";
import { accountBalance, blockNumber, rawTransaction } from "./queries.ts";
import { poolRefusal } from "./refusals.ts";
import { askWitnesses, callAll, callOne, WITNESS_TIMEOUT_MS, WITNESSES } from "./rpc_batch.ts";
import { priceOf, toPriceFields, type TransactionToSign } from "./signed_transaction.ts";
import { type DeliveryCall, findContested, type ReadFacts, readSigningFacts } from "./signing_facts.ts";

/** Time that other endpoints have for bytes that one has taken, ms. */
const LATE_AFTER_MS = 2_000;

/** Signing and broadcasting from our account. */
export class EvmSender extends EvmPart implements Sender {
  /**
   * Reads receipts, the host's view of the hub, handler, nonce, price and balance in one request, and signs. Nothing is
   * sent. The same request checks whether a competitor's delivery of one of the messages is in the node's mempool; if so,
   * a second one finds out which. One more where the nonce is not the one that the journal expects.
   */
  async sign(delivery: Delivery, input: SigningInput, signal: AbortSignal): Promise<SigningResult> {
    const { handler: to } = await this.context.hostParams.read(signal);
    const call = { to, data: encodeDelivery(delivery, this.context.at.host), gas: input.simulation.gasLimit };
    const planned = { delivery, messages: collectMessages(delivery), call };
    const facts = await readSigningFacts(this.context, planned, signal);
    return await signWith(this.context, { planned, facts, input }, signal);
  }

  /**
   * Broadcasts the bytes at two endpoints at once, and at further ones until one takes them. What pools refuse counts
   * only when all of those refuse it.
   */
  async broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    const endpoints = this.context.at.endpoints.each();
    const answers = await this.#submitToAll(endpoints.slice(0, WITNESSES), submission, signal);
    for (const endpoint of endpoints.slice(WITNESSES)) {
      if (answers.some(isTaken)) break;
      answers.push(await submitTo(endpoint, submission, signal));
    }
    const taken = answers.find((answer) => answer === "sent") ?? answers.find(isTaken);
    if (taken !== undefined) return { kind: taken };
    const faults = answers.filter((answer) => answer instanceof RpcFault);
    const verdict = faults.find((fault) => verdictOf(fault) !== undefined);
    const result = verdict && verdictOf(verdict);
    const isDoubtful = result?.kind === "refused" && result.refusal.code === "insufficient_funds" &&
      await this.#hasEnough(submission, signal);
    if (result !== undefined && !isDoubtful) return result;
    // Nothing is known about the bytes: they may have arrived.
    throw verdict ?? faults[0] ?? new Error("A chain without endpoints");
  }

  /** Broadcasts at all of them at once; those that are slow when one has taken the bytes are not waited for. */
  async #submitToAll(
    endpoints: readonly RpcEndpointSet[],
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<Answer[]> {
    const answers: Answer[] = [];
    const stop = linkedAbort(signal);
    const taken = Promise.withResolvers<void>();
    const all = Promise.all(endpoints.map(async (endpoint) => {
      const answer = await submitTo(endpoint, submission, stop.signal);
      answers.push(answer);
      if (isTaken(answer)) taken.resolve();
    }));
    const { clock } = this.context.at;
    try {
      await Promise.race([all, taken.promise.then(() => clock.sleep(LATE_AFTER_MS, stop.signal))]);
      return answers;
    } finally {
      stop.abort();
      stop.unlink();
    }
  }

  /** True when our account can pay for the gas at the further of two endpoints: a pool that is behind may not know. */
  async #hasEnough({ gasLimit, gasPriceWei }: SignedSubmission, signal: AbortSignal): Promise<boolean> {
    const found = await askWitnesses(this.context.at.endpoints.each(), async (endpoint) => {
      const queries = [blockNumber, accountBalance(this.context.at.sender)] as const;
      const [height, balanceWei] = await callAll(endpoint, queries, {
        signal,
        timeoutMs: WITNESS_TIMEOUT_MS,
      });
      return { height, balanceWei };
    });
    const [furthest] = found.toSorted((a, b) => a.height < b.height ? 1 : -1);
    return furthest !== undefined && furthest.balanceWei >= (gasLimit ?? 0n) * (gasPriceWei ?? 0n);
  }
}

/** What an endpoint makes of bytes. */
type Answer = "sent" | "alreadyKnown" | RpcFault;

function isTaken(answer: Answer): answer is "sent" | "alreadyKnown" {
  return !(answer instanceof RpcFault);
}

async function submitTo(
  endpoint: RpcEndpointSet,
  { raw }: SignedSubmission,
  signal: AbortSignal,
): Promise<Answer> {
  return await callOne(endpoint, rawTransaction(raw), { signal, timeoutMs: WITNESS_TIMEOUT_MS })
    .then(() => "sent", onFault((fault) => fault.code === "already_known" ? "alreadyKnown" : fault));
}

/** What a pool says about bytes; `undefined`: it says nothing about them. */
function verdictOf(fault: RpcFault): BroadcastResult | undefined {
  switch (fault.code) {
    case "nonce_too_low":
      return { kind: "nonceUsed" };
    case "underpriced":
      return { kind: "underpriced" };
    default: {
      const refusal = poolRefusal(fault);
      return refusal && { kind: "refused", refusal };
    }
  }
}

/** A delivery as it is to be signed, and everything that was read about it. */
interface SigningRound {
  readonly planned: DeliveryCall;
  readonly facts: ReadFacts;
  readonly input: SigningInput;
}

/** Signs a delivery about which everything was read. */
async function signWith(
  context: EvmContext,
  { planned, facts, input }: SigningRound,
  signal: AbortSignal,
): Promise<SigningResult> {
  const { messages: all, call } = planned;
  const { receipts, knownFrom, params, costs } = facts;
  if (receipts.some((relayer) => relayer !== undefined)) return { kind: "overtaken", receipts };
  if (knownFrom !== undefined) return { kind: "proofs_known", from: knownFrom };
  if (context.hostParams.note(params) || params.handler !== call.to) {
    return refused("not_ready", "the host has another handler since the simulation");
  }
  const messages = facts.isContested ? await findContested(context, all, signal) : [];
  if (messages.length > 0) {
    const detail = "a delivery of it is pending in the mempool";
    return { kind: "refused", refusal: { code: "duplicate", detail, messages } };
  }
  const price = findPrice(context, { planned, facts, input });
  if (price.type === "none") return refused(price.code, price.detail);
  const nonce = await context.nonces.choose(facts, input, signal);
  if (typeof nonce !== "bigint") {
    const detail = `endpoints and the database disagree about the next nonce: ${nonce.named.join(" or ")}`;
    return refused("not_ready", detail);
  }
  const transaction = {
    ...toPriceFields(price),
    chainId: context.at.chainId,
    nonce: Number(nonce),
    to: params.handler,
    data: call.data,
    gas: call.gas,
    value: 0n,
  };
  return {
    kind: "signed",
    submission: await signFor(
      context,
      { transaction, dataCostWei: costs.dataCostWei(call.gas), height: costs.block.number },
      signal,
    ),
  };
}

/** A transaction to sign, with what the journal keeps of it. */
interface SigningWork {
  readonly transaction: TransactionToSign;
  /** The most that it costs besides gas, wei. */
  readonly dataCostWei: bigint | undefined;
  /** Where the search for its inclusion starts. */
  readonly height: bigint;
}

/** Signs a transaction for the journal. */
export async function signFor(
  { at: { account, id }, prices }: EvmContext,
  { transaction, dataCostWei, height }: SigningWork,
  signal: AbortSignal,
): Promise<SignedSubmission> {
  const raw = await signTransaction(account, transaction, signal);
  const price = priceOf(transaction);
  prices.noteOffer(price);
  return {
    hash: toHash256(keccak256(raw)),
    chain: id.stateMachine,
    raw,
    account: account.address,
    nonce: BigInt(transaction.nonce),
    gasPriceWei: highestPriceWei(price),
    gasLimit: transaction.gas,
    dataCostWei,
    madeAtHeight: height,
  };
}

/** The price to offer, or why there is none. */
function findPrice(
  { at: { gasPriceBufferPercent, maximumGasPriceWei, sender } }: EvmContext,
  { planned: { call: { gas } }, facts: { costs, balanceWei }, input: { simulation, maxGasPriceWei } }:
    SigningRound,
): GasPrice | { readonly type: "none" } & Pick<Refusal, "code" | "detail"> {
  const { dataCostWei } = costs;
  const nowWei = currentPriceWei(costs);
  const moreWei = dataCostWei(simulation.gasUsed) - simulation.dataCostWei;
  const paidWei = maxGasPriceWei && capAfterDataCost(maxGasPriceWei, moreWei, simulation.gasUsed);
  if (paidWei !== undefined && nowWei > paidWei) {
    const besideData = paidWei === maxGasPriceWei ? "" : " beside its data, which costs more than before";
    const detail = `gas costs ${nowWei} wei now, ${paidWei} wei may be paid${besideData}`;
    return { type: "none", code: "too_expensive", detail };
  }
  if (maximumGasPriceWei !== undefined && nowWei > maximumGasPriceWei) {
    const detail = `gas costs ${nowWei} wei now, above maximum_gas_price = ${maximumGasPriceWei} wei`;
    return { type: "none", code: "price_limit", detail };
  }
  const price = [paidWei, maximumGasPriceWei].reduce(
    (offered, capWei) => capWei === undefined ? offered : capPrice(offered, capWei),
    gasPriceFor(costs, gasPriceBufferPercent),
  );
  const neededWei = gas * highestPriceWei(price) + dataCostWei(gas);
  if (balanceWei >= neededWei) return price;
  const missingWei = neededWei - balanceWei;
  const detail =
    `${sender} has ${balanceWei} wei and may need ${neededWei} wei: ${missingWei} wei are missing`;
  return { type: "none", code: "insufficient_funds", detail };
}

function refused(code: RefusalCode, detail: string): SigningResult {
  return { kind: "refused", refusal: { code, detail } };
}
