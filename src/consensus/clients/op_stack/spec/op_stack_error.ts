/**
 * Refusals of the OP stack client, one code per rule.
 */
import { RollupUpdateError } from "../../../rollup/spec/rollup_update_error.ts";
import { EvmProofError } from "../../../../core/merkle/evm_proof.ts";

/**
 * Rule that an update breaks. Source: polytope-labs/hyperbridge: modules/ismp/clients/optimism/src/{lib,error}.rs,
 * modules/ismp/clients/ismp-optimism/src/lib.rs. Codes that end in `_proof` have an `EvmProofError` as cause: the nodes
 * are inconclusive; codes that end in `_missing` mean that the nodes prove an absence. Under a wrong key either may
 * happen.
 */
export type OpStackErrorCode =
  /** The consensus proof is not the SCALE form of an update. */
  | "undecodable_update"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** The hub holds no commitment of the L1 at the height of the proofs. */
  | "l1_commitment_missing"
  /** Fishermen blacklisted the game. */
  | "game_blacklisted"
  /** The hub has no rules for this type of game. */
  | "unsupported_game_type"
  /** The factory is not proved in the L1 state. */
  | "factory_proof"
  | "game_proof"
  /** The factory has no game with this claim: block, message passer root, type or extra data are another. */
  | "game_missing"
  /** The game has another address, type or time. */
  | "game_mismatch"
  | "implementation_proof"
  | "implementation_missing"
  /** The factory creates games of this type with another contract than the hub expects. */
  | "implementation_mismatch"
  /** The game is not proved in the L1 state. */
  | "proxy_proof"
  | "challenge_proof"
  /** The game lacks even its own claim. */
  | "challenge_missing"
  /** The claim is challenged. */
  | "game_challenged"
  /** The oracle is not proved in the L1 state. */
  | "oracle_proof"
  | "output_proof"
  | "output_missing"
  /** The oracle has another output root at this index. */
  | "output_mismatch"
  | "output_block_proof"
  | "output_block_missing"
  /** The output root is of another time or block number. */
  | "output_block_mismatch";

/** An update that the hub would refuse. */
export class OpStackError extends RollupUpdateError<OpStackErrorCode> {
  override readonly name = "OpStackError";

  constructor(code: OpStackErrorCode, options?: ErrorOptions) {
    super(`OP stack update refused: ${code}`, code, options);
  }
}

/**
 * Runs `read` on a proof. @throws {OpStackError} with `code` when the proof is inconclusive.
 */
export function fromOpStackProof<T>(code: OpStackErrorCode, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof EvmProofError) throw new OpStackError(code, { cause });
    throw cause;
  }
}
