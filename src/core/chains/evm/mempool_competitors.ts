/**
 * Deliveries of competitors in the node's mempool: ours would be mined after them and revert. Ours are never among
 * them, since a message is signed for only while no transaction of ours with it is pending.
 */
import type { Message } from "../../ismp/message.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { Delivery } from "../submission.ts";
import type { EvmContext } from "./evm_context.ts";
import { callResult, type SimulatedCall } from "./queries.ts";
import { RpcBatch } from "./rpc_batch.ts";
import { addReceipts } from "./receipts.ts";
import { faultToRefusal } from "./refusals.ts";

/**
 * Adds a check of the mempool to a batch: whether `call` would still succeed on top of it. The result, available
 * after the batch was sent, is true when a message is already delivered there. A node that does not expose its
 * mempool answers as for the newest block, or with an error: then it is not checked again for a while.
 */
export function addMempoolCheck(
  context: EvmContext,
  batch: RpcBatch,
  work: { readonly delivery: Delivery; readonly call: SimulatedCall },
): () => boolean {
  if (context.isUnsupported("mempool")) return () => false;
  const onTop = batch.addOptional(callResult(work.call, "pending"));
  return () => {
    const result = onTop();
    if (!(result instanceof RpcFault)) return false;
    if (result.code !== "reverted") context.noteUnsupported("mempool");
    // Any other refusal is left to the next simulation, which finds the cause.
    return faultToRefusal(result, work.delivery.steps.length)?.code === "duplicate";
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
  const batch = new RpcBatch(context.at.endpoints);
  const receipts = addReceipts(context, batch, messages, "pending");
  await batch.send({ signal });
  const found = receipts();
  return messages.flatMap(({ commitment }, index) =>
    found[index] !== undefined && context.mempoolSightings.isWorthWaiting(commitment) ? [index] : []
  );
}
