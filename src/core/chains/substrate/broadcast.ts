/** Submits extrinsics to the transaction pool, and maps its answers to outcomes. */
import { RpcFault } from "../../rpc/fault.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { BroadcastResult, SignedSubmission } from "../port.ts";
import type { SubstrateNode } from "./node.ts";

/**
 * Submits an extrinsic. One round trip. @throws {RpcFault} also `pool_dropped`: the pool is full, or bans these bytes
 * for a while.
 */
export async function broadcast(
  node: SubstrateNode,
  submission: SignedSubmission,
  signal: AbortSignal,
): Promise<BroadcastResult> {
  try {
    await node.client.call(calls.submit(submission.raw), signal);
    return { kind: "sent" };
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault;
    if (fault.code === "already_known" || fault.code === "pool_conflict") return { kind: "alreadyKnown" };
    if (fault.code !== "pool_invalid") throw fault;
    return { kind: "refused", refusal: { code: "unspecified", detail: fault.detail ?? fault.code } };
  }
}
