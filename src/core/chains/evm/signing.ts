/**
 * From an accepted simulation to signed bytes: everything that may have changed is read once more, then signed.
 */
import type { Hex } from "../../protocol/bytes.ts";
import { fromHex, toHash256 } from "../../protocol/bytes.ts";
import { keccak256 } from "../../protocol/hash.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type {
  Delivery,
  Refusal,
  SignedSubmission,
  SigningHints,
  SigningResult,
  Simulation,
} from "../chain.ts";
import { encodeDelivery, messagesOf } from "./calldata.ts";
import type { EvmContext } from "./evm_context.ts";
import { type GasPrice, gasPriceFor, highestPriceWei } from "./gas.ts";
import { balanceOf, blockAt, callResult, gasPrice, nonceOf } from "./queries.ts";
import { faultAt, Question } from "./question.ts";
import { addReceipts } from "./receipts.ts";
import { refusalOfFault } from "./refusals.ts";

/** What the chain said right before signing. */
interface Situation {
  readonly nonce: bigint;
  readonly price: GasPrice;
  readonly height: bigint;
}

/**
 * Reads receipts, handler, nonce, price and balance in one request and signs. Nothing is sent. The same request asks
 * whether somebody else's delivery of one of the messages waits in the node's pool: ours would be mined after it and
 * revert. A node that does not show its pool answers as for the newest block, or with an error that counts for nothing.
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
  const { pool, sender, gasPriceBufferPercent } = context.at;
  const { handler } = await context.hostParams(signal);
  const data = encodeDelivery(work.delivery, context.at.host);
  const { gasLimit } = work.simulation;
  const question = new Question(pool);
  const receipts = addReceipts(context, question, messagesOf(work.delivery));
  const onTopOfPool = question.addTolerant(
    callResult({ from: sender, to: handler, data, gas: gasLimit }, "pending"),
  );
  const params = question.add(context.hostParamsQuery);
  const nonce = question.add(nonceOf(sender));
  const price = question.add(gasPrice);
  const balance = question.add(balanceOf(sender));
  const head = question.add(blockAt("latest"));
  const check = (place: FaultPlace): RpcFault | undefined =>
    head() === undefined ? faultAt("malformed", place, "no newest block") : undefined;
  await question.ask({ signal, check });

  const delivered = receipts();
  if (delivered.some((relayer) => relayer !== undefined)) return { kind: "overtaken", receipts: delivered };
  if (context.noteHostParams(params())) {
    return refused("not_ready", "the host has another handler since the simulation");
  }
  const inPool = onTopOfPool();
  if (inPool instanceof RpcFault) {
    const refusal = refusalOfFault(inPool, work.delivery.steps.length);
    // Anything else is left to the next simulation, which tells which message is at fault.
    if (refusal?.code === "duplicate") return refused("duplicate", "a delivery of it waits in the pool");
  }
  const block = head();
  if (block === undefined) throw new Error("The block was checked");
  const offer = gasPriceFor(
    { gasPriceWei: price(), baseFeeWei: block.baseFeePerGas ?? undefined },
    gasPriceBufferPercent,
  );
  const neededWei = gasLimit * highestPriceWei(offer);
  if (balance() < neededWei) {
    return refused("insufficient_funds", `${sender} has ${balance()} wei and may need ${neededWei} wei`);
  }
  const atLeast = work.hints.nonceAtLeast ?? 0n;
  const situation = {
    nonce: nonce() > atLeast ? nonce() : atLeast,
    price: offer,
    height: block.number,
  };
  const submission = await sign(context, { to: params().handler, data, gasLimit }, situation);
  return { kind: "signed", submission };
}

function refused(code: Refusal["code"], detail: string): SigningResult {
  return { kind: "refused", refusal: { code, detail } };
}

async function sign(
  context: EvmContext,
  call: { readonly to: Hex; readonly data: Hex; readonly gasLimit: bigint },
  situation: Situation,
): Promise<SignedSubmission> {
  const { account, chainId, id, sender } = context.at;
  const { nonce, price, height } = situation;
  const plain = {
    chainId,
    nonce: Number(nonce),
    to: call.to,
    data: call.data,
    gas: call.gasLimit,
    value: 0n,
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
