/**
 * What a look came to where nothing may be offered.
 */
import assert from "node:assert/strict";
import { type ConsensusProver, ProverFault } from "../../../src/consensus/prover.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { never } from "./fixture.ts";

/** `nothing: <reason>`, or code, chain and host of the fault. Fails when something is offered. */
export async function outcomeOf(prover: ConsensusProver): Promise<string> {
  try {
    const finding = await prover.next(never);
    return finding.kind === "nothing"
      ? `nothing: ${finding.reason}`
      : assert.fail(`offered ${finding.summary}`);
  } catch (error) {
    if (error instanceof ProverFault) return `${error.code} ${error.chain} ${error.endpoint}`;
    if (error instanceof RpcFault) {
      const { chain, endpointHost } = error.where;
      const isInvalid = error.code === "malformed" || error.code === "wrong_chain";
      return isInvalid ? `bad_data ${chain} ${endpointHost}` : `${error.code} ${endpointHost}`;
    }
    throw error;
  }
}

/** The host of a node as faults name it. */
export function hostOf(url: string): string {
  return new URL(url).host;
}
