/**
 * Deliveries of competitors in the node's mempool: ours would be mined after them and revert. Ours are never among
 * them, since a message is signed for only while no transaction of ours with it is pending.
 */
import type { Message } from "../../ismp/message.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { Delivery } from "../port.ts";
import type { EvmContext } from "./evm_context.ts";
import { callResult, type ImaginedCall } from "./queries.ts";
import { RpcBatch } from "./rpc_batch.ts";
import { addReceipts } from "./receipts.ts";
import { refusalOfFault } from "./refusals.ts";

/**
 * Adds a check of the mempool to a batch: whether `call` would still succeed on top of it. The result, available
 * after the batch was sent, is true when a message is already delivered there. A node that does not expose its
 * mempool answers as for the newest block, or with an error: then it is not checked again for a while.
 */
export function addPoolLook(
  context: EvmContext,
  question: RpcBatch,
  work: { readonly delivery: Delivery; readonly call: ImaginedCall },
): () => boolean {
  if (context.isUnsupported("pool")) return () => false;
  const onTop = question.addOptional(callResult(work.call, "pending"));
  return () => {
    const result = onTop();
    if (!(result instanceof RpcFault)) return false;
    if (result.code !== "reverted") context.noteUnsupported("pool");
    // Any other refusal is left to the next simulation, which finds the cause.
    return refusalOfFault(result, work.delivery.steps.length)?.code === "duplicate";
  };
}

/**
 * Indexes of the messages that are delivered in the mempool and worth waiting for. One request. Empty if there are
 * none: the competitor's transaction is mined or dropped by now, or has been pending for too long.
 */
export async function findContested(
  context: EvmContext,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<readonly number[]> {
  const question = new RpcBatch(context.at.pool);
  const receipts = addReceipts(context, question, messages, "pending");
  await question.ask({ signal });
  const found = receipts();
  return messages.flatMap(({ commitment }, index) =>
    found[index] !== undefined && context.mempoolSightings.isWorthWaiting(commitment) ? [index] : []
  );
}
