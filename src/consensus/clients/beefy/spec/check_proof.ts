/**
 * Offline verification of a proof of either kind, as a host's client does it. Rules: polytope-labs/hyperbridge:
 * evm/src/consensus/{EcdsaBeefy,SP1Beefy}.sol.
 */
import type { BeefyClientState } from "../../../../core/evm/beefy_client_state.ts";
import type { RecoverAuthority } from "./authorities.ts";
import { BeefyError } from "../../../../core/beefy/beefy_error.ts";
import { decodeNaiveProof, decodeSp1Proof, proofKind } from "../../../../core/beefy/naive_proof.ts";
import {
  advanceState,
  type BeefyIntermediate,
  readHead,
  signingSet,
  verifyNaiveProof,
} from "./verify_proof.ts";

/** A proof that the client would accept, or one that changes nothing. */
export interface CheckedProof {
  /** `sp1`: the circuit's part was not verified; only the chain can do that. */
  readonly kind: "ecdsa" | "sp1";
  /** Relay chain block. */
  readonly blockNumber: bigint;
  /** True: the client knows this block or a newer one. The proof would be paid for and change nothing. */
  readonly isStale: boolean;
  /** True: the authority sets rotate. */
  readonly rotates: boolean;
  /** State of the client afterwards. */
  readonly state: BeefyClientState;
  /** Heights of parachains that it proves. */
  readonly heights: readonly BeefyIntermediate[];
}

/**
 * Checks a proof against the client's state. May be interrupted between two votes. @param recover finds the signer of
 * a vote @throws {BeefyError} the revert that it would cause
 */
export function* checkProof(
  trusted: BeefyClientState,
  proof: Uint8Array,
  recover?: RecoverAuthority,
): Generator<undefined, CheckedProof, undefined> {
  return proofKind(proof) === "ecdsa" ? yield* checkEcdsa(trusted, proof, recover) : checkSp1(trusted, proof);
}

function* checkEcdsa(
  trusted: BeefyClientState,
  proof: Uint8Array,
  recover: RecoverAuthority | undefined,
): Generator<undefined, CheckedProof, undefined> {
  const decoded = decodeNaiveProof(proof);
  yield;
  const { state, intermediates } = yield* verifyNaiveProof(trusted, decoded, recover);
  const blockNumber = BigInt(decoded.relay.commitment.blockNumber);
  return {
    kind: "ecdsa",
    blockNumber,
    isStale: trusted.latestHeight >= blockNumber,
    rotates: state.current.id !== trusted.current.id,
    state,
    heights: intermediates,
  };
}

function checkSp1(trusted: BeefyClientState, proof: Uint8Array): CheckedProof {
  const { blockNumber, validatorSetId, leaf, heads } = decodeSp1Proof(proof);
  if (trusted.latestHeight >= blockNumber) {
    return { kind: "sp1", blockNumber, isStale: true, rotates: false, state: trusted, heights: [] };
  }
  signingSet(trusted, validatorSetId);
  if (BigInt(leaf.parentNumber) + 1n !== blockNumber) throw new BeefyError("stale_mmr_leaf");
  const state = advanceState(trusted, blockNumber, leaf);
  return {
    kind: "sp1",
    blockNumber,
    isStale: false,
    rotates: state.current.id !== trusted.current.id,
    state,
    heights: heads.map(readHead),
  };
}
