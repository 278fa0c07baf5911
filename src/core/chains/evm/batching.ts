/**
 * Whether the host's handler takes several steps in one transaction. Handlers of the first generation do not.
 * Source: polytope-labs/hyperbridge: evm/src/core/HandlerV2.sol (supportsInterface); docs/protocol/evm-host.md section
 * 2.
 */
import { encodeFunctionData } from "viem";
import { handlerInterfaceIds, handlerV2Abi } from "../../evm/host_abi.ts";
import type { Address } from "../../evm/address.ts";
import type { Hex } from "../../encoding/bytes.ts";
import { RpcFault } from "../../rpc/fault.ts";
import type { Delivery, Refusal } from "../port.ts";
import type { EvmContext } from "./evm_context.ts";
import { callResult, type Query } from "./queries.ts";
import { askOne, RpcBatch } from "./rpc_batch.ts";

/** Calldata that asks a handler whether it has `batchCall`. */
const data = encodeFunctionData({
  abi: handlerV2Abi,
  functionName: "supportsInterface",
  args: [handlerInterfaceIds.withBatchCall],
});

/** Raw answer of a handler; read it with {@link isSupported}. */
export function batchCallSupport(handler: Address): Query<Hex> {
  return callResult({ to: handler, data });
}

/** True for a word that is 1; contracts without ERC-165 answer otherwise. */
export function isSupported(result: Hex): boolean {
  return result.length === 66 && BigInt(result) === 1n;
}

/**
 * Adds what it takes to know whether the handler can carry the delivery; usually nothing. The result is there after
 * the question was asked.
 */
export function addBatchCheck(
  context: EvmContext,
  question: RpcBatch,
  work: { readonly delivery: Delivery; readonly handler: Address },
): () => Refusal | undefined {
  const { delivery, handler } = work;
  if (delivery.steps.length < 2) return () => undefined;
  const known = context.hasBatchCall(handler);
  const asked = known === undefined ? question.addOptional(batchCallSupport(handler)) : undefined;
  return () => {
    if (asked !== undefined) note(context, handler, asked());
    if (context.hasBatchCall(handler) !== false) return undefined;
    // Whoever proves at a height that is known already, step by step, is served: `not_ready` tries again.
    return {
      code: "not_ready",
      detail: `the handler ${handler} has no batchCall: it takes one step at a time`,
    };
  };
}

/** A revert is an answer: no. Other faults decide nothing. */
function note(context: EvmContext, handler: Address, answer: Hex | RpcFault): void {
  if (!(answer instanceof RpcFault)) context.noteBatchCall(handler, isSupported(answer));
  else if (answer.code === "reverted") context.noteBatchCall(handler, false);
}

/** Whether the host's handler has `batchCall`. One request at most, none once it is known. */
export async function fetchHasBatchCall(context: EvmContext, signal: AbortSignal): Promise<boolean> {
  const { handler } = await context.hostParams.read(signal);
  const known = context.hasBatchCall(handler);
  if (known !== undefined) return known;
  try {
    note(context, handler, await askOne(context.at.pool, batchCallSupport(handler), { signal }));
  } catch (fault) {
    if (!(fault instanceof RpcFault) || fault.code !== "reverted") throw fault;
    note(context, handler, fault);
  }
  return context.hasBatchCall(handler) === true;
}
