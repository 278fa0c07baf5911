/**
 * Refusals of the Arbitrum client, one code per rule.
 */
import { RollupUpdateError } from "../../../rollup/spec/rollup_update_error.ts";
import { EvmProofError } from "../../../../core/merkle/evm_proof.ts";

/**
 * Rule that an update breaks. Source: polytope-labs/hyperbridge: modules/ismp/clients/arbitrum/src/{lib,error}.rs,
 * modules/ismp/clients/ismp-arbitrum/src/lib.rs. Codes that end in `_proof` have an `EvmProofError` as cause: the nodes
 * are inconclusive; codes that end in `_missing` mean that the nodes prove an absence. Under a wrong key either may
 * happen.
 */
export type ArbitrumErrorCode =
  /** The consensus proof is not the SCALE form of an update. */
  | "undecodable_update"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** The hub holds no commitment of the L1 at the height of the proofs. */
  | "l1_commitment_missing"
  /** Fishermen blacklisted the claim. */
  | "claim_blacklisted"
  /** The rollup contract is not proved in the L1 state. */
  | "rollup_proof"
  /** The extra data of the block are not the send root of the claim. */
  | "send_root_mismatch"
  /** The block is not the one that the claim is about. */
  | "block_hash_mismatch"
  | "assertion_proof"
  /** The rollup has no such assertion. */
  | "assertion_missing"
  | "parent_proof"
  /** The rollup does not have the assertion that this one follows. */
  | "parent_missing"
  /** The assertion has a sibling: its parent has two children. */
  | "assertion_challenged"
  | "node_proof"
  /** The rollup has no node of this number. */
  | "node_missing"
  /** The node of this number is another claim. */
  | "node_mismatch";

/** An update that the hub would refuse. */
export class ArbitrumError extends RollupUpdateError<ArbitrumErrorCode> {
  override readonly name = "ArbitrumError";

  constructor(code: ArbitrumErrorCode, options?: ErrorOptions) {
    super(`Arbitrum update refused: ${code}`, code, options);
  }
}

/**
 * Runs `read` on a proof. @throws {ArbitrumError} with `code` when the proof is inconclusive.
 */
export function fromArbitrumProof<T>(code: ArbitrumErrorCode, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof EvmProofError) throw new ArbitrumError(code, { cause });
    throw cause;
  }
}
