/** Faults of endpoints: made for a double, and caught from what is tested. */
import { RpcFault, type RpcFaultCode } from "../../src/core/rpc/call.ts";

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
