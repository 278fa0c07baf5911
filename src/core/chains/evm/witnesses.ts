/**
 * The same question to several endpoints: what decides about money or the end of a message needs the word of two where
 * there are two.
 */
import { RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";

/** Number of endpoints that must agree, if there are as many. */
const WITNESSES = 2;

/** Timeout of an endpoint that is asked for comparison, ms; a slower one is skipped. */
export const WITNESS_TIMEOUT_MS = 10_000;

/** Answer of one endpoint. */
export interface Witness<T> {
  /** A set of the one endpoint, to ask it again. */
  readonly endpoint: RpcEndpointSet;
  readonly value: T;
}

/**
 * Answers of the first endpoints that give one, in order of preference; fewer than `count`, or none, where others fail.
 * @param ask asks a set of one endpoint; `undefined`, or a fault: it is no witness.
 */
export async function askWitnesses<T>(
  endpoints: readonly RpcEndpointSet[],
  ask: (endpoint: RpcEndpointSet) => Promise<T | undefined>,
  count = WITNESSES,
): Promise<readonly Witness<T>[]> {
  const found: Witness<T>[] = [];
  for (const endpoint of endpoints) {
    if (found.length === count) break;
    try {
      const value = await ask(endpoint);
      if (value !== undefined) found.push({ endpoint, value });
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
    }
  }
  return found;
}
