/** Faults of endpoints: made for a double, and caught from what is tested. */
import type { BatchConditions, RpcEndpointSet } from "../../src/core/rpc/endpoint_set.ts";
import { type RpcCall, RpcFault, type RpcFaultCode } from "../../src/core/rpc/call.ts";

/** A fault of an endpoint. */
export function faultOf(code: RpcFaultCode, chain = "EVM-1"): RpcFault {
  return new RpcFault(code, { chain, endpointHost: "node.example.org", method: "any" });
}

/** The fault with which work ends. @throws {Error} when it succeeds, or fails otherwise. */
export async function catchFault(work: Promise<unknown>): Promise<RpcFault> {
  try {
    await work;
  } catch (error) {
    if (error instanceof RpcFault) return error;
    throw error;
  }
  throw new Error("No fault");
}

/** Result of one call. @throws {RpcFault} */
export async function request(
  set: RpcEndpointSet,
  call: RpcCall,
  conditions: BatchConditions = { signal: new AbortController().signal },
): Promise<unknown> {
  const [answer] = await set.batch([call], conditions);
  if (answer?.kind === "fault") throw answer.fault;
  return answer?.result;
}

/** True for a fault of this code, as `assert.rejects` asks. */
export function faultWith(code: RpcFaultCode): (error: unknown) => boolean {
  return (error) => error instanceof RpcFault && error.code === code;
}
