/** What looks of provers came to. */
import assert from "node:assert/strict";
import { ProverFault, type ProverFinding } from "../../src/consensus/prover.ts";
import { RpcFault } from "../../src/core/rpc/call.ts";

/** The updates that were found. Fails when nothing was. */
export function updatesOf(finding: ProverFinding): Extract<ProverFinding, { kind: "updates" }> {
  if (finding.kind === "nothing") assert.fail(finding.reason);
  return finding;
}

/** Why nothing was found. Fails when something was. */
export function reasonOf(finding: ProverFinding): string {
  if (finding.kind === "updates") assert.fail(finding.summary);
  return finding.reason;
}

/** The kind of a finding, or a fault that names the host of the node: its code, and what the prover says of it. */
export async function outcomeOf(look: Promise<ProverFinding>): Promise<string> {
  try {
    return (await look).kind;
  } catch (error) {
    assert.ok(error instanceof ProverFault || error instanceof RpcFault, String(error));
    const host = error instanceof ProverFault ? error.endpoint : error.where.endpointHost;
    assert.match(host ?? "", /127\.0\.0\.1/);
    return error instanceof RpcFault ? error.code : `${error.code}: ${error.detail}`;
  }
}

/** The last bit of a hex string turned. */
export function turned(value: unknown): string {
  assert.ok(typeof value === "string" && value.startsWith("0x"));
  return value.slice(0, -1) + (Number.parseInt(value.slice(-1), 16) ^ 1).toString(16);
}

/** The fault with which a prover's work ends. @throws {Error} when it succeeds, or fails otherwise. */
export async function catchProverFault(work: Promise<unknown>): Promise<ProverFault> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof ProverFault, String(error));
    return error;
  }
  throw new Error("The look succeeded");
}
