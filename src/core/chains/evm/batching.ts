/**
 * Checks whether the host's handler supports several steps in one transaction. Handlers of the first generation do
 * not. Source: polytope-labs/hyperbridge: evm/src/core/HandlerV2.sol (supportsInterface); docs/protocol/evm-host.md
 * section 2.
 */
import { encodeFunctionData } from "viem";
import { handlerInterfaceIds, handlerV2Abi } from "../../evm/host_abi.ts";
import type { Address } from "../../evm/address.ts";
import type { Hex } from "../../encoding/bytes.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { EvmContext } from "./evm_context.ts";
import { callResult, type Query } from "./queries.ts";

/** Calldata for checking whether a handler has `batchCall`. */
const data = encodeFunctionData({
  abi: handlerV2Abi,
  functionName: "supportsInterface",
  args: [handlerInterfaceIds.withBatchCall],
});

/** Query of a handler's support; read the answer with {@link isSupported}. */
export function batchCallSupport(handler: Address): Query<Hex> {
  return callResult({ to: handler, data });
}

/** True for a word that is 1; contracts without ERC-165 answer otherwise. */
export function isSupported(result: Hex): boolean {
  return result.length === 66 && BigInt(result) === 1n;
}

/** Records what a handler answered: a revert means no, other faults decide nothing. */
export function noteSupport(context: EvmContext, handler: Address, answer: Hex | RpcFault): void {
  if (!(answer instanceof RpcFault)) context.noteBatchCall(handler, isSupported(answer));
  else if (answer.code === "reverted") context.noteBatchCall(handler, false);
}
