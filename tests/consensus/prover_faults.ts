import assert from "node:assert/strict";
import { ProverFault } from "../../src/consensus/prover.ts";

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
