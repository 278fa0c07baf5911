/**
 * Signs a delivery after an accepted simulation: everything that may have changed is read again first.
 */
import { unsignedCall } from "../../evm/fee_oracles.ts";
import type { FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { Delivery, Refusal, SigningHints, SigningResult, Simulation } from "../port.ts";
import { collectMessages, encodeDelivery } from "./calldata.ts";
import { addCosts } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import { capPrice, gasPriceFor, highestPriceWei } from "./gas.ts";
import { addKnownProofs } from "./known_proofs.ts";
import { addMempoolCheck, findContested } from "./mempool_competitors.ts";
import { accountBalance, accountNonce, blockAt } from "./queries.ts";
import { faultAt, RpcBatch } from "./rpc_batch.ts";
import { addReceipts } from "./receipts.ts";
import { signCall } from "./signature.ts";

/**
 * Reads receipts, the host's view of the hub, handler, nonce, price and balance in one request and signs. Nothing is
 * sent. The same request checks whether a competitor's delivery of one of the messages is in the node's mempool; if
 * so, a second one finds out which.
 */
export async function signDelivery(
  context: EvmContext,
  work: {
    readonly delivery: Delivery;
    readonly simulation: Extract<Simulation, { kind: "accepted" }>;
    readonly hints: SigningHints;
  },
  signal: AbortSignal,
): Promise<SigningResult> {
  const { chainId, endpoints, sender, gasPriceBufferPercent } = context.at;
  const { handler } = await context.hostParams.read(signal);
  const data = encodeDelivery(work.delivery, context.at.host);
  const messages = collectMessages(work.delivery);
  const { gasLimit } = work.simulation;
  const batch = new RpcBatch(endpoints);
  const receipts = addReceipts(context, batch, messages);
  const imagined = { from: sender, to: handler, data, gas: gasLimit };
  const known = addKnownProofs(context, batch, work.delivery);
  const isContested = addMempoolCheck(context, batch, { delivery: work.delivery, call: imagined });
  const params = batch.add(context.hostParams.query);
  const nonce = batch.add(accountNonce(sender));
  const costs = addCosts(context, batch, unsignedCall({ chainId, to: handler, data }));
  const balance = batch.add(accountBalance(sender));
  const head = batch.add(blockAt("latest"));
  const check = (place: FaultPlace): RpcFault | undefined =>
    head() === undefined ? faultAt("malformed", place, "no newest block") : undefined;
  await batch.send({ signal, check });

  const delivered = receipts();
  if (delivered.some((relayer) => relayer !== undefined)) return { kind: "overtaken", receipts: delivered };
  const from = known();
  if (from !== undefined) return { kind: "proofs_known", from };
  if (context.hostParams.note(params())) {
    return refused({ code: "not_ready", detail: "the host has another handler since the simulation" });
  }
  if (isContested()) {
    const contested = await findContested(context, messages, signal);
    if (contested.length > 0) {
      return refused({
        code: "duplicate",
        detail: "a delivery of it is pending in the mempool",
        messages: contested,
      });
    }
  }
  const block = head();
  if (block === undefined) throw new Error("The block was checked");
  const { gasPriceWei, dataCostWei } = costs();
  const market = { gasPriceWei, baseFeeWei: block.baseFeePerGas ?? undefined };
  const capWei = work.hints.maxGasPriceWei;
  const nowWei = currentPriceWei(market);
  if (capWei !== undefined && nowWei > capWei) {
    const detail = `gas costs ${nowWei} wei now, its fees pay for ${capWei} wei`;
    return refused({ code: "too_expensive", detail });
  }
  const wanted = gasPriceFor(market, gasPriceBufferPercent);
  const price = capWei === undefined ? wanted : capPrice(wanted, capWei);
  const neededWei = gasLimit * highestPriceWei(price) + dataCostWei(gasLimit);
  if (balance() < neededWei) {
    const missingWei = neededWei - balance();
    const detail =
      `${sender} has ${balance()} wei and may need ${neededWei} wei: ${missingWei} wei are missing`;
    return refused({ code: "insufficient_funds", detail });
  }
  const atLeast = work.hints.nonceAtLeast ?? 0n;
  const situation = { nonce: nonce() > atLeast ? nonce() : atLeast, price, height: block.number };
  const call = { to: params().handler, data, gasLimit, valueWei: 0n };
  return { kind: "signed", submission: await signCall(context, call, situation) };
}

/** Minimum gas price in the next block, as far as the node knows. */
function currentPriceWei(
  { gasPriceWei, baseFeeWei = 0n }: { readonly gasPriceWei: bigint; readonly baseFeeWei: bigint | undefined },
): bigint {
  return gasPriceWei > baseFeeWei ? gasPriceWei : baseFeeWei;
}

function refused(refusal: Refusal): SigningResult {
  return { kind: "refused", refusal };
}
